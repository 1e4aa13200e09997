/** GET /deals/:id/activity: the activity on a deal as far as the person may see it, in pages. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { activityOfDeal } from '../../domain/audit/activity.ts';
import { listPages } from './list-pages.ts';
import { pageCursor, pathId, query } from './input.ts';
import { withPersonAndDeal } from './visible-record.ts';

const pageSize = 50;
const Page = z.object({ cursor: pageCursor });

/** The activity routes, below /api/web. */
export function activityRoutes(services: Services) {
  const pages = listPages(services, { encrypted: true });
  return new Hono().get('/deals/:id/activity', query(Page), async (c) => {
    const dealId = pathId(c);
    const { cursor } = c.req.valid('query');
    const page = await pages(`activity ${dealId}`, cursor);
    const activity = activityOfDeal(dealId, page.after, pageSize);
    const [person, found] = await withPersonAndDeal(services, c, dealId, activity);
    return c.json(page.answer(person, found));
  });
}
