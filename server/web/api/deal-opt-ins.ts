/** Assistants on a deal: the person's own opt-in, and the switch with which a broker turns writing off for everyone. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import { dealTools, optInDeal, optOutDeal, stopDealTools } from '../../domain/clients/deal-opt-ins.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed } from '../../http/problem.ts';
import { body, instant, optional, pathId } from './input.ts';
import { withDeal } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const OptIn = z.strictObject({ expires_at: optional(instant) });

/** The opt-in routes, below /api/web. */
export function dealOptInRoutes(services: Services) {
  const switched = async (c: Context, dealId: string, change: Statement<boolean>, otherwise?: 'denied') => {
    const [done, tools] = await withDeal(services, c, dealId, change, dealTools(dealId));
    if (!done && otherwise === 'denied') throw notAllowed();
    return c.json(orNotFound(tools));
  };

  const shutOff = (stopped: boolean) => (c: Context) =>
    switched(c, pathId(c), stopDealTools(pathId(c), stopped, originOf(c)), 'denied');

  return new Hono()
    .get('/deals/:id/tools', async (c) => {
      const dealId = pathId(c);
      const [tools] = await withDeal(services, c, dealId, dealTools(dealId));
      return c.json(orNotFound(tools));
    })

    .put('/deals/:id/tools/opt-in', body(OptIn), async (c) => {
      const dealId = pathId(c);
      const { expires_at } = c.req.valid('json');
      return switched(c, dealId, optInDeal(dealId, expires_at, originOf(c)), 'denied');
    })

    .delete('/deals/:id/tools/opt-in', async (c) => {
      const dealId = pathId(c);
      // Turning it off again is not an error.
      return switched(c, dealId, optOutDeal(dealId, originOf(c)));
    })

    .put('/deals/:id/tools/shut-off', shutOff(true))

    .delete('/deals/:id/tools/shut-off', shutOff(false));
}
