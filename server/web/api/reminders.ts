/** Reminders with which brokers of a deal remind people of their tasks. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { remind, remindable, sentReminders } from '../../domain/notifications/reminders.ts';
import { originOf } from '../../http/origin.ts';
import { body, id, pathId } from './input.ts';
import { orNotFound } from './problems.ts';
import { withDeal } from './visible-record.ts';

const Reminder = z.strictObject({ subject: z.enum(remindable), subject_id: id });

/** The reminder routes, below /api/web. */
export function reminderRoutes(services: Services) {
  return new Hono()
    .get('/deals/:id/reminders', async (c) => {
      const dealId = pathId(c);
      const [items] = await withDeal(services, c, dealId, sentReminders(dealId));
      return c.json({ items });
    })
    .post('/deals/:id/reminders', body(Reminder), async (c) => {
      const { subject, subject_id } = c.req.valid('json');
      const [reminded] = await withDeal(services, c, pathId(c), remind(subject, subject_id, originOf(c)));
      return c.json({ reminded: orNotFound(reminded) }, 201);
    });
}
