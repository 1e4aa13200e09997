/** The deals that the brokerage's API keys can reach. */

import type { Context } from 'hono';
import { z } from 'zod';
import type { Placed } from '../../database/paging.ts';
import { Refusal } from '../../database/errors.ts';
import type { Statement } from '../../database/statement.ts';
import {
  dealsForKey,
  dealStates,
  editDeal,
  moveDeal,
  openDealWithKey,
  dealResource,
  requireDealTag,
  type DealResource,
  type TaggedDeal,
} from '../../domain/deals/deals.ts';
import { lengths } from '../../domain/lengths.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { originOf } from '../../http/origin.ts';
import { Problem } from '../../http/problem.ts';
import { restPath } from '../../http/rest-path.ts';
import type { Services } from '../../services.ts';
import { answerJson, type Answered } from '../answer.ts';
import { readBody } from '../body.ts';
import { digestOfKey, type Callers } from '../caller.ts';
import { absent, amount, currency, decimal, emailSent, id, lineUpTo, oneOf, textUpTo, time } from '../fields.ts';
import { location, replayed, type Operation } from '../operation.ts';
import { byKey, cursor, limitOf, openPages } from '../pages.ts';
import { oneOfParameter, searchParameter, timeParameter } from '../parameters.ts';
import { idempotencyKey, ifMatchOf, openWrites } from '../writes.ts';
import { asked, dealInPath, listOf, notFound, withinDealInPath } from './records.ts';
import { refusedOn } from './refusals.ts';

export const deal = z
  .object({
    id,
    title: z.string().meta({ examples: ['Kestrel Creek Bakery'] }),
    state: z
      .enum(dealStates)
      .meta({ description: 'Its current state: a deal whose exclusivity has lapsed is listed again.' }),
    organizationId: id.meta({ description: 'The brokerage.' }),
    industry: z
      .string()
      .nullable()
      .meta({ examples: ['Food production'] }),
    location: z
      .string()
      .nullable()
      .meta({ examples: ['Asheville, NC'] }),
    summary: z
      .string()
      .nullable()
      .meta({ examples: ['A wholesale bakery with forty regular customers.'] }),
    askingPrice: decimal.nullable(),
    currency,
    needsNda: z.boolean().meta({ description: 'Whether a buyer needs an active NDA to learn who is selling.' }),
    exclusiveBuyerUserId: id.nullable(),
    exclusivityGrantedAt: time.nullable(),
    exclusivityExpiresAt: time.nullable(),
    closedAt: time.nullable(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Deal', description: 'The sale of a business.' });

const said = {
  title: lineUpTo(lengths.deals.title).meta({ examples: ['Kestrel Creek Bakery'] }),
  industry: lineUpTo(lengths.deals.industry)
    .nullable()
    .meta({ examples: ['Food production'] }),
  location: lineUpTo(lengths.deals.location)
    .nullable()
    .meta({ examples: ['Asheville, NC'] }),
  summary: textUpTo(lengths.deals.summary)
    .nullable()
    .meta({ examples: ['A wholesale bakery with forty regular customers.'] }),
  askingPrice: amount().nullable(),
  currency,
  needsNda: z.boolean({ error: absent('Send true or false.') }),
};

const dealCreate = z
  .strictObject({
    ...said,
    currency: currency.default('USD'),
    needsNda: said.needsNda.default(true),
    brokerEmail: emailSent.meta({
      description:
        'Address of the active admin or broker of the brokerage who becomes its broker; 409 `conflict` with the `reason` `not_a_broker` for anybody else. Left out: the person who issued the key.',
    }),
  })
  .partial({ industry: true, location: true, summary: true, askingPrice: true, brokerEmail: true })
  .meta({ id: 'DealCreate' });

export const dealChange = z
  .strictObject(said)
  .partial()
  .meta({ id: 'DealChange', description: 'Properties left out stay as they are; null clears a value.' });

const dealMove = z
  .strictObject({
    to: oneOf(dealStates),
    confirm: z
      .boolean({ error: 'Send true or false.' })
      .default(false)
      .meta({ description: 'Closes the deal even if something required for closing is missing.' }),
  })
  .meta({ id: 'DealMove' });

const limit = limitOf('deals');
const state = oneOfParameter('state', dealStates, 'Only deals in this state.');
const updatedSince = timeParameter(
  'updatedSince',
  'Only deals changed at or after this time. Opening a deal to keys does not change its `updatedAt`: to find older deals that are opened, follow the event `deal.admitted`, or list without this parameter.',
);
const search = searchParameter('Words that must all occur in title, industry or location.');

/**
 * The deal without its position in the list: JSON leaves out undefined values, and copying every deal of a page would
 * cost more.
 */
const withoutPlace = (listed: Partial<Placed<DealResource>>): Partial<DealResource> => {
  listed.place = undefined;
  return listed;
};

const ifMatch = ifMatchOf('deal');
const entityTag = { ETag: { description: 'The entity tag of the deal.', schema: { type: 'string' } } };

/** The response with a deal. */
const tagged = ({ deal: shown, tag }: TaggedDeal): Answered => ({
  status: 200,
  body: shown,
  headers: { ETag: `"${tag}"` },
});

/** The operations on deals; `callers` authenticates API keys. */
export function dealOperations(services: Services, callers: Callers): readonly Operation[] {
  const pages = openPages(services, callers);
  const writes = openWrites(services, callers);
  const scopes = ['deals:write', 'deals:read'] as const;
  const refused = refusedOn('deal_not_found');
  const meaning = (fault: unknown): unknown =>
    fault instanceof Refusal && fault.reason === 'stale'
      ? new Problem(412, 'precondition_failed', fault.message, { cause: fault })
      : refused(fault);
  const needs = 'Needs the scopes deals:write and deals:read.';

  const create = (c: Context) =>
    writes.run(c, { scopes, action: 'deal.open', meaning }, async () => {
      const given = await readBody(c, dealCreate);
      return {
        statements: [openDealWithKey(digestOfKey(c), asked(given), originOf(c))],
        said: given,
        answer: ([opened]) => {
          if (opened === null) throw notFound('deal_not_found');
          return { status: 201, body: opened, headers: { Location: `${restPath}/deals/${opened.id}` } };
        },
        requiredToRepeat: ({ body }) => requireVisible('deals', (body as { readonly id: string }).id),
      };
    });

  /** Changes the deal in the path, and responds with it. */
  const change = <T>(
    c: Context,
    action: 'deal.edit' | 'deal.move',
    schema: z.ZodType<T>,
    changing: (dealId: string, given: T) => Statement<boolean>,
  ) =>
    writes.run(c, { scopes, action, meaning, within: withinDealInPath(c), isConditional: true }, async () => {
      const dealId = dealInPath(c);
      const [held, isAsRead] = requireDealTag(dealId, ifMatch.read(c) ?? ['*']);
      const given = await readBody(c, schema);
      return {
        statements: [requireVisible('deals', dealId), held, isAsRead, changing(dealId, given), dealResource(dealId)],
        said: given,
        answer: ([, , , changed, now]) => {
          if (!changed || now === null) throw notFound('deal_not_found');
          return tagged(now);
        },
      };
    });

  const get = async (c: Context): Promise<Response> => {
    const { answer } = await callers.ask(c, 'deals:read', () => dealResource(dealInPath(c)), {
      within: withinDealInPath(c),
    });
    if (answer === null) throw notFound('deal_not_found');
    return answerJson(c, tagged(answer));
  };

  return [
    {
      method: 'get',
      path: '/deals',
      id: 'listDeals',
      tag: 'Deals',
      summary: 'List deals',
      description: "The deals that are open to the brokerage's keys, newest first. Needs the scope deals:read.",
      scope: 'deals:read',
      parameters: [state, updatedSince, search, cursor, limit],
      answers: { 200: { description: 'A page of deals.', schema: listOf(deal, 'DealList') } },
      handle: (c) =>
        pages.answer(
          c,
          'deals:read',
          limit,
          () => {
            const filter = { words: search.read(c), state: state.read(c), updatedSince: updatedSince.read(c) };
            return {
              name: JSON.stringify(['listDeals', filter]),
              rows: (count, after) => dealsForKey(filter, after && { key: after.place, id: after.id }, count),
              place: byKey,
            };
          },
          withoutPlace,
        ),
    },
    {
      method: 'get',
      path: '/deals/{dealId}',
      id: 'getDeal',
      tag: 'Deals',
      summary: 'Get a deal',
      description: 'Needs the scope deals:read.',
      scope: 'deals:read',
      answers: { 200: { description: 'The deal.', schema: deal } },
      errors: ['deal_not_found'],
      handle: get,
    },
    {
      method: 'post',
      path: '/deals',
      id: 'createDeal',
      tag: 'Deals',
      summary: 'Open a deal',
      description: `The deal starts in draft, open to the brokerage's keys, with the person who issued the key as its broker, or the member named in brokerEmail. ${needs}`,
      scope: 'deals:write',
      parameters: [idempotencyKey],
      body: dealCreate,
      errors: ['conflict'],
      answers: { 201: { description: 'The deal.', schema: deal, headers: { ...location('deal'), ...replayed } } },
      handle: create,
    },
    {
      method: 'patch',
      path: '/deals/{dealId}',
      id: 'updateDeal',
      tag: 'Deals',
      summary: 'Edit a deal',
      description: `Properties left out stay as they are; null clears a value. ${needs}`,
      scope: 'deals:write',
      parameters: [idempotencyKey, ifMatch],
      body: dealChange,
      answers: {
        200: { description: 'The deal as it is now.', schema: deal, headers: { ...entityTag, ...replayed } },
      },
      errors: ['deal_not_found', 'conflict', 'precondition_failed'],
      handle: (c) => change(c, 'deal.edit', dealChange, (dealId, given) => editDeal(dealId, asked(given), originOf(c))),
    },
    {
      method: 'post',
      path: '/deals/{dealId}/state',
      id: 'moveDeal',
      tag: 'Deals',
      summary: 'Move a deal to another state',
      description: `One state at a time, as the sale allows. Only a person can move a deal into exclusivity, by granting it. ${needs}`,
      scope: 'deals:write',
      parameters: [idempotencyKey, ifMatch],
      body: dealMove,
      answers: {
        200: { description: 'The deal as it is now.', schema: deal, headers: { ...entityTag, ...replayed } },
      },
      errors: ['deal_not_found', 'conflict', 'precondition_failed'],
      handle: (c) =>
        change(c, 'deal.move', dealMove, (dealId, { to, confirm }) => moveDeal(dealId, to, confirm, originOf(c))),
    },
  ];
}
