/** The deals that a member runs, and handing them over to another broker. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { dealsRunBy, handOverDeals, mostDealsChosen } from '../../domain/people/handovers.ts';
import { memberOf } from '../../domain/people/members.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere } from '../../http/problem.ts';
import { body, id, optional, pathId } from './input.ts';
import { orNotFound } from './problems.ts';

const HandOver = z.strictObject({
  successor_id: id,
  /** Null for all that the member runs. */
  deal_ids: optional(
    z.array(id).min(1, 'Choose at least one deal.').max(mostDealsChosen, `Choose ${mostDealsChosen} at most, or all.`),
  ),
  /** Whether the member leaves these deals. */
  leaves: z.boolean(),
});

/** The routes for handing deals over, below /api/web. */
export function handoverRoutes(services: Services) {
  return new Hono()
    .get('/brokerages/:id/members/:user_id/run-deals', async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      const [member, deals] = await asPerson(
        services,
        c,
        memberOf(brokerageId, userId),
        dealsRunBy(brokerageId, userId),
      );
      orNotFound(member);
      return c.json(deals);
    })

    .post('/brokerages/:id/members/:user_id/hand-over', body(HandOver), async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      const { successor_id, deal_ids, leaves } = c.req.valid('json');
      const [member, count] = await asPerson(
        services,
        c,
        memberOf(brokerageId, userId),
        handOverDeals(brokerageId, userId, successor_id, deal_ids ?? 'all', leaves, originOf(c)),
      );
      if (count === null) throw member ? notAllowed() : nothingThere();
      return c.json({ count });
    });
}
