/** The closing conditions of a deal. */

import { Hono } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import {
  addCondition,
  changeCondition,
  conditionStatuses,
  dealCondition,
  dealConditions,
  removeCondition,
} from '../../domain/deals/conditions.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed } from '../../http/problem.ts';
import { body, day, id, line, optional, pathId } from './input.ts';
import { withDeal, withRecord } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const New = z.strictObject({
  name: line(lengths.closing_conditions.name),
  owner_user_id: optional(id),
  deadline: optional(day),
});
const Change = z
  .strictObject({
    name: line(lengths.closing_conditions.name),
    owner_user_id: id.nullable(),
    deadline: day.nullable(),
    status: z.enum(conditionStatuses, 'Choose a status.'),
  })
  .partial();

/** The closing condition routes, below /api/web. */
export function conditionRoutes(services: Services) {
  return new Hono()
    .get('/deals/:id/conditions', async (c) => {
      const dealId = pathId(c);
      const [items] = await withDeal(services, c, dealId, dealConditions(dealId));
      return c.json({ items });
    })

    .post('/deals/:id/conditions', body(New), async (c) => {
      const dealId = pathId(c);
      const [added] = await withDeal(services, c, dealId, addCondition(dealId, c.req.valid('json'), originOf(c)));
      return c.json(orNotFound(added), 201);
    })

    .patch('/conditions/:id', body(Change), async (c) => {
      const conditionId = pathId(c);
      const change = changeCondition(conditionId, c.req.valid('json'), originOf(c));
      const [changed, now] = await withRecord(
        services,
        c,
        'closing_conditions',
        conditionId,
        change,
        dealCondition(conditionId),
      );
      if (!changed) throw notAllowed();
      return c.json(orNotFound(now));
    })

    .delete('/conditions/:id', async (c) => {
      const conditionId = pathId(c);
      const [gone] = await withRecord(
        services,
        c,
        'closing_conditions',
        conditionId,
        removeCondition(conditionId, originOf(c)),
      );
      if (!gone) throw notAllowed();
      return c.body(null, 204);
    });
}
