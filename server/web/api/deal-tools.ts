/** Assistants on a deal: the person's own opt-in, and the switch by which a broker shuts writing off for everybody. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import { dealTools, optInDeal, optOutDeal, stopDealTools } from '../../domain/clients/deal-opt-ins.ts';
import { instant, optional, pathId, readBody } from './input.ts';
import { notAllowed, withDeal } from './visible-record.ts';
import { originOf } from './person.ts';

const OptIn = z.strictObject({ expires_at: optional(instant) });

export function dealToolRoutes(services: Services): Hono {
  const app = new Hono();

  const switched = async (c: Context, dealId: string, change: Statement<boolean>, otherwise?: 'denied') => {
    const [done, tools] = await withDeal(services, c, dealId, change, dealTools(dealId));
    if (!done && otherwise === 'denied') throw notAllowed();
    return c.json(tools);
  };

  app.get('/deals/:id/tools', async (c) => {
    const dealId = pathId(c);
    const [tools] = await withDeal(services, c, dealId, dealTools(dealId));
    return c.json(tools);
  });

  app.put('/deals/:id/tools/opt-in', async (c) => {
    const dealId = pathId(c);
    const { expires_at } = await readBody(c, OptIn);
    return switched(c, dealId, optInDeal(dealId, expires_at, originOf(c)), 'denied');
  });

  // What is off already stays off.
  app.delete('/deals/:id/tools/opt-in', (c) => switched(c, pathId(c), optOutDeal(pathId(c), originOf(c))));

  const shutOff = (stopped: boolean) => (c: Context) =>
    switched(c, pathId(c), stopDealTools(pathId(c), stopped, originOf(c)), 'denied');
  app.put('/deals/:id/tools/shut-off', shutOff(true));
  app.delete('/deals/:id/tools/shut-off', shutOff(false));
  return app;
}
