/** The financing stack of a deal, when the feature is on: its sources and their totals. */

import { Hono } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import {
  addSource,
  commitmentStatuses,
  endedStatuses,
  financingTotals,
  financingTotalsBySide,
  moveSource,
  sourceOnPage,
  sourcesOnPage,
  sourceTypes,
} from '../../domain/offers/financing.ts';
import { originOf } from '../../http/origin.ts';
import { nothingThere } from '../../http/problem.ts';
import { largestWholeAmount } from '../../http/values.ts';
import { body, line, pathId } from './input.ts';
import { withDeal, withRecord } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const status = z.enum(commitmentStatuses, { error: 'Choose a status.' });
const New = z.strictObject({
  source_type: z.enum(sourceTypes, { error: 'Choose what kind of source it is.' }),
  source_name: line(lengths.financing_sources.source_name),
  commitment_amount: z
    .string()
    .regex(/^\d+$/, 'Enter a whole amount, without cents, like 1250000.')
    .refine(
      (amount) => Number(amount) <= largestWholeAmount,
      `Enter an amount of at most ${largestWholeAmount.toLocaleString('en')}.`,
    ),
  commitment_status: status.default('identified'),
});
const Status = z.strictObject({ commitment_status: status });

/** The financing routes, below /api/web. */
export function financingRoutes(services: Services) {
  const app = new Hono();
  for (const path of ['/deals/:id/financing', '/financing/*'])
    app.use(path, async (_, next) => {
      if (!services.config.features.financing) throw nothingThere();
      await next();
    });

  return app
    .get('/deals/:id/financing', async (c) => {
      const dealId = pathId(c);
      const [items, totals, totals_by_side] = await withDeal(
        services,
        c,
        dealId,
        sourcesOnPage(dealId),
        financingTotals(dealId),
        financingTotalsBySide(dealId),
      );
      return c.json({ items, totals, totals_by_side, ended_statuses: endedStatuses });
    })

    .post('/deals/:id/financing', body(New), async (c) => {
      const dealId = pathId(c);
      const [{ id }] = await withDeal(services, c, dealId, addSource(dealId, c.req.valid('json'), originOf(c)));
      const [source] = await withRecord(services, c, 'financing_sources', id, sourceOnPage(id));
      return c.json(orNotFound(source), 201);
    })

    .post('/financing/:id/status', body(Status), async (c) => {
      const sourceId = pathId(c);
      const { commitment_status } = c.req.valid('json');
      const move = moveSource(sourceId, commitment_status, originOf(c));
      const [, source] = await withRecord(services, c, 'financing_sources', sourceId, move, sourceOnPage(sourceId));
      return c.json(orNotFound(source));
    });
}
