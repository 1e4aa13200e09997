/** Two chosen offers, or two revisions of one offer, side by side: the terms that differ, and by how much. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { againstQuery, revisionsQuery } from '../../../api/offers.ts';
import type {
  ComparedLine,
  Id,
  Offer,
  OfferAssessment,
  SharedWords,
  TwoOffers,
  TypedTerms,
} from '../../../api/shapes.ts';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { Money } from '../../../components/money.tsx';
import { termWords, worthWords } from '../../../components/offers/payload.ts';
import { none } from '../../../components/offers/terms.tsx';
import { itemsOf } from '../../../components/paged-list.tsx';
import { ScrollRegion } from '../../../components/scroll-region.tsx';
import { isMissing, Loaded, SkeletonText } from '../../../components/states.tsx';
import { DayText, Time } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { daysAfter, formatDates, formatMultiple, formatPoints, formatShare, plural } from '../../../lib/format.ts';
import { useBreakpoint } from '../../../lib/use-media.ts';
import { paths } from '../../../paths.ts';
import { useDeal } from '../context.ts';
import { wholeNumber } from '../../../lib/whole-number.ts';
import { offersRoute } from './search.ts';

/** The id of the comparison's card, for links to it. */
export const sideBySide = 'side-by-side';

type Side = TwoOffers['first'];

type NamedTerm = Exclude<ComparedLine['term'], 'other' | 'most_cost' | 'most_cost_without_largest'>;

const multiples: SharedWords['multiples'] = {
  adjusted_ebitda: 'Price to adjusted EBITDA',
  reported_ebitda: 'Price to reported EBITDA',
  sde: 'Price to SDE',
  revenue: 'Price to revenue',
};

const names: Readonly<Record<NamedTerm, string>> = {
  currency: 'Currency',
  purchase_price: termWords.purchase_price,
  cash_at_close: termWords.cash_at_close,
  seller_note: termWords.seller_note,
  earnout: termWords.earnout,
  rollover_equity: termWords.rollover_equity,
  share_cash_at_close: `${termWords.cash_at_close}, share`,
  share_seller_note: `${termWords.seller_note}, share`,
  share_earnout: `${termWords.earnout}, share`,
  share_rollover_equity: `${termWords.rollover_equity}, share`,
  share_unsaid: `${termWords.unsaid}, share`,
  multiple_adjusted_ebitda: multiples.adjusted_ebitda,
  multiple_reported_ebitda: multiples.reported_ebitda,
  multiple_sde: multiples.sde,
  multiple_revenue: multiples.revenue,
  debt: 'Debt with seller note',
  least_coverage: 'Coverage in the worst year',
  least_coverage_without_largest: 'Coverage in the worst year, without the largest customer',
  financing_contingency: 'Financing contingency',
  target_close_date: 'Target closing',
  expires_at: 'Valid until',
  terms: 'Terms',
};

/** The label of a line. */
function nameOf({ term, of }: ComparedLine): string {
  if (term === 'other') return (of ?? '').replaceAll('_', ' ');
  if (term === 'most_cost') return `${worthWords.highestDebtService} ${of}× coverage, share of debt`;
  if (term === 'most_cost_without_largest')
    return `${worthWords.highestDebtService} ${of}× coverage, share of debt, without the largest customer`;
  return names[term];
}

/** The value of one side. */
function Said({
  kind,
  value,
  currency,
}: {
  kind: ComparedLine['kind'];
  value: string | null;
  currency: string | null;
}) {
  if (value === null) return none;
  if (kind === 'money') return <Money amount={value} currency={currency} />;
  if (kind === 'share') return formatShare(value);
  if (kind === 'times') return formatMultiple(value);
  if (kind === 'day') return <DayText day={value} />;
  if (kind === 'time') return <Time at={value} as="time" className="whitespace-normal!" />;
  if (kind === 'yes_no') return value === 'yes' ? 'Yes' : 'No';
  return <span className="whitespace-pre-line">{value}</span>;
}

const daysInWords = (days: number): string =>
  days === 0 ? 'Same day' : `${plural(Math.abs(days), 'day')} ${days > 0 ? 'later' : 'earlier'}`;

/** By how much the first side exceeds the second, with the unit. */
function Difference({
  line: { kind, first, second, by, by_share: share },
  currency,
}: {
  line: ComparedLine;
  currency: string | null;
}) {
  if (kind === 'time' && first !== null && second !== null) return daysInWords(daysAfter(first, second));
  if (by === null) return <span className="text-faint">Differs</span>;
  if (kind === 'share') return formatPoints(by);
  if (kind === 'times') return formatMultiple(by, { signed: true });
  if (kind !== 'money') return daysInWords(wholeNumber(by));
  return (
    <>
      <Money amount={by} currency={currency} signed />
      {share !== null && <span className="font-normal text-faint"> ({formatShare(share, { signed: true })})</span>}
    </>
  );
}

const callsSide = ({ mine, buyer_name: name }: Pick<Side, 'mine' | 'buyer_name'>): string =>
  mine ? 'Your offer' : (name ?? 'A buyer');

/** The name of a revision: "Your offer, revision 2". */
const callsRevision = (offer: Pick<Side, 'mine' | 'buyer_name' | 'revision_number'>): string =>
  `${callsSide(offer)}, revision ${offer.revision_number}`;

interface LinesProps {
  two: TwoOffers;
  lines: readonly ComparedLine[];
  heads: readonly [first: string, second: string];
}

const cell = 'px-2.5 py-2.5 first:pl-4 last:pr-4 sm:first:pl-5 sm:last:pr-5 align-top';

function LinesTable({ two: { first, second }, lines, heads }: LinesProps) {
  return (
    <ScrollRegion label="What differs" className="border-t border-line">
      <table className="w-full min-w-160 table-fixed border-collapse text-sm">
        <thead>
          <tr className="border-b border-line text-faint">
            <th scope="col" className={cx(cell, 'w-2/8 text-left font-normal')}>
              Term
            </th>
            {[...heads, 'Difference'].map((head) => (
              <th key={head} scope="col" className={cx(cell, 'w-2/8 text-right font-normal break-words')}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => {
            const align = line.kind === 'text' ? 'text-left break-words' : 'text-right tabular';
            return (
              <tr key={`${line.term} ${line.of}`} className="border-b border-line last:border-0">
                <th scope="row" className={cx(cell, 'text-left font-medium break-words text-ink')}>
                  {nameOf(line)}
                </th>
                <td className={cx(cell, align)}>
                  <Said kind={line.kind} value={line.first} currency={first.currency} />
                </td>
                <td className={cx(cell, align)}>
                  <Said kind={line.kind} value={line.second} currency={second.currency} />
                </td>
                <td className={cx(cell, 'text-right font-medium text-ink tabular')}>
                  <Difference line={line} currency={first.currency} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** The same for phones: each difference above the values of both sides. */
function LinesList({ two: { first, second }, lines, heads }: LinesProps) {
  const sides = [
    { head: heads[0], says: (line: ComparedLine) => line.first, currency: first.currency },
    { head: heads[1], says: (line: ComparedLine) => line.second, currency: second.currency },
  ];
  return (
    <ul className="divide-y divide-line border-t border-line">
      {lines.map((line) => (
        <li key={`${line.term} ${line.of}`} className="px-4 py-3">
          <p className="flex flex-wrap items-baseline justify-between gap-x-3">
            <span className="font-medium break-words text-ink">{nameOf(line)}</span>
            <span className="text-sm font-medium text-ink tabular">
              <Difference line={line} currency={first.currency} />
            </span>
          </p>
          <dl className="mt-1 grid grid-cols-2 gap-x-4 text-sm">
            {sides.map(({ head, says, currency }) => (
              <div key={head} className="min-w-0">
                <dt className="truncate text-faint">{head}</dt>
                <dd className="break-words tabular">
                  <Said kind={line.kind} value={says(line)} currency={currency} />
                </dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}

function Lines({ two }: { two: TwoOffers }) {
  const phone = useBreakpoint() === null;
  const { first, second } = two;
  const call =
    first.buyer_user_id === second.buyer_user_id
      ? ({ revision_number: number }: Side) => `Revision ${number}`
      : (side: Side) => (side.is_current ? callsSide(side) : callsRevision(side));
  const heads = [call(first), call(second)] as const;
  const lines = two.lines.filter(({ same }) => !same);
  const same = two.lines.filter((line) => line.same).map(nameOf);
  const Shown = phone ? LinesList : LinesTable;
  return (
    <>
      {lines.length > 0 && <Shown two={two} lines={lines} heads={heads} />}
      {same.length > 0 && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint sm:px-5">
          {lines.length === 0 ? 'Nothing differs. ' : ''}The same in both: {same.join('; ')}.
        </p>
      )}
    </>
  );
}

/** Whether the offer's buyer has submitted other revisions. */
const isRevised = ({ revision_number: number, is_current: current }: Offer): boolean => number > 1 || !current;

/** The options: every shown offer, and the earlier revisions of the chosen offers' buyers. */
function useChoices(offers: readonly Offer[], two: TwoOffers | undefined, alone: Offer | undefined) {
  const { deal } = useDeal();
  const revised = (buyer: Id | undefined) => offers.some((offer) => offer.buyer_user_id === buyer && isRevised(offer));
  const [one, other] = [two?.first.buyer_user_id ?? alone?.buyer_user_id, two?.second.buyer_user_id];
  const first = useInfiniteQuery({ ...revisionsQuery(deal.id, one ?? ''), enabled: revised(one) });
  const second = useInfiniteQuery({ ...revisionsQuery(deal.id, other ?? ''), enabled: revised(other) });
  const all = [...offers, ...itemsOf(first.data), ...itemsOf(second.data), ...(two ? [two.first, two.second] : [])];
  return [...new Map(all.map((offer) => [offer.id, offer])).values()].map((offer) => ({
    value: offer.id,
    label: offer.is_current && offer.revision_number === 1 ? callsSide(offer) : callsRevision(offer),
  }));
}

interface SideBySideProps {
  /** The shown offers, highest first. */
  offers: readonly Offer[];
  /** The two offers that are compared by default. */
  best: OfferAssessment['compared'] | undefined;
  typed: TypedTerms;
}

/**
 * Compares any two of the offers that the reader sees; the choice is kept in the address. Renders nothing unless there
 * are two.
 */
export function SideBySide({ offers, best, typed }: SideBySideProps): ReactNode {
  const { deal } = useDeal();
  const search = offersRoute.useSearch();
  const navigate = offersRoute.useNavigate();
  const [highest, next] = offers;
  const alone = next === undefined && highest && isRevised(highest) ? highest : undefined;
  const before = useInfiniteQuery({
    ...revisionsQuery(deal.id, alone?.buyer_user_id ?? ''),
    enabled: alone !== undefined,
  });
  const earlier = itemsOf(before.data).find(({ id }) => id !== alone?.id);
  const [top, other] = alone ? [alone.id, earlier?.id] : [best?.first ?? highest?.id, best?.second ?? next?.id];
  const first = search.first ?? (search.second === top ? other : top);
  const second = search.second ?? (first === top ? other : top);
  const isChosen = first !== undefined && second !== undefined;
  const query = useQuery({ ...againstQuery(deal.id, first ?? '', second ?? '', typed), enabled: isChosen });
  const choices = useChoices(offers, query.data, alone);
  if (!isChosen) return null;
  const against = query.data?.basis;
  const choose = (one: Id, two: Id) =>
    void navigate({
      to: paths.dealOffers,
      params: { dealId: deal.id },
      search: { ...search, first: one, second: two },
      replace: true,
      resetScroll: false,
    });
  return (
    <Card
      id={sideBySide}
      flush
      title="Side by side"
      description={
        <>
          What differs, and by how much the first offer is higher. Amounts that an offer does not state count as zero.
          {against && ` ${worthWords.against} ${against.period} (${formatDates(against)}).`}
        </>
      }
    >
      <div className="grid gap-x-4 gap-y-3 px-4 pb-4 sm:max-w-160 sm:grid-cols-2 sm:px-5">
        <Field label="Offer">
          <Select value={first} onChange={(id) => choose(id, id === second ? first : second)} options={choices} />
        </Field>
        <Field label="Compared with">
          <Select value={second} onChange={(id) => choose(id === first ? second : first, id)} options={choices} />
        </Field>
      </div>
      {isMissing(query.error) ? (
        <p className="border-t border-line px-4 py-3 text-soft sm:px-5">
          One of the two offers does not exist, or you do not have access to it. Choose another.
        </p>
      ) : (
        <Loaded
          query={query}
          skeleton={
            <div className="px-4 pb-4 sm:px-5">
              <SkeletonText lines={6} />
            </div>
          }
        >
          {(two) => <Lines two={two} />}
        </Loaded>
      )}
    </Card>
  );
}
