/** Closing conditions of a deal. */

import type { Context } from 'hono';
import { z } from 'zod';
import {
  addConditionResource,
  changeCondition,
  conditionOfDeal,
  conditionsOfDeal,
  conditionStatuses,
} from '../../domain/deals/conditions.ts';
import { lengths } from '../../domain/lengths.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { originOf } from '../../http/origin.ts';
import { resourceOf } from '../../domain/events/resources.ts';
import type { Services } from '../../services.ts';
import { readBody } from '../body.ts';
import type { Callers } from '../caller.ts';
import { date, day, id, idSent, lineUpTo, oneOf, time } from '../fields.ts';
import { replayed, type Operation } from '../operation.ts';
import { oneOfParameter } from '../parameters.ts';
import { idempotencyKey, openWrites } from '../writes.ts';
import { asked, dealInPath, dealResources, idInPath, notFound, withinDealInPath } from './records.ts';
import { refusedOn } from './refusals.ts';

export const condition = z
  .object({
    id,
    dealId: id,
    name: z.string().meta({ examples: ['The lease is assigned'] }),
    status: z.enum(conditionStatuses),
    ownerUserId: id.nullable().meta({ description: 'Its owner; also null for a key without participants:read.' }),
    deadline: date.nullable(),
    overdue: z.boolean().meta({ description: 'Whether its deadline has passed and it is still not met.' }),
    completedAt: time.nullable(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'ClosingCondition', description: 'What must be done before the deal closes.' });

const said = {
  name: lineUpTo(lengths.closing_conditions.name).meta({ examples: ['The lease is assigned'] }),
  ownerUserId: idSent.nullable(),
  deadline: day.nullable(),
};

const conditionCreate = z
  .strictObject(said)
  .partial({ ownerUserId: true, deadline: true })
  .meta({ id: 'ClosingConditionCreate' });

const conditionChange = z
  .strictObject({ ...said, status: oneOf(conditionStatuses) })
  .partial()
  .meta({
    id: 'ClosingConditionChange',
    description: 'Properties left out stay as they are; null clears a value.',
  });

const status = oneOfParameter('status', conditionStatuses, 'Only conditions with this status.');

/** The operations on closing conditions; `callers` authenticates API keys. */
export function conditionOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list } = dealResources(services, callers);
  const writes = openWrites(services, callers);
  const scopes = ['conditions:write', 'conditions:read'] as const;
  const needs = 'Needs the scopes conditions:write and conditions:read, and participants:read to name its owner.';

  const add = (c: Context) =>
    writes.run(
      c,
      { scopes, action: 'condition.add', meaning: refusedOn('deal_not_found'), within: withinDealInPath(c) },
      async () => {
        const dealId = dealInPath(c);
        const { name, ownerUserId = null, deadline = null } = await readBody(c, conditionCreate);
        const given = { name, owner_user_id: ownerUserId, deadline };
        return {
          statements: [requireVisible('deals', dealId), addConditionResource(dealId, given, originOf(c))],
          said: given,
          answer: ([, added]) => {
            if (added === null) throw notFound('deal_not_found');
            return { status: 201, body: resourceOf(added) };
          },
        };
      },
    );

  const change = (c: Context) =>
    writes.run(
      c,
      { scopes, action: 'condition.change', meaning: refusedOn('condition_not_found'), within: withinDealInPath(c) },
      async () => {
        const dealId = idInPath(c, 'dealId', 'condition_not_found');
        const conditionId = idInPath(c, 'conditionId', 'condition_not_found');
        const given = await readBody(c, conditionChange);
        return {
          // The transaction can only reach the conditions of this deal.
          statements: [
            requireVisible('closing_conditions', conditionId),
            changeCondition(conditionId, asked(given), originOf(c)),
            conditionOfDeal(dealId, conditionId),
          ],
          said: given,
          answer: ([, changed, now]) => {
            if (!changed || now === null) throw notFound('condition_not_found');
            return { status: 200, body: resourceOf(now) };
          },
        };
      },
    );

  return [
    list({
      path: '/deals/{dealId}/conditions',
      id: 'listConditions',
      tag: 'Closing',
      summary: 'List the closing conditions of a deal',
      description: 'Newest first.',
      scope: 'conditions:read',
      things: 'conditions',
      item: condition,
      page: 'ClosingConditionList',
      filters: [status],
      rows: (c, dealId, after, limit) => conditionsOfDeal(dealId, after, limit, status.read(c)),
    }),
    {
      method: 'post',
      path: '/deals/{dealId}/conditions',
      id: 'createCondition',
      tag: 'Closing',
      summary: 'Add a closing condition',
      description: needs,
      scope: 'conditions:write',
      parameters: [idempotencyKey],
      body: conditionCreate,
      answers: { 201: { description: 'The condition.', schema: condition, headers: replayed } },
      errors: ['deal_not_found', 'conflict'],
      handle: add,
    },
    {
      method: 'patch',
      path: '/deals/{dealId}/conditions/{conditionId}',
      id: 'updateCondition',
      tag: 'Closing',
      summary: 'Change a closing condition',
      description: `Properties left out stay as they are; null clears a value. ${needs}`,
      scope: 'conditions:write',
      parameters: [idempotencyKey],
      body: conditionChange,
      answers: { 200: { description: 'The condition as it is now.', schema: condition, headers: replayed } },
      errors: ['condition_not_found', 'conflict'],
      handle: change,
    },
  ];
}
