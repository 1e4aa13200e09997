/** The offers of a deal: submitted and revised by buyers, accepted into exclusivity by its broker. */

import { Hono } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import {
  acceptOffer,
  agreedOffer,
  currentAndAgreed,
  dealOffers,
  dealOfOffer,
  decideOffer,
  exactly,
  isTooLarge,
  isVast,
  longestTerms,
  mostOffersAPage,
  offerDecisions,
  offerOfDeal,
  offerRevisions,
  selectedOffer,
  submitOffer,
} from '../../domain/offers/offers.ts';
import { booksOf } from '../../domain/diligence/books.ts';
import { mostYears } from '../../domain/diligence/coverage.ts';
import { decimal as exact } from '../../domain/diligence/decimals.ts';
import { assessed, databaseTime, toCompare } from '../../domain/offers/assessment.ts';
import type { TypedTerms } from '../../domain/offers/debt.ts';
import { funding } from '../../domain/offers/financing.ts';
import { twoOffers } from '../../domain/offers/comparison.ts';
import { asDealPage, dealPage } from '../../domain/deals/page.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed } from '../../http/problem.ts';
import { listPages } from './list-pages.ts';
import { body, currency, day, decimal, instant, line, optional, pageCursor, pathId, query, text } from './input.ts';
import { withDeal, withPersonAndDeal, withRecord } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const amount = optional(decimal());

// Unknown keys are kept unchanged.
const Payload = z
  .looseObject({
    currency,
    purchase_price: decimal(),
    cash_at_close: amount,
    seller_note: amount,
    earnout: amount,
    rollover_equity: amount,
    financing_contingency: z.boolean('Choose yes or no.').nullable().default(null),
    target_close_date: optional(day),
    expires_at: optional(instant),
    terms: optional(text(longestTerms)),
  })
  .refine((payload) => !isVast(payload), 'A number in the offer is too large or too small.')
  .refine((payload) => !isTooLarge(payload), 'An offer can have at most 32 KB: put longer text in a document.');
const Submission = z.strictObject({ payload: Payload });
const Acceptance = z.strictObject({ expires_at: instant });
const Decision = z.strictObject({ decision: z.enum(offerDecisions, 'Choose accepted or declined.') });

const rate = z.string().regex(/^(100|\d{1,2}(\.\d{1,3})?)$/, 'Enter a percentage from 0 to 100, like 10.25.');
const years = z
  .string()
  .regex(/^\d{1,2}$/, `Enter whole years, at most ${mostYears}.`)
  .transform(BigInt)
  .refine((count) => count <= mostYears, `At most ${mostYears} years.`);
const someYears = years.refine((count) => count >= 1n, 'At least one year.');
/** A person's input for what an offer would amount to; it is not stored. */
const Typed = z.object({
  period_label: optional(line(lengths.pl_periods.period_label)),
  rate: rate.optional(),
  years: someYears.optional(),
  note_rate: rate.optional(),
  note_years: someYears.optional(),
  note_standby: years.optional(),
  equity: decimal().optional(),
});

function typedIn({
  rate: percent,
  years: count,
  note_rate,
  note_years,
  note_standby,
  equity,
}: z.output<typeof Typed>): TypedTerms {
  const bank = percent === undefined || count === undefined ? null : { rate: exact(percent), years: count };
  const notes = { rate: note_rate ?? percent, years: note_years ?? count };
  return {
    bank,
    note:
      notes.rate === undefined || notes.years === undefined ? null : { rate: exact(notes.rate), years: notes.years },
    noteStandby: note_standby ?? null,
    equity: equity === undefined ? null : exact(equity),
  };
}

const Page = z.object({
  cursor: pageCursor,
  limit: z
    .string()
    .regex(/^\d{1,2}$/, `Enter a number from 1 to ${mostOffersAPage}.`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= mostOffersAPage, `Enter a number from 1 to ${mostOffersAPage}.`)
    .default(mostOffersAPage),
});

/** The offer routes, below /api/web. */
export function offerRoutes(services: Services) {
  const pages = listPages(services);

  return new Hono()
    .get('/deals/:id/offers', query(Page), async (c) => {
      const dealId = pathId(c);
      const { cursor, limit } = c.req.valid('query');
      const page = await pages(`offers ${dealId}`, cursor);
      const [person, found, agreed, selected] = await withPersonAndDeal(
        services,
        c,
        dealId,
        dealOffers(dealId, page.after, limit),
        agreedOffer(dealId),
        selectedOffer(dealId),
      );
      return c.json({ ...page.answer(person, found), agreed, selected });
    })

    .get('/deals/:id/offers/worth', query(Typed), async (c) => {
      // The assessment, under the path that pages loaded from an earlier release request.
      const dealId = pathId(c);
      const given = c.req.valid('query');
      const withFunding = services.config.features.financing;
      const [found, agreed, books, time, sources] = await withDeal(
        services,
        c,
        dealId,
        dealOffers(dealId, null, mostOffersAPage),
        agreedOffer(dealId),
        booksOf(dealId),
        databaseTime(),
        ...(withFunding ? [funding(dealId)] : []),
      );
      const { now, day: on } = orNotFound(time);
      return c.json(
        assessed({
          offers: toCompare(currentAndAgreed(found.items, agreed, now)),
          books,
          funding: sources ?? null,
          day: on,
          label: given.period_label,
          typed: typedIn(given),
        }),
      );
    })

    .get('/deals/:id/offers/:offer_id/against/:other_offer_id', query(Typed), async (c) => {
      const dealId = pathId(c);
      const given = c.req.valid('query');
      const withFunding = services.config.features.financing;
      const [person, first, second, books, time, sources] = await withPersonAndDeal(
        services,
        c,
        dealId,
        offerOfDeal(dealId, pathId(c, 'offer_id')),
        offerOfDeal(dealId, pathId(c, 'other_offer_id')),
        booksOf(dealId),
        databaseTime(),
        ...(withFunding ? [funding(dealId)] : []),
      );
      const { now, day: on } = orNotFound(time);
      return c.json(
        twoOffers(orNotFound(first), orNotFound(second), {
          caller: person.user_id,
          now,
          books,
          funding: sources ?? null,
          day: on,
          label: given.period_label,
          typed: typedIn(given),
        }),
      );
    })

    .get('/deals/:id/offers/:buyer_user_id/revisions', query(Page), async (c) => {
      const dealId = pathId(c);
      const buyer = pathId(c, 'buyer_user_id');
      const { cursor, limit } = c.req.valid('query');
      const page = await pages(`offers ${dealId} ${buyer}`, cursor);
      const revisions = offerRevisions(dealId, buyer, page.after, limit);
      const [person, found] = await withPersonAndDeal(services, c, dealId, revisions);
      return c.json(page.answer(person, found));
    })

    .post('/deals/:id/offers', body(Submission, exactly), async (c) => {
      const dealId = pathId(c);
      const { payload } = c.req.valid('json');
      const [submitted] = await withDeal(services, c, dealId, submitOffer(dealId, payload, originOf(c)));
      return c.json(orNotFound(submitted), 201);
    })

    .post('/offers/:id/accept', body(Acceptance), async (c) => {
      const offerId = pathId(c);
      const { expires_at } = c.req.valid('json');
      const change = acceptOffer(offerId, expires_at, originOf(c));
      const [accepted, dealId] = await withRecord(services, c, 'offers', offerId, change, dealOfOffer(offerId));
      if (!accepted) throw notAllowed();
      return c.json(orNotFound(dealId && asDealPage(await withDeal(services, c, dealId, ...dealPage(dealId)))));
    })

    .post('/offers/:id/decision', body(Decision), async (c) => {
      const offerId = pathId(c);
      const { decision } = c.req.valid('json');
      const change = decideOffer(offerId, decision, originOf(c));
      const [decided, dealId] = await withRecord(services, c, 'offers', offerId, change, dealOfOffer(offerId));
      if (!decided) throw notAllowed();
      return c.json(orNotFound(dealId && asDealPage(await withDeal(services, c, dealId, ...dealPage(dealId)))));
    });
}
