/** The offers of a deal: submitted and revised by buyers, accepted into exclusivity by its broker. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import {
  acceptOffer,
  agreedOffer,
  dealOffers,
  dealOfOffer,
  decideOffer,
  exactly,
  isTooLarge,
  isVast,
  mostOffersAPage,
  offerRevisions,
  submitOffer,
} from '../../domain/offers/offers.ts';
import { asDealPage, dealPage } from '../../domain/deals/page.ts';
import { mustSee } from '../../domain/visibility/must-see.ts';
import { deploymentCursors } from './cursor.ts';
import { day, decimal, instant, optional, pathId, readBody, readQuery, text } from './input.ts';
import { notAllowed, withDeal, withRecord } from './visible-record.ts';
import { asPerson, originOf, withPerson } from './person.ts';
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
  .refine((payload) => !isVast(payload), 'A number in it is too large or too small.')
  .refine((payload) => !isTooLarge(payload), 'An offer takes at most 32 kB: put what is longer into a document.');
const Submission = z.strictObject({ payload: Payload });
const Acceptance = z.strictObject({ expires_at: instant });
const Decision = z.strictObject({ decision: z.enum(['accepted', 'declined'], 'Choose accepted or declined.') });
const Page = z.object({
  cursor: z.string().max(2000).optional(),
  limit: z
    .string()
    .regex(/^\d{1,2}$/, `Write a number from 1 to ${mostOffersAPage}.`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= mostOffersAPage, `Write a number from 1 to ${mostOffersAPage}.`)
    .default(mostOffersAPage),
});

export function offerRoutes(services: Services): Hono {
  const app = new Hono();
  const cursors = deploymentCursors(services);

  app.get('/deals/:id/offers', async (c) => {
    const dealId = pathId(c);
    const { cursor, limit } = readQuery(c, Page);
    const { seal, unseal } = await cursors();
    const list = `offers ${dealId}`;
    const after = cursor === undefined ? null : unseal(cursor);
    const [person, , { items, next }, agreed] = await withPerson(
      services,
      c,
      mustSee('deals', dealId),
      dealOffers(dealId, after?.place ?? null, limit),
      agreedOffer(dealId),
    );
    after?.check(list, person.user_id);
    return c.json({ items, agreed, next_cursor: next && seal(list, person.user_id, next) });
  });

  app.get('/deals/:id/offers/:buyer/revisions', async (c) => {
    const dealId = pathId(c);
    const buyer = pathId(c, 'buyer');
    const { cursor, limit } = readQuery(c, Page);
    const { seal, unseal } = await cursors();
    const list = `offers ${dealId} ${buyer}`;
    const after = cursor === undefined ? null : unseal(cursor);
    const statement = offerRevisions(dealId, buyer, after?.place ?? null, limit);
    const [person, , { items, next }] = await withPerson(services, c, mustSee('deals', dealId), statement);
    after?.check(list, person.user_id);
    return c.json({ items, next_cursor: next && seal(list, person.user_id, next) });
  });

  app.post('/deals/:id/offers', async (c) => {
    const dealId = pathId(c);
    const { payload } = await readBody(c, Submission, exactly);
    const [submitted] = await withDeal(services, c, dealId, submitOffer(dealId, payload, originOf(c)));
    return c.json(submitted, 201);
  });

  app.post('/offers/:id/accept', async (c) => {
    const offerId = pathId(c);
    const { expires_at } = await readBody(c, Acceptance);
    const change = acceptOffer(offerId, expires_at, originOf(c));
    const [accepted, dealId] = await withRecord(services, c, 'offers', offerId, change, dealOfOffer(offerId));
    if (!accepted) throw notAllowed();
    const page = asDealPage(await asPerson(services, c, ...dealPage(dealId ?? '')));
    if (!page) throw nothingThere();
    return c.json(page);
  });

  app.post('/offers/:id/decision', async (c) => {
    const offerId = pathId(c);
    const { decision } = await readBody(c, Decision);
    const change = decideOffer(offerId, decision, originOf(c));
    const [decided, dealId] = await withRecord(services, c, 'offers', offerId, change, dealOfOffer(offerId));
    if (!decided) throw notAllowed();
    const page = asDealPage(await asPerson(services, c, ...dealPage(dealId ?? '')));
    if (!page) throw nothingThere();
    return c.json(page);
  });
  return app;
}
