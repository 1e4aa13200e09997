/**
 * The contents of a report on a deal: the data that the pages show its reader, read in one transaction with the
 * reader's rights (docs/books.md).
 */

import { hash } from 'node:crypto';
import { serialize } from 'node:v8';
import { row, rows, type Statement } from '../../database/statement.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { knownName, knownPerson } from '../deals/participants.ts';
import { booksOf } from '../diligence/books.ts';
import { adjustmentsBridged, bridgeOf } from '../diligence/bridge.ts';
import { answersInSight } from '../diligence/contradiction-answers.ts';
import {
  concentration,
  customerBridge,
  rowsOf,
  type CustomerBridge,
  type CustomerChange,
} from '../diligence/customers.ts';
import { compare, decimal, sum, writtenOut, zero } from '../diligence/decimals.ts';
import { ebitdaOf, earnings, grossProfitOf, resolved, rowsYearBefore } from '../diligence/earnings.ts';
import { memoized } from '../diligence/caches.ts';
import { qoeOverview } from '../diligence/overview.ts';
import { amountsOf, assessed, databaseTime, toCompare } from '../offers/assessment.ts';
import { funding } from '../offers/financing.ts';
import { agreedOffer, currentAndAgreed, dealOffers, mostOffersAPage, type DealOffer } from '../offers/offers.ts';
import type { Results } from '../../database/database.ts';
import type { Books } from '../diligence/books.ts';
import type { Snapshot } from '../diligence/snapshots.ts';

interface UploadInReport {
  id: string;
  snapshot_type: Snapshot['snapshot_type'];
  source_name: string | null;
  completed_at: string;
  /** Name of the uploader; null when the caller may not know of them. */
  by: string | null;
}

interface DealInReport {
  readonly id: string;
  readonly title: string;
  readonly organization_id: string;
  readonly brokerage: string;
  readonly currency: string;
  /** A decimal, in the deal's currency. */
  readonly asking_price: string | null;
}

/** The deal's own fields in a report; null when the caller does not see the deal. */
export const dealInReport = row<DealInReport, [dealId: string]>(
  'deal_in_report',
  `select d.id, d.title, d.organization_id, b.name as brokerage, d.currency, trim_scale(d.asking_price) as asking_price
   from deals d join brokerages b on b.id = d.organization_id where d.id = $1`,
);

/** The completed uploads to a deal's books and their uploaders, latest first, at most 200. */
const uploadsInReport = rows<UploadInReport, [dealId: string]>(
  'uploads_in_report',
  `select s.id, s.snapshot_type, s.source_name, s.completed_at, ${knownName('u')} as by
   from accounting_snapshots s ${knownPerson('u', 's.requested_by', 's.deal_id')}
   where s.deal_id = $1 and s.status = 'completed' order by s.completed_at desc, s.id desc limit 200`,
);

const note = row(
  'note_report',
  `with changed as (select d.id, d.id as deal_id from deals d where d.id = $3)
   select changed.id from changed ${audited('report.download', { details: `jsonb_build_object('format', $4::text)` })}`,
);

/** Records in the audit trail that the caller downloads a report on a deal that they see. */
export const noteReport = (dealId: string, format: string, origin: Origin): Statement<boolean> =>
  tookPlace(note(...from(origin), dealId, format));

/** The statements that read a report's contents, for one transaction; their answers go to {@link reportInput}. */
export const reportReads = (dealId: string, withFinancing: boolean) =>
  [
    dealInReport(dealId),
    databaseTime(),
    booksOf(dealId),
    answersInSight(dealId),
    uploadsInReport(dealId),
    dealOffers(dealId, null, mostOffersAPage),
    agreedOffer(dealId),
    ...(withFinancing ? [funding(dealId)] : []),
  ] as const satisfies readonly Statement<unknown>[];

/** At most this many customers are listed one by one; the others are added up. */
const mostCustomers = 5_000;

const customersOf = (books: Books) => {
  const found = concentration(books);
  if (!found) return null;
  const counting = resolved(books);
  const largest = found.customers.slice(0, mostCustomers);
  const others = found.customers.slice(mostCustomers).map(({ revenue }) => revenue);
  // `revenue` is null for customers in another currency than the books: rows of the same dates do not count for them.
  const of = found.revenue ? rowsOf(found.first, found.last, counting) : [];
  return writtenOut({
    ...found,
    customers: largest,
    others: { count: others.length, revenue: sum(others) },
    rows: of.map(({ id }) => id),
  });
};

const changeKinds = ['grown', 'new', 'kept', 'shrunk', 'lost'] as const;

function changesOf(bridge: CustomerBridge | null) {
  if (!bridge) return null;
  let room = mostCustomers;
  const parts = changeKinds.map((kind) => {
    const all: readonly CustomerChange[] = bridge[kind];
    const items = all.slice(0, room);
    room -= items.length;
    const rest = all.slice(items.length);
    return {
      kind,
      count: all.length,
      difference: sum(all.map(({ difference }) => difference)),
      items,
      others: {
        count: rest.length,
        before: sum(rest.map(({ before }) => before)),
        after: sum(rest.map(({ after }) => after)),
      },
    };
  });
  return writtenOut({ before: bridge.before, after: bridge.after, currency: bridge.currency, parts });
}

/** An offer, and whether it has expired. */
type OfferInReport = DealOffer & { readonly expired: boolean };

function offerIn(offer: OfferInReport) {
  const { currency, ...amounts } = amountsOf(offer.payload);
  const { target_close_date: close, financing_contingency: contingent } = offer.payload;
  return {
    id: offer.id,
    mine: offer.mine,
    buyer: `${offer.mine ? 'Your offer' : offer.buyer_name}${offer.proposed ? ', proposed change' : ''}`,
    revision: offer.revision_number,
    submitted_at: offer.submitted_at,
    expired: offer.expired,
    agreed: offer.agreed,
    /** Whether the offer was accepted in an exclusivity that has ended. */
    accepted_earlier: !offer.agreed && offer.accepted_at !== null,
    currency,
    amounts: writtenOut(amounts),
    /**
     * Digits after the decimal point in the price as offered; add-backs' parts of the price are computed to as many.
     */
    price_digits: Number(amounts.purchase_price?.scale ?? 0n),
    target_close_date: typeof close === 'string' ? close : null,
    financing_contingency: typeof contingent === 'boolean' ? contingent : null,
  };
}

function offersOf(
  { items, more }: { readonly items: readonly OfferInReport[]; readonly more: boolean },
  given: Pick<Parameters<typeof assessed>[0], 'books' | 'funding' | 'day'>,
) {
  const { basis, offers: worths, compared, sba_rules } = assessed({ ...given, offers: toCompare(items) });
  const isCompared = new Set(worths.map(({ offer_id }) => offer_id));
  const shown = items.filter(({ id }) => isCompared.has(id)).map(offerIn);
  const byPrice = shown.toSorted((a, b) => {
    const [first, second] = [a, b].map(({ amounts }) => decimal(amounts.purchase_price ?? '0'));
    return compare(second ?? zero, first ?? zero) || (a.id < b.id ? -1 : 1);
  });
  return {
    basis,
    compared,
    /** The SBA rules in force on the day of the report; empty when no offer is compared with them. */
    sba_rules,
    /** Whether there are more offers than are listed. */
    more,
    items: byPrice.map((offer) => {
      const { multiples, money, coverage, paid_for, sba } = worths.find(({ offer_id }) => offer_id === offer.id) ?? {};
      const covered = coverage ?? null;
      return {
        ...offer,
        multiples: multiples ?? null,
        money: money ?? null,
        paid_for: paid_for ?? null,
        sba: sba ?? null,
        coverage: covered && {
          debt: covered.debt,
          debt_is: covered.debt_is,
          most_cost: [...covered.most_cost],
          sentences: [...covered.sentences],
          without_largest: covered.without_largest && {
            customer: covered.without_largest.customer,
            customer_period: covered.without_largest.customer_period,
            sentences: [...covered.without_largest.sentences],
          },
        },
      };
    }),
  };
}

/**
 * The rows of profit and loss that count, with EBITDA and gross profit computed from the other lines where they are
 * missing.
 */
const countingRows = (books: Books) =>
  resolved(books).rows.map(({ id, snapshot_id, label, first, last, amounts }) =>
    writtenOut({
      id,
      upload: snapshot_id,
      label,
      first,
      last,
      amounts,
      gross_profit: grossProfitOf(amounts),
      ebitda: ebitdaOf(amounts),
    }),
  );

/** The answers of {@link reportReads}. */
type ReportAnswers = Results<ReturnType<typeof reportReads>>;

/** Everything that a report is made from. Throws when the deal or the time is missing. */
export function reportInput(reader: string, answers: ReportAnswers, withFinancing: boolean) {
  const [deal, time, books, sight, uploads, { items, next }, agreed, sources] = answers;
  if (!deal || !time) throw new Error('There is no report without a deal.');
  return {
    /**
     * Time of writing, set in the file's properties. Of the printed contents, only the day and which offers have
     * expired depend on it.
     */
    at: time.now,
    day: time.day,
    reader,
    deal,
    books,
    sight,
    uploads,
    offers: {
      items: currentAndAgreed(items, agreed, time.now),
      more: next !== null,
    },
    funding: withFinancing ? (sources ?? []) : null,
  };
}

export type ReportInput = ReturnType<typeof reportInput>;

/** Kept as long as the books: they are large to serialize. */
const digestOfBooks = memoized((books: Books) => hash('sha256', serialize(books), 'base64'));

/** A digest that is equal for reports with the same contents, whenever they are written, and for no others. */
export const digestOfInput = ({ books, ...rest }: ReportInput): string =>
  hash('sha256', serialize([digestOfBooks(books), { ...rest, at: null }]), 'base64');

/** The contents of a reader's report on a deal. All amounts are written decimals. */
export function reportContents(input: ReportInput) {
  const { at, day, reader, deal, books, sight, uploads, offers, funding: sources } = input;
  const earned = earnings(books);
  return {
    at,
    day,
    reader,
    deal,
    uploads,
    computed: qoeOverview(books, sight),
    /** One entry for each of `computed.earnings`, in the same order. */
    years_before: rowsYearBefore(books, earned),
    periods: countingRows(books),
    adjustments: writtenOut(books.adjustments),
    adjustments_left_out: writtenOut(books.adjustments_left_out ?? []),
    bridge: bridgeOf(books),
    bridged: writtenOut(adjustmentsBridged(books)),
    customers: customersOf(books),
    changes: changesOf(customerBridge(books)),
    offers: offersOf(offers, { books, funding: sources, day }),
  };
}

/**
 * Each row that was read, as text. An upload's or adjustment's figures never change, so its row in the books stands for
 * them.
 */
function readRows([deal, , books, sight, uploads, offers, agreed, sources]: ReportAnswers): Set<string> {
  const { all, answers } = sight;
  return new Set(
    [
      { deal, books: books.currency, all },
      ...books.uploads,
      ...[...books.adjustments, ...(books.adjustments_left_out ?? [])].map(({ id }) => ({ adjustment: id })),
      ...answers,
      ...uploads,
      ...offers.items,
      ...(agreed ? [agreed] : []),
      ...(sources ?? []),
    ].map((one) => JSON.stringify(one)),
  );
}

/**
 * Whether a second read returns every row of the first. Rows added since are ignored; a row that has changed or that
 * the reader no longer sees makes it false.
 */
export function isStillCurrent(before: ReportAnswers, now: ReportAnswers): boolean {
  const still = readRows(now);
  return [...readRows(before)].every((one) => still.has(one));
}

/** The contents of a report: plain data, to be written as a PDF or as a workbook. */
export type ReportContents = ReturnType<typeof reportContents>;
