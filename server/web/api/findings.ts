/** Diligence findings, when the feature is on: recording them, changing their status and owner, commenting on them. */

import { Hono } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import {
  addFinding,
  addFindingComment,
  assignFinding,
  findingOnPage,
  findingsOnPage,
  findingStatuses,
  setFindingStatus,
  severities,
} from '../../domain/diligence/findings.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed, nothingThere } from '../../http/problem.ts';
import { body, id, line, optional, pathId, text } from './input.ts';
import { withDeal, withRecord } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const New = z.strictObject({
  category: line(lengths.findings.category),
  title: line(lengths.findings.title),
  description: optional(text(lengths.findings.description)),
  severity: z.enum(severities, { error: 'Choose how severe it is.' }),
  owner_user_id: optional(id),
});
const Status = z.strictObject({
  status: z.enum(findingStatuses, { error: 'Choose a status.' }),
  status_notes: optional(text(lengths.findings.status_notes)),
});
const Owner = z.strictObject({ owner_user_id: id.nullable() });
const Comment = z.strictObject({ body: text(lengths.finding_comments.body) });

/** The finding routes, below /api/web. */
export function findingRoutes(services: Services) {
  const app = new Hono();
  for (const path of ['/deals/:id/findings', '/findings/*'])
    app.use(path, async (_, next) => {
      if (!services.config.features.findings) throw nothingThere();
      await next();
    });

  return app
    .get('/deals/:id/findings', async (c) => {
      const dealId = pathId(c);
      const [items] = await withDeal(services, c, dealId, findingsOnPage(dealId));
      return c.json({ items });
    })

    .post('/deals/:id/findings', body(New), async (c) => {
      const dealId = pathId(c);
      const [added] = await withDeal(services, c, dealId, addFinding(dealId, c.req.valid('json'), originOf(c)));
      const [found] = await withRecord(services, c, 'findings', added, findingOnPage(added));
      return c.json(orNotFound(found), 201);
    })

    .get('/findings/:id', async (c) => {
      const findingId = pathId(c);
      const [found] = await withRecord(services, c, 'findings', findingId, findingOnPage(findingId));
      return c.json(orNotFound(found));
    })

    .post('/findings/:id/status', body(Status), async (c) => {
      const findingId = pathId(c);
      const { status, status_notes } = c.req.valid('json');
      const change = setFindingStatus(findingId, status, status_notes, originOf(c));
      const [, found] = await withRecord(services, c, 'findings', findingId, change, findingOnPage(findingId));
      return c.json(orNotFound(found));
    })

    .post('/findings/:id/owner', body(Owner), async (c) => {
      const findingId = pathId(c);
      const assign = assignFinding(findingId, c.req.valid('json').owner_user_id, originOf(c));
      const [assigned, found] = await withRecord(services, c, 'findings', findingId, assign, findingOnPage(findingId));
      if (!assigned) throw notAllowed();
      return c.json(orNotFound(found));
    })

    .post('/findings/:id/comments', body(Comment), async (c) => {
      const findingId = pathId(c);
      const comment = addFindingComment(findingId, c.req.valid('json').body, originOf(c));
      const [, found] = await withRecord(services, c, 'findings', findingId, comment, findingOnPage(findingId));
      return c.json(orNotFound(found), 201);
    });
}
