/**
 * Quality of earnings: the checklist, the figures and their analysis, normalizations, and the members of the workspace.
 */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import {
  addNormalization,
  adjustmentCategories,
  normalizationOnPage,
  normalizationsOnPage,
  removeNormalization,
} from '../../domain/diligence/normalizations.ts';
import {
  addChecklistRow,
  checklist,
  checklistRow,
  checklistStatuses,
  setChecklistStatus,
} from '../../domain/diligence/checklist.ts';
import { admitToQoe, dismissFromQoe, editsQoe, memberOnPage, membersOnPage } from '../../domain/diligence/workspace.ts';
import { periodsOnPage } from '../../domain/diligence/figures.ts';
import { snapshotsOnPage } from '../../domain/diligence/snapshots.ts';
import { booksOf } from '../../domain/diligence/books.ts';
import { bridgeOf } from '../../domain/diligence/bridge.ts';
import {
  answerContradiction,
  answersInSight,
  answerStatuses,
  closedToAnswers,
  contradictionOf,
  releaseContradiction,
  unanswerContradiction,
  withdrawContradiction,
} from '../../domain/diligence/contradiction-answers.ts';
import { customersOnPage, qoeOverview } from '../../domain/diligence/overview.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed, nothingThere } from '../../http/problem.ts';
import { body, day, exactDecimal, instant, line, optional, pathId, query, text } from './input.ts';
import { withDeal, withRecord } from './visible-record.ts';
import { changedMeanwhile, orNotFound } from './problems.ts';

const Span = z.object({ start_date: optional(day), end_date: optional(day) });
const Dates = Span.refine(({ start_date, end_date }) => (start_date === null) === (end_date === null), {
  path: ['end_date'],
  error: 'Send start_date and end_date, or neither for the latest period.',
});
const Label = z.object({ period_label: optional(line(lengths.pl_periods.period_label)) });

const Row = z.strictObject({
  category: line(lengths.qoe_checklist.category),
  title: line(lengths.qoe_checklist.title),
});
const Status = z.strictObject({
  status: z.enum(checklistStatuses, { error: 'Choose a status.' }),
});
const Adjustment = z.strictObject({
  period_label: line(lengths.normalizations.period_label),
  adjustment_category: z.enum(adjustmentCategories, { error: 'Choose a category.' }),
  adjustment_amount: exactDecimal,
  rationale: optional(text(lengths.normalizations.rationale)),
});
const digest = z.string().regex(/^[0-9a-f]{32}$/, 'Reload the page.');
const Answer = z.strictObject({
  status: z.enum(answerStatuses, { error: 'Choose an answer.' }),
  why: text(lengths.contradiction_answers.why),
  figures: digest,
  /**
   * Time of the answer that the person has read, null when there was none; a different answer is not overwritten. Pages
   * loaded from an earlier release omit it and overwrite any answer.
   */
  answered_at: instant.nullable().optional(),
});
const Release = z.strictObject({ answered_at: instant });
/** Null from pages loaded from an earlier release. */
const Removal = z.strictObject({ answered_at: optional(instant) });
const Place = z.strictObject({ role: z.enum(['reader', 'editor'], { error: 'Choose reader or editor.' }) });

/** The key of a contradiction in the path. Throws 404 when it is malformed. */
function pathKey(c: Context): string {
  const key = c.req.param('key') ?? '';
  if (!digest.safeParse(key).success) throw nothingThere();
  return key;
}

/** Number of snapshots in the overview. */
const recent = 5;

/** The quality-of-earnings routes, below /api/web. */
export function qoeRoutes(services: Services) {
  return new Hono()
    .get('/deals/:id/qoe', async (c) => {
      const id = pathId(c);
      const [progress, snapshots, editor] = await withDeal(
        services,
        c,
        id,
        checklist(id, null),
        snapshotsOnPage(id),
        editsQoe(id),
      );
      return c.json({ progress, recent_accounting_snapshots: snapshots.slice(0, recent), editor });
    })

    .get('/deals/:id/qoe/snapshots', async (c) => {
      const id = pathId(c);
      const [items] = await withDeal(services, c, id, snapshotsOnPage(id));
      return c.json({ items });
    })

    .get('/deals/:id/qoe/periods', query(Span), async (c) => {
      const id = pathId(c);
      const { start_date, end_date } = c.req.valid('query');
      const [items] = await withDeal(services, c, id, periodsOnPage(id, start_date, end_date));
      return c.json({ items });
    })

    .get('/deals/:id/qoe/customers', query(Dates), async (c) => {
      const id = pathId(c);
      const { start_date: first, end_date: last } = c.req.valid('query');
      const [books] = await withDeal(services, c, id, booksOf(id));
      return c.json(customersOnPage(books, first === null || last === null ? null : { first, last }));
    })

    .get('/deals/:id/qoe/bridge', query(Label), async (c) => {
      const id = pathId(c);
      const { period_label } = c.req.valid('query');
      const [books] = await withDeal(services, c, id, booksOf(id));
      return c.json(bridgeOf(books, period_label));
    })

    .get('/deals/:id/qoe/computed', async (c) => {
      const id = pathId(c);
      const [books, sight] = await withDeal(services, c, id, booksOf(id), answersInSight(id));
      return c.json(qoeOverview(books, sight));
    })

    .get('/deals/:id/qoe/normalizations', async (c) => {
      const id = pathId(c);
      const [items] = await withDeal(services, c, id, normalizationsOnPage(id));
      return c.json({ items });
    })

    .get('/deals/:id/qoe/members', async (c) => {
      const id = pathId(c);
      const [items] = await withDeal(services, c, id, membersOnPage(id));
      return c.json({ items });
    })

    .post('/deals/:id/qoe/checklist', body(Row), async (c) => {
      const id = pathId(c);
      const { category, title } = c.req.valid('json');
      const [added] = await withDeal(services, c, id, addChecklistRow(id, category, title, originOf(c)));
      return c.json(orNotFound(added), 201);
    })

    .patch('/qoe/checklist/:id', body(Status), async (c) => {
      const id = pathId(c);
      const { status } = c.req.valid('json');
      const change = setChecklistStatus(id, status, originOf(c));
      const [, changed] = await withRecord(services, c, 'qoe_checklist', id, change, checklistRow(id));
      return c.json(orNotFound(changed));
    })

    .post('/deals/:id/qoe/normalizations', body(Adjustment), async (c) => {
      const dealId = pathId(c);
      const given = c.req.valid('json');
      const [id] = await withDeal(services, c, dealId, addNormalization(dealId, given, originOf(c)));
      const [added] = await withRecord(services, c, 'normalizations', id, normalizationOnPage(id));
      return c.json(orNotFound(added), 201);
    })

    .delete('/qoe/normalizations/:id', async (c) => {
      const id = pathId(c);
      const [removed] = await withRecord(services, c, 'normalizations', id, removeNormalization(id, originOf(c)));
      if (!removed) throw notAllowed();
      return c.body(null, 204);
    })

    .put('/deals/:id/qoe/contradictions/:key/answer', body(Answer), async (c) => {
      const [id, key] = [pathId(c), pathKey(c)];
      const { figures, answered_at, ...answer } = c.req.valid('json');
      const [sight, books] = await withDeal(services, c, id, answersInSight(id), booksOf(id));
      const found = contradictionOf(books, key);
      // On a closed deal the request continues, so that the database rejects it like every other change.
      if (!sight.may_answer && !(await withDeal(services, c, id, closedToAnswers(id)))[0]) throw notAllowed();
      if (sight.may_answer && found?.figures !== figures) throw changedMeanwhile('The figures have changed');
      const given = answerContradiction(id, { key, figures }, answer, answered_at, originOf(c));
      const [answered] = await withDeal(services, c, id, given);
      if (!answered) throw answered_at === undefined ? notAllowed() : changedMeanwhile('The answer was changed');
      return c.body(null, 204);
    })

    .delete('/deals/:id/qoe/contradictions/:key/answer', query(Removal), async (c) => {
      const [id, key] = [pathId(c), pathKey(c)];
      const [sight, takenBack] = await withDeal(
        services,
        c,
        id,
        answersInSight(id),
        unanswerContradiction(id, key, c.req.valid('query').answered_at, originOf(c)),
      );
      if (!sight.may_answer) throw notAllowed();
      if (!takenBack)
        throw sight.answers.some(({ contradiction }) => contradiction === key)
          ? changedMeanwhile('The answer was changed')
          : nothingThere();
      return c.body(null, 204);
    })

    .put('/deals/:id/qoe/contradictions/:key/release', body(Release), async (c) => {
      const [id, key] = [pathId(c), pathKey(c)];
      const [books] = await withDeal(services, c, id, booksOf(id));
      // A contradiction that no longer exists has no figures: no answer matches, so nothing is released.
      const one = { key, figures: contradictionOf(books, key)?.figures ?? '' };
      const release = releaseContradiction(id, one, c.req.valid('json').answered_at, originOf(c));
      const [sight, released] = await withDeal(services, c, id, answersInSight(id), release);
      if (!sight.may_answer) throw notAllowed();
      if (!released) throw changedMeanwhile('The answer or the figures have changed');
      return c.body(null, 204);
    })

    .delete('/deals/:id/qoe/contradictions/:key/release', async (c) => {
      const [id, key] = [pathId(c), pathKey(c)];
      const withdraw = withdrawContradiction(id, key, originOf(c));
      const [sight] = await withDeal(services, c, id, answersInSight(id), withdraw);
      if (!sight.may_answer) throw notAllowed();
      return c.body(null, 204);
    })

    .put('/deals/:id/qoe/members/:participant_id', body(Place), async (c) => {
      const [dealId, id] = [pathId(c), pathId(c, 'participant_id')];
      const { role } = c.req.valid('json');
      const admit = admitToQoe(dealId, id, role, originOf(c));
      const [, , member] = await withDeal(
        services,
        c,
        dealId,
        requireVisible('participants', id),
        admit,
        memberOnPage(id),
      );
      return c.json(orNotFound(member));
    })

    .delete('/deals/:id/qoe/members/:participant_id', async (c) => {
      const [dealId, id] = [pathId(c), pathId(c, 'participant_id')];
      const dismiss = dismissFromQoe(dealId, id, originOf(c));
      const [, dismissed] = await withDeal(services, c, dealId, requireVisible('participants', id), dismiss);
      if (!dismissed) throw notAllowed();
      return c.body(null, 204);
    });
}
