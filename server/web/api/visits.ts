/**
 * POST /deals/:id/visits: records that a person views a tab of a deal, and responds with the time since when records
 * are new to them.
 */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { visit, visitedTabs } from '../../domain/deals/visits.ts';
import { body, pathId } from './input.ts';
import { withDeal } from './visible-record.ts';

const Visit = z.strictObject({ tab: z.enum(visitedTabs) });

/** The visit routes, below /api/web. */
export function visitRoutes(services: Services) {
  return new Hono().post('/deals/:id/visits', body(Visit), async (c) => {
    const dealId = pathId(c);
    const [since] = await withDeal(services, c, dealId, visit(dealId, c.req.valid('json').tab));
    return c.json({ since });
  });
}
