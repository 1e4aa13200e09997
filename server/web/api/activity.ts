/** GET /deals/:id/activity: what was done on a deal, as each may see it, in pages. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { activityOfDeal } from '../../domain/audit/activity.ts';
import { deploymentCursors } from './cursor.ts';
import { pageCursor, pathId, query } from './input.ts';
import { withPersonAndDeal } from './visible-record.ts';

const pageSize = 50;
const Page = z.object({ cursor: pageCursor });

/** Its routes, below /api/web. */
export function activityRoutes(services: Services) {
  const cursors = deploymentCursors(services, { encrypted: true });
  return new Hono().get('/deals/:id/activity', query(Page), async (c) => {
    const dealId = pathId(c);
    const { cursor } = c.req.valid('query');
    const { seal, unseal } = await cursors();
    const list = `activity ${dealId}`;
    const after = cursor === undefined ? null : unseal(cursor);
    const statement = activityOfDeal(dealId, after?.place ?? null, pageSize);
    const [person, { items, next }] = await withPersonAndDeal(services, c, dealId, statement);
    after?.check(list, person.user_id);
    return c.json({ items, next_cursor: next && seal(list, person.user_id, next) });
  });
}
