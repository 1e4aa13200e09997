/** /deals: listing, opening and editing deals, the page of one deal, its moves and its exclusivity. */

import { Hono } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import { searchWords } from '../../database/paging.ts';
import {
  callerRoles,
  closingWarnings,
  dealStates,
  editDeal,
  fullDeal,
  moveDeal,
  openDeal,
} from '../../domain/deals/deals.ts';
import { extendExclusivity, grantExclusivity, releaseExclusivity } from '../../domain/deals/exclusivity.ts';
import { dealList, dealSorts } from '../../domain/deals/list.ts';
import { asDealPage, dealPage, type DealPage } from '../../domain/deals/page.ts';
import { Refusal } from '../../database/errors.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson, withPerson } from '../../http/person.ts';
import { notAllowed, Problem } from '../../http/problem.ts';
import { listPages } from './list-pages.ts';
import {
  body,
  currency,
  decimal,
  id,
  instant,
  line,
  optional,
  pageCursor,
  pageSize,
  pathId,
  query,
  searchText,
  several,
  text,
} from './input.ts';
import { changeDeal, withDeal } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const List = z.object({
  search: searchText,
  state: several(z.enum(dealStates, `Choose among ${dealStates.join(', ')}.`)),
  role: several(z.enum(callerRoles, `Choose among ${callerRoles.join(', ')}.`)),
  /** Of the deals that the caller runs, or whose brokerage they administer: who runs them, or nobody. */
  broker: z.union([id, z.literal('none')]).optional(),
  sort: z.enum(dealSorts, `Choose among ${dealSorts.join(', ')}.`).default('-updated_at'),
  cursor: pageCursor,
  limit: pageSize,
});

const input = {
  title: line(lengths.deals.title),
  industry: optional(line(lengths.deals.industry)),
  location: optional(line(lengths.deals.location)),
  summary: optional(text(lengths.deals.summary)),
  asking_price: optional(decimal()),
  currency,
  needs_nda: z.boolean('Say whether it needs an NDA: true or false.'),
};
const Opening = z.strictObject({
  organization_id: id,
  ...input,
  needs_nda: input.needs_nda.default(true),
  /** Null for the person who opens it. */
  broker_id: optional(id),
});
// Not wrapped in `optional`, so that missing fields stay missing.
const Edit = z
  .strictObject({
    ...input,
    industry: line(lengths.deals.industry).nullable(),
    location: line(lengths.deals.location).nullable(),
    summary: text(lengths.deals.summary).nullable(),
    asking_price: decimal().nullable(),
  })
  .partial();
const Move = z.strictObject({ to: z.enum(dealStates, 'Choose a state.'), confirm: z.boolean().default(false) });
const Grant = z.strictObject({ participant_id: id, expires_at: instant });
const Extension = z.strictObject({ expires_at: instant });

/** The deal routes, below /api/web. */
export function dealRoutes(services: Services) {
  const pages = listPages(services);

  const noneRuns = ({ capacities }: DealPage): Problem =>
    capacities.can_grant_exclusivity
      ? new Problem(
          409,
          'no_exclusivity',
          'There is no exclusivity on this deal. Reload the page to see where it stands.',
        )
      : notAllowed();

  return new Hono()
    .get('/deals', query(List), async (c) => {
      const { search, state, role, broker, sort, cursor, limit } = c.req.valid('query');
      const page = await pages(`deals ${sort}`, cursor);
      const filter = {
        words: searchWords(search),
        states: state ?? null,
        roles: role ?? null,
        broker: broker ?? null,
        after: page.after,
        limit,
      };
      const [person, found] = await withPerson(services, c, dealList(sort, filter));
      return c.json(page.answer(person, found));
    })

    .post('/deals', body(Opening), async (c) => {
      const { organization_id, broker_id, ...said } = c.req.valid('json');
      const [opened] = await asPerson(services, c, openDeal(organization_id, said, originOf(c), broker_id));
      const [deal] = await withDeal(services, c, opened, fullDeal(opened));
      return c.json(orNotFound(deal), 201);
    })

    .get('/deals/:id', async (c) => {
      // The visibility check ends the transaction before the other queries run, so that a hidden deal takes no longer
      // than a nonexistent one.
      const dealId = pathId(c);
      const page = asDealPage(await withDeal(services, c, dealId, ...dealPage(dealId)));
      return c.json(orNotFound(page));
    })

    .patch('/deals/:id', body(Edit), async (c) => {
      const dealId = pathId(c);
      const change = editDeal(dealId, c.req.valid('json'), originOf(c));
      const [changed, deal] = await withDeal(services, c, dealId, change, fullDeal(dealId));
      if (!changed) throw notAllowed();
      return c.json(orNotFound(deal));
    })

    .post('/deals/:id/moves', body(Move), async (c) => {
      const dealId = pathId(c);
      const { to, confirm } = c.req.valid('json');
      try {
        return await changeDeal(services, c, dealId, moveDeal(dealId, to, confirm, originOf(c)));
      } catch (error) {
        if (!(error instanceof Refusal) || error.reason !== 'closing_unconfirmed') throw error;
        const [warnings] = await withDeal(services, c, dealId, closingWarnings(dealId));
        const details = warnings.map((message) => ({ path: 'confirm', message }));
        throw new Problem(409, error.reason, error.message, { details });
      }
    })

    .get('/deals/:id/closing-warnings', async (c) => {
      const dealId = pathId(c);
      const [items] = await withDeal(services, c, dealId, closingWarnings(dealId));
      return c.json({ items });
    })

    .post('/deals/:id/exclusivity', body(Grant), async (c) => {
      const dealId = pathId(c);
      const grant = c.req.valid('json');
      return changeDeal(services, c, dealId, grantExclusivity(dealId, grant, originOf(c)));
    })

    .patch('/deals/:id/exclusivity', body(Extension), async (c) => {
      const dealId = pathId(c);
      const { expires_at } = c.req.valid('json');
      const change = extendExclusivity(dealId, expires_at, originOf(c));
      return changeDeal(services, c, dealId, change, noneRuns);
    })

    .delete('/deals/:id/exclusivity', async (c) => {
      const dealId = pathId(c);
      return changeDeal(services, c, dealId, releaseExclusivity(dealId, originOf(c)), noneRuns);
    });
}
