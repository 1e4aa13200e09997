/** The NDAs of a deal: brokers send them, and buyers sign them. */

import { Hono } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import { nda, ndas, ndaTerms, revokeNda, sendNda, signNda } from '../../domain/deals/ndas.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed, Problem } from '../../http/problem.ts';
import { listPages } from './list-pages.ts';
import { body, id, instant, optional, pageCursor, pageSize, pathId, properName, query, text } from './input.ts';
import { withDeal, withPersonAndDeal, withRecord } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const New = z.strictObject({ participant_id: id, terms: text(lengths.ndas.terms), expires_at: optional(instant) });
const List = z.object({ cursor: pageCursor, limit: pageSize });
// One letter is nobody's full name, in any script.
const Signature = z.strictObject({ signed_name: properName.regex(/\p{L}.*\p{L}/u, 'Enter your full name to sign.') });

/** The NDA routes, below /api/web. */
export function ndaRoutes(services: Services) {
  const pages = listPages(services);

  return new Hono()
    .get('/deals/:id/ndas', query(List), async (c) => {
      const dealId = pathId(c);
      const { cursor, limit } = c.req.valid('query');
      const page = await pages(`ndas ${dealId}`, cursor);
      const [person, found] = await withPersonAndDeal(services, c, dealId, ndas(dealId, page.after, limit));
      return c.json(page.answer(person, found));
    })

    .get('/deals/:id/ndas/template', async (c) => {
      const dealId = pathId(c);
      const [terms] = await withDeal(services, c, dealId, ndaTerms(dealId));
      return c.json({ terms: orNotFound(terms) });
    })

    .post('/deals/:id/ndas', body(New), async (c) => {
      const dealId = pathId(c);
      const [sent] = await withDeal(services, c, dealId, sendNda(dealId, c.req.valid('json'), originOf(c)));
      return c.json(orNotFound(sent), 201);
    })

    .post('/ndas/:id/sign', body(Signature), async (c) => {
      const ndaId = pathId(c);
      const { signed_name } = c.req.valid('json');
      const [signed, now] = await withRecord(
        services,
        c,
        'ndas',
        ndaId,
        signNda(ndaId, signed_name, originOf(c)),
        nda(ndaId),
      );
      if (signed) return c.json(orNotFound(now));
      if (!now?.mine) throw new Problem(403, 'denied', 'Only the buyer to whom the NDA was sent can sign it.');
      throw new Problem(
        409,
        'nda_not_waiting',
        'This NDA is no longer waiting for a signature. Reload the page to see why.',
      );
    })

    .post('/ndas/:id/revoke', async (c) => {
      const ndaId = pathId(c);
      const [revoked, now] = await withRecord(services, c, 'ndas', ndaId, revokeNda(ndaId, originOf(c)), nda(ndaId));
      if (!revoked && now?.status !== 'revoked') throw notAllowed();
      return c.json(orNotFound(now));
    });
}
