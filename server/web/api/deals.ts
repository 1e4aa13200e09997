/** /deals: the list, opening and editing, the page of one deal, its moves and its exclusivity. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import {
  callerRoles,
  closingWarnings,
  editDeal,
  extendExclusivity,
  fullDeal,
  grantExclusivity,
  moveDeal,
  openDeal,
  releaseExclusivity,
} from '../../domain/deals/deals.ts';
import { dealList, dealSorts } from '../../domain/deals/list.ts';
import { asDealPage, dealPage, type DealPage } from '../../domain/deals/page.ts';
import { Refusal } from '../../database/errors.ts';
import { deploymentCursors } from './cursor.ts';
import {
  decimal,
  id,
  instant,
  line,
  optional,
  pageSize,
  pathId,
  readBody,
  readQuery,
  searchWords,
  text,
} from './input.ts';
import { changeDeal, notAllowed, withDeal } from './visible-record.ts';
import { asPerson, originOf, withPerson } from './person.ts';
import { nothingThere, Problem } from './problems.ts';

const states = [
  'draft',
  'listed',
  'under_offer',
  'exclusivity',
  'diligence',
  'closing',
  'closed',
  'withdrawn',
] as const;

/** A query parameter that may repeat. */
const several = <T extends z.ZodType>(one: T) =>
  z.preprocess((value) => (value === undefined || Array.isArray(value) ? value : [value]), z.array(one).optional());

const List = z.object({
  search: z.string().max(200, 'At most 200 characters.').default(''),
  state: several(z.enum(states, `Choose among ${states.join(', ')}.`)),
  role: several(z.enum(callerRoles, `Choose among ${callerRoles.join(', ')}.`)),
  sort: z.enum(dealSorts, `Choose among ${dealSorts.join(', ')}.`).default('-updated_at'),
  cursor: z.string().max(2000).optional(),
  limit: pageSize,
});

const input = {
  title: line(200),
  industry: optional(line(120)),
  location: optional(line(120)),
  summary: optional(text(8000)),
  asking_price: optional(decimal()),
  currency: z.string().regex(/^[A-Z]{3}$/, 'Choose a currency.'),
  needs_nda: z.boolean('Say whether it needs an NDA: true or false.'),
};
const Opening = z.strictObject({ organization_id: id, ...input, needs_nda: input.needs_nda.default(true) });
// Without `optional` around them, absent fields stay absent.
const Edit = z
  .strictObject({
    ...input,
    industry: line(120).nullable(),
    location: line(120).nullable(),
    summary: text(8000).nullable(),
    asking_price: decimal().nullable(),
  })
  .partial();
const Move = z.strictObject({ to: z.enum(states, 'Choose a state.'), confirm: z.boolean().default(false) });
const Grant = z.strictObject({ participant_id: id, expires_at: instant });
const Extension = z.strictObject({ expires_at: instant });

export function dealRoutes(services: Services): Hono {
  const app = new Hono();
  const cursors = deploymentCursors(services);

  app.get('/deals', async (c) => {
    const { search, state, role, sort, cursor, limit } = readQuery(c, List);
    const { seal, unseal } = await cursors();
    const list = `deals ${sort}`;
    const after = cursor === undefined ? null : unseal(cursor);
    const filter = {
      words: searchWords(search),
      states: state ?? null,
      roles: role ?? null,
      after: after?.place ?? null,
      limit,
    };
    const [person, { items, next }] = await withPerson(services, c, dealList(sort, filter));
    after?.check(list, person.user_id);
    return c.json({ items, next_cursor: next && seal(list, person.user_id, next) });
  });

  app.post('/deals', async (c) => {
    const { organization_id, ...said } = await readBody(c, Opening);
    const [opened] = await asPerson(services, c, openDeal(organization_id, said, originOf(c)));
    const [deal] = await asPerson(services, c, fullDeal(opened));
    return c.json(deal, 201);
  });

  app.get('/deals/:id', async (c) => {
    // The guard ends the transaction before the rest is looked up: a hidden deal takes no longer than one that is not there.
    const dealId = pathId(c);
    const page = asDealPage(await withDeal(services, c, dealId, ...dealPage(dealId)));
    if (!page) throw nothingThere();
    return c.json(page);
  });

  app.patch('/deals/:id', async (c) => {
    const dealId = pathId(c);
    const change = editDeal(dealId, await readBody(c, Edit), originOf(c));
    const [changed, deal] = await withDeal(services, c, dealId, change, fullDeal(dealId));
    if (!changed) throw notAllowed();
    return c.json(deal);
  });

  app.post('/deals/:id/moves', async (c) => {
    const dealId = pathId(c);
    const { to, confirm } = await readBody(c, Move);
    try {
      return await changeDeal(services, c, dealId, moveDeal(dealId, to, confirm, originOf(c)));
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== 'closing_unconfirmed') throw error;
      const [warnings] = await withDeal(services, c, dealId, closingWarnings(dealId));
      const details = warnings.map((message) => ({ path: 'confirm', message }));
      throw new Problem(409, error.reason, error.message, details);
    }
  });

  app.get('/deals/:id/closing-warnings', async (c) => {
    const dealId = pathId(c);
    const [items] = await withDeal(services, c, dealId, closingWarnings(dealId));
    return c.json({ items });
  });

  app.post('/deals/:id/exclusivity', async (c) => {
    const dealId = pathId(c);
    const grant = await readBody(c, Grant);
    return changeDeal(services, c, dealId, grantExclusivity(dealId, grant, originOf(c)));
  });

  const noneRuns = ({ capacities }: DealPage): Problem =>
    capacities['can_grant_exclusivity']
      ? new Problem(409, 'no_exclusivity', 'No exclusivity runs on this deal. Reload the page to see where it stands.')
      : notAllowed();

  app.patch('/deals/:id/exclusivity', async (c) => {
    const dealId = pathId(c);
    const { expires_at } = await readBody(c, Extension);
    const change = extendExclusivity(dealId, expires_at, originOf(c));
    return changeDeal(services, c, dealId, change, noneRuns);
  });

  app.delete('/deals/:id/exclusivity', async (c) => {
    const dealId = pathId(c);
    return changeDeal(services, c, dealId, releaseExclusivity(dealId, originOf(c)), noneRuns);
  });
  return app;
}
