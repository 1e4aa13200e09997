/**
 * The figures of the offers against the books: multiples, certainty of the proceeds, and the part of the price paid for
 * each add-back.
 */
import type { ReactNode } from 'react';
import type { Offer, OfferAssessment, OfferValuation } from '../../../api/shapes.ts';
import { Card } from '../../../components/card.tsx';
import { Select } from '../../../components/input.tsx';
import { Money } from '../../../components/money.tsx';
import { parts, termWords, worthWords } from '../../../components/offers/payload.ts';
import { none } from '../../../components/offers/terms.tsx';
import { ScrollRegion } from '../../../components/scroll-region.tsx';
import { cx } from '../../../lib/cx.ts';
import { formatDates, formatMultiple, formatShare, plural } from '../../../lib/format.ts';
import { adjustmentCategories } from '../../../lib/states.ts';

/**
 * The name of an offer in these figures: its buyer's name or "Your offer"; a proposed change is marked, as the accepted
 * terms are shown, too.
 */
export const calls = ({ mine, buyer_name: name, proposed }: Offer): string =>
  `${mine ? 'Your offer' : name}${proposed ? ', proposed change' : ''}`;

const cell = 'px-2.5 py-2.5 first:pl-4 last:pr-4 sm:first:pl-5 sm:last:pr-5';

interface FiguresProps {
  label: string;
  head: readonly ReactNode[];
  rows: readonly { key: string; cells: readonly ReactNode[] }[];
}

/** A small table of figures with row headings in the first column; scrolls sideways within itself. */
export function Figures({ label, head, rows }: FiguresProps) {
  return (
    <ScrollRegion label={label} className="border-t border-line">
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="border-b border-line text-faint">
            {head.map((one, place) => (
              // The columns never change their order, so an index is a stable key.
              // oxlint-disable-next-line react/no-array-index-key
              <th
                key={place}
                scope="col"
                className={cx(cell, 'align-bottom font-normal', place === 0 ? 'text-left' : 'min-w-22 text-right')}
              >
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells: [first, ...others] }) => (
            <tr key={key} className="border-b border-line last:border-0">
              <th scope="row" className={cx(cell, 'min-w-36 text-left font-medium text-ink')}>
                {first}
              </th>
              {others.map((one, place) => (
                // oxlint-disable-next-line react/no-array-index-key
                <td key={place} className={cx(cell, 'text-right tabular whitespace-nowrap')}>
                  {one}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** A multiple, or a dash when there is none. */
export const times = (multiple: string | null | undefined): ReactNode => (multiple ? formatMultiple(multiple) : none);

const shareOf = ({ money }: OfferValuation, part: string): ReactNode => {
  const found = money?.parts.find((one) => one.part === part);
  return found ? formatShare(found.share) : none;
};

interface OffersWorthProps {
  assessment: OfferAssessment;
  offers: readonly Offer[];
  /** Whether there are other offers, for which nothing is computed. */
  more: boolean;
  onPeriod: (label: string) => void;
}

/** Each offer as multiples of the business's earnings, and the parts of its price as shares. */
export function OfferValuations({
  assessment: { basis, periods, offers: worth },
  offers,
  more,
  onPeriod,
}: OffersWorthProps) {
  const isUnsaid = worth.some(({ money }) => money?.parts.some(({ part }) => part === 'unsaid'));
  const rows = offers.flatMap((offer) => {
    const found = worth.find(({ offer_id }) => offer_id === offer.id);
    return found ? [{ offer, found }] : [];
  });
  return (
    <Card
      flush
      title={basis ? 'What the offers are worth' : 'Certainty of proceeds'}
      description={
        basis ? (
          <>
            {worthWords.against} {basis.period} ({formatDates(basis)}), {worthWords.computed}{' '}
            <Money amount={basis.adjusted_ebitda} currency={basis.currency} />, SDE{' '}
            <Money amount={basis.sde} currency={basis.currency} />.
          </>
        ) : (
          worthWords.partsOnly
        )
      }
      actions={
        basis &&
        periods.length > 1 && (
          <Select
            aria-label="Compare with"
            value={basis.period}
            onChange={onPeriod}
            options={periods.map((label) => ({ value: label, label }))}
          />
        )
      }
    >
      <Figures
        label="What the offers are worth"
        head={[
          'Offer',
          ...(basis ? ['Adjusted EBITDA', 'Reported EBITDA', 'SDE', 'Revenue'] : []),
          ...parts.map(({ label }) => label),
          ...(isUnsaid ? [termWords.unsaid] : []),
        ]}
        rows={rows.map(({ offer, found }) => ({
          key: offer.id,
          cells: [
            calls(offer),
            ...(basis
              ? [
                  times(found.multiples?.adjusted_ebitda),
                  times(found.multiples?.reported_ebitda),
                  times(found.multiples?.sde),
                  times(found.multiples?.revenue),
                ]
              : []),
            ...parts.map(({ key }) => shareOf(found, key)),
            ...(isUnsaid ? [shareOf(found, 'unsaid')] : []),
          ],
        }))}
      />
      {more && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint sm:px-5">
          Computed for the latest {plural(rows.length, 'offer')}.
        </p>
      )}
      {rows.map(
        ({ offer, found: { money } }) =>
          money?.beyond_price && (
            <p key={offer.id} className="border-t border-line px-4 py-3 text-sm text-soft sm:px-5">
              {calls(offer)}: the parts add up to{' '}
              <Money amount={money.beyond_price} currency={offer.payload.currency} /> more than the price.
            </p>
          ),
      )}
    </Card>
  );
}

/** The part of an offer's price that is paid for each add-back, and the price without it. */
export function AddBackValues({ basis, worth }: { basis: OfferAssessment['basis']; worth: OfferValuation }) {
  const paid = worth.paid_for;
  if (!basis || !paid || paid.add_backs.length === 0) return null;
  const share = (amount: string) => <Money rounded amount={amount} currency={basis.currency} />;
  const named = (id: string) => basis.add_backs.find((one) => one.id === id);
  const largestFirst = basis.add_backs.flatMap(({ id }) => paid.add_backs.find((one) => one.id === id) ?? []);
  return (
    <Card
      flush
      title="What each add-back is worth"
      description={
        <>
          At {times(worth.multiples?.adjusted_ebitda)} adjusted EBITDA. {share(paid.reported_ebitda)} of the price is
          for reported EBITDA.
        </>
      }
    >
      <Figures
        label="What each add-back is worth"
        head={['Add-back', 'Amount', 'Worth', 'Price without it']}
        rows={largestFirst.map(({ id, amount, worth: part, price_without }) => {
          const category = named(id)?.category;
          return {
            key: id,
            cells: [
              <span key="name" className="block max-w-72">
                <span className="block">{category ? adjustmentCategories[category] : 'All smaller add-backs'}</span>
                <span className="line-clamp-2 font-normal text-faint">{named(id)?.rationale}</span>
              </span>,
              <Money key="amount" amount={amount} currency={basis.currency} />,
              share(part),
              share(price_without),
            ],
          };
        })}
      />
    </Card>
  );
}
