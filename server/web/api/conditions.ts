/** The closing conditions of a deal. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { House } from '../../context.ts';
import {
  addCondition,
  changeCondition,
  dealCondition,
  dealConditions,
  removeCondition,
} from '../../domain/deal-conditions.ts';
import { day, id, line, optional, pathId, readBody } from './input.ts';
import { notAllowed, onDeal, onRecord } from './on-record.ts';
import { originOf } from './person.ts';

const New = z.strictObject({ name: line(200), owner_user_id: optional(id), deadline: optional(day) });
const Change = z
  .strictObject({
    name: line(200),
    owner_user_id: id.nullable(),
    deadline: day.nullable(),
    status: z.enum(['open', 'in_progress', 'satisfied', 'waived'], 'Choose a status.'),
  })
  .partial();

export function conditionRoutes(house: House): Hono {
  const app = new Hono();

  app.get('/deals/:id/conditions', async (c) => {
    const dealId = pathId(c);
    const [items] = await onDeal(house, c, dealId, dealConditions(dealId));
    return c.json({ items });
  });

  app.post('/deals/:id/conditions', async (c) => {
    const dealId = pathId(c);
    const [added] = await onDeal(house, c, dealId, addCondition(dealId, await readBody(c, New), originOf(c)));
    return c.json(added, 201);
  });

  app.patch('/conditions/:id', async (c) => {
    const conditionId = pathId(c);
    const change = changeCondition(conditionId, await readBody(c, Change), originOf(c));
    const [changed, now] = await onRecord(
      house,
      c,
      'closing_conditions',
      conditionId,
      change,
      dealCondition(conditionId),
    );
    if (!changed) throw notAllowed();
    return c.json(now);
  });

  app.delete('/conditions/:id', async (c) => {
    const conditionId = pathId(c);
    const [gone] = await onRecord(
      house,
      c,
      'closing_conditions',
      conditionId,
      removeCondition(conditionId, originOf(c)),
    );
    if (!gone) throw notAllowed();
    return c.body(null, 204);
  });
  return app;
}
