/** The offers of a deal: submitted and revised by buyers, accepted into exclusivity by its broker. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { House } from '../../context.ts';
import { acceptOffer, dealOffers, dealOfOffer, submitOffer } from '../../domain/deal-offers.ts';
import { asDealPage, dealPage } from '../../domain/deal-page.ts';
import { exactly, isVast } from '../../domain/offers.ts';
import { day, decimal, instant, optional, pathId, readBody, text } from './input.ts';
import { notAllowed, onDeal, onRecord } from './on-record.ts';
import { asPerson, originOf } from './person.ts';
import { nothingThere } from './problems.ts';

const amount = optional(decimal());

// Keys that we do not know are kept as they come.
const Payload = z
  .looseObject({
    currency: z.string().regex(/^[A-Z]{3}$/, 'Choose a currency.'),
    purchase_price: decimal(),
    cash_at_close: amount,
    seller_note: amount,
    earnout: amount,
    rollover_equity: amount,
    financing_contingency: z.boolean('Choose yes or no.').nullable().default(null),
    target_close_date: optional(day),
    expires_at: optional(instant),
    terms: optional(text(20_000)),
  })
  .refine((payload) => !isVast(payload), 'A number in it is too large or too small.');
const Submission = z.strictObject({ payload: Payload });
const Acceptance = z.strictObject({ expires_at: instant });

export function offerRoutes(house: House): Hono {
  const app = new Hono();

  app.get('/deals/:id/offers', async (c) => {
    const dealId = pathId(c);
    const [items] = await onDeal(house, c, dealId, dealOffers(dealId));
    return c.json({ items });
  });

  app.post('/deals/:id/offers', async (c) => {
    const dealId = pathId(c);
    const { payload } = await readBody(c, Submission, exactly);
    const [submitted] = await onDeal(house, c, dealId, submitOffer(dealId, payload, originOf(c)));
    return c.json(submitted, 201);
  });

  app.post('/offers/:id/accept', async (c) => {
    const offerId = pathId(c);
    const { expires_at } = await readBody(c, Acceptance);
    const change = acceptOffer(offerId, expires_at, originOf(c));
    const [accepted, dealId] = await onRecord(house, c, 'offers', offerId, change, dealOfOffer(offerId));
    if (!accepted) throw notAllowed();
    const page = asDealPage(await asPerson(house, c, ...dealPage(dealId ?? '')));
    if (!page) throw nothingThere();
    return c.json(page);
  });
  return app;
}
