import type { ReactNode } from 'react';
import { useIsNew } from '../../../api/visits.ts';
import type { Offer } from '../../../api/shapes.ts';
import { NewBadge } from '../../../components/new-badge.tsx';
import { Time } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { useBreakpoint } from '../../../lib/use-media.ts';
import { useDeal } from '../context.ts';
import { AgainstAsking, conditionFacts, FactLabel, partFacts, Price, termsOf } from './facts.tsx';
import { OfferButtons, OfferCard } from './card.tsx';
import { highestPrice } from './payload.ts';
import { StructureBar } from './structure-bar.tsx';

interface ComparisonProps {
  /** Each buyer's current offer, the highest first. */
  offers: readonly Offer[];
  onHistory: (offer: Offer) => void;
  onAccept: (offer: Offer) => void;
}

const sheet = 'rounded-xl border border-line bg-surface shadow-1';

/** The offers that count, the highest first: side by side, or below each other where there is no room for that. */
export function Comparison(props: ComparisonProps) {
  const phone = useBreakpoint() === null;
  const { offers, onHistory, onAccept } = props;
  const alone = offers.length === 1;
  if (!phone && !alone) return <SideBySide {...props} />;
  const highest = highestPrice(offers);
  return (
    <ul className="flex flex-col gap-4">
      {offers.map((offer) => (
        <li key={offer.id} className={sheet}>
          <OfferCard
            offer={offer}
            highest={highest}
            onHistory={() => onHistory(offer)}
            onAccept={() => onAccept(offer)}
          />
        </li>
      ))}
    </ul>
  );
}

const first =
  'sticky left-0 z-10 w-48 border-r border-line bg-surface px-5 text-left align-top text-sm font-normal text-faint';

/** One thing that can differ, and what each offer says of it, in their order. */
function Line({ label, cells, words }: { label: ReactNode; cells: readonly ReactNode[]; words?: boolean }) {
  return (
    <tr className="border-b border-line last:border-0">
      <th scope="row" className={cx(first, 'py-2.5')}>
        {label}
      </th>
      {cells.map((cell, place) => (
        <td key={place} className={cx('px-5 py-2.5 align-top tabular', words ? 'text-left' : 'text-right')}>
          {cell ?? <span className="text-faint">–</span>}
        </td>
      ))}
    </tr>
  );
}

/** A column for each buyer, a row for each thing that can differ. */
function SideBySide({ offers, onHistory, onAccept }: ComparisonProps) {
  const { deal, capacities } = useDeal();
  const isNew = useIsNew(deal.id, 'offers');
  const highest = highestPrice(offers);
  return (
    <section
      aria-label="Offers side by side"
      // What scrolls must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className={cx('overflow-x-auto', sheet)}
    >
      <table className="w-full table-fixed border-collapse" style={{ minWidth: `${12 + 15 * offers.length}rem` }}>
        <thead>
          <tr className="border-b border-line">
            <th scope="col" className={cx(first, 'py-4')}>
              Buyer
            </th>
            {offers.map((offer) => (
              <th key={offer.id} scope="col" className="px-5 py-4 text-right align-top">
                <span className="block truncate text-md font-semibold text-ink">{offer.buyer_name}</span>
                <span className="block text-sm font-normal text-faint">
                  {isNew(offer.submitted_at, offer.mine) && <NewBadge className="mr-2" />}
                  Submitted <Time at={offer.submitted_at} />
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Line
            label="Price"
            cells={offers.map((offer) => (
              <Price key={offer.id} offer={offer} highest={highest} />
            ))}
          />
          <Line
            label="Against asking price"
            cells={offers.map((offer) => (
              <AgainstAsking key={offer.id} offer={offer} />
            ))}
          />
          <Line
            label="Structure"
            cells={offers.map(({ id, payload }) => (
              <StructureBar key={id} payload={payload} className="my-1.5" />
            ))}
          />
          {[...partFacts, ...conditionFacts].map((fact) => (
            <Line key={fact.key} label={<FactLabel fact={fact} />} cells={offers.map(fact.says)} />
          ))}
          <Line words label="Terms" cells={offers.map(termsOf)} />
          <Line
            label={capacities.can_accept_offer ? 'Decision' : 'History'}
            cells={offers.map((offer) => (
              <OfferButtons
                key={offer.id}
                revisions={offer.revision_number}
                onHistory={() => onHistory(offer)}
                onAccept={() => onAccept(offer)}
              />
            ))}
          />
        </tbody>
      </table>
    </section>
  );
}
