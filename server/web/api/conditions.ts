/** The closing conditions of a deal. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import {
  addCondition,
  changeCondition,
  dealCondition,
  dealConditions,
  removeCondition,
} from '../../domain/deals/conditions.ts';
import { day, id, line, optional, pathId, readBody } from './input.ts';
import { notAllowed, withDeal, withRecord } from './visible-record.ts';
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

export function conditionRoutes(services: Services): Hono {
  const app = new Hono();

  app.get('/deals/:id/conditions', async (c) => {
    const dealId = pathId(c);
    const [items] = await withDeal(services, c, dealId, dealConditions(dealId));
    return c.json({ items });
  });

  app.post('/deals/:id/conditions', async (c) => {
    const dealId = pathId(c);
    const [added] = await withDeal(services, c, dealId, addCondition(dealId, await readBody(c, New), originOf(c)));
    return c.json(added, 201);
  });

  app.patch('/conditions/:id', async (c) => {
    const conditionId = pathId(c);
    const change = changeCondition(conditionId, await readBody(c, Change), originOf(c));
    const [changed, now] = await withRecord(
      services,
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
  return app;
}
