/**
 * The API keys that can access a deal, and whether it is open to them: for its brokers, who decide, and the admins of
 * the brokerage.
 */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { admitKeys, keysAdmitted, keysForDeal, type DealKey } from '../../domain/clients/key-admission.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed } from '../../http/problem.ts';
import { body, pathId } from './input.ts';
import { withDeal } from './visible-record.ts';

const Admission = z.strictObject({ admitted: z.boolean() });

/** The key admission routes, below /api/web. */
export function keyAdmissionRoutes(services: Services) {
  const shown = (c: Context, admitted: boolean | null, keys: DealKey[]) => {
    if (admitted === null) throw notAllowed();
    return c.json({ admitted, keys });
  };

  return new Hono()
    .get('/deals/:id/keys', async (c) => {
      const dealId = pathId(c);
      const [admitted, keys] = await withDeal(services, c, dealId, keysAdmitted(dealId), keysForDeal(dealId));
      return shown(c, admitted, keys);
    })

    .put('/deals/:id/keys', body(Admission), async (c) => {
      const dealId = pathId(c);
      const change = admitKeys(dealId, c.req.valid('json').admitted, originOf(c));
      const [done, admitted, keys] = await withDeal(
        services,
        c,
        dealId,
        change,
        keysAdmitted(dealId),
        keysForDeal(dealId),
      );
      return shown(c, done ? admitted : null, keys);
    });
}
