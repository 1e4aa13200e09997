import { useIsNew } from '../../../api/visits.ts';
import type { Offer } from '../../../api/shapes.ts';
import { NewBadge } from '../../../components/new-badge.tsx';
import { ComparisonTable } from '../../../components/offers/comparison-table.tsx';
import { highestPrice, isCompared } from '../../../components/offers/payload.ts';
import { Decision, Price, Standing } from '../../../components/offers/terms.tsx';
import { Time } from '../../../components/time.tsx';
import { useBreakpoint } from '../../../lib/use-media.ts';
import { useDeal } from '../context.ts';
import { AgainstAsking } from './facts.tsx';
import { hasLost, OfferButtons, OfferCard } from './card.tsx';

interface ComparisonProps {
  /** Sorted by price, highest first. */
  offers: readonly Offer[];
  onHistory: (offer: Offer) => void;
  onAccept: (offer: Offer) => void;
}

/** The shown offers, highest first: side by side, or below each other on phones. */
export function Comparison(props: ComparisonProps) {
  const phone = useBreakpoint() === null;
  const { offers, onHistory, onAccept } = props;
  const alone = offers.length === 1;
  if (!phone && !alone) return <SideBySide {...props} />;
  const highest = highestPrice(offers);
  return (
    <ul className="flex flex-col gap-4">
      {offers.map((offer) => (
        <li key={offer.id} className="rounded-xl border border-line bg-surface shadow-1">
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

/** A table with a column for each buyer and a row for each term. */
function SideBySide({ offers, onHistory, onAccept }: ComparisonProps) {
  const { deal, capacities } = useDeal();
  const isNew = useIsNew(deal.id, 'offers');
  const highest = highestPrice(offers);
  return (
    <ComparisonTable
      offers={offers.map((offer) => ({
        id: offer.id,
        name: offer.buyer_name,
        note: (
          <>
            {isNew(offer.submitted_at, offer.mine) && <NewBadge className="mr-2" />}
            Submitted <Time at={offer.submitted_at} />
          </>
        ),
        payload: offer.payload,
      }))}
      above={[
        {
          key: 'price',
          label: 'Price',
          cells: offers.map((offer) => (
            <Price key={offer.id} payload={offer.payload} highest={isCompared(offer) ? highest : null}>
              <Decision offer={offer} lost={hasLost(offer, deal)} />
            </Price>
          )),
        },
        {
          key: 'asking',
          label: 'Against asking price',
          cells: offers.map((offer) => <AgainstAsking key={offer.id} offer={offer} />),
        },
      ]}
      standing={{
        key: 'standing',
        label: 'Valid until',
        cells: offers.map((offer) => <Standing key={offer.id} offer={offer} warns={capacities.can_accept_offer} />),
      }}
      below={[
        {
          key: 'decision',
          label: capacities.can_decline_offer ? 'Decision' : 'History',
          cells: offers.map((offer) => (
            <OfferButtons
              key={offer.id}
              offer={offer}
              onHistory={() => onHistory(offer)}
              onAccept={() => onAccept(offer)}
            />
          )),
        },
      ]}
    />
  );
}
