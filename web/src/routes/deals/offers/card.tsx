import { History } from 'lucide-react';
import { useIsNew } from '../../../api/visits.ts';
import type { Decimal, Offer } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { NewBadge } from '../../../components/new-badge.tsx';
import { Time } from '../../../components/time.tsx';
import { plural } from '../../../lib/format.ts';
import { useDeal } from '../context.ts';
import { AgainstAsking, conditionFacts, FactLabel, partFacts, Price, termsOf } from './facts.tsx';
import { StructureBar } from './structure-bar.tsx';

interface OfferButtonsProps {
  revisions: number;
  onHistory: () => void;
  onAccept: () => void;
}

/** What can be done with an offer where it is shown. */
export function OfferButtons({ revisions, onHistory, onAccept }: OfferButtonsProps) {
  const { capacities } = useDeal();
  return (
    <div className="inline-flex flex-wrap items-center gap-2">
      {capacities.can_accept_offer && (
        <Button size="sm" kind="primary" onClick={onAccept}>
          Accept
        </Button>
      )}
      <Button size="sm" icon={<History className="size-3.5" />} onClick={onHistory}>
        {plural(revisions, 'revision')}
      </Button>
    </div>
  );
}

interface OfferCardProps extends Omit<OfferButtonsProps, 'revisions'> {
  offer: Offer;
  highest: Decimal | null;
}

/** One buyer's offer by itself: on phones, and where there is nothing to compare it with. */
export function OfferCard({ offer, highest, onHistory, onAccept }: OfferCardProps) {
  const terms = termsOf(offer);
  const isNew = useIsNew(offer.deal_id, 'offers')(offer.submitted_at, offer.mine);
  return (
    <article aria-label={offer.mine ? 'Your offer' : `Offer of ${offer.buyer_name}`} className="px-4 py-4 sm:px-5">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <div className="min-w-0">
          <h3 className="truncate text-md font-semibold text-ink">{offer.mine ? 'Your offer' : offer.buyer_name}</h3>
          <p className="text-sm text-faint">
            Submitted <Time at={offer.submitted_at} />
            {isNew && <NewBadge className="ml-2" />}
          </p>
        </div>
        <div className="sm:text-right">
          <Price offer={offer} highest={highest} />
          <p className="mt-0.5 text-sm">
            <AgainstAsking inWords offer={offer} />
          </p>
        </div>
      </header>
      <StructureBar payload={offer.payload} className="my-4" />
      <div className="grid gap-x-10 sm:grid-cols-2">
        {[partFacts, conditionFacts].map((facts) => (
          <dl key={facts[0]?.key} className="flex flex-col">
            {facts.map((fact) => (
              <div
                key={fact.key}
                className="flex items-baseline justify-between gap-4 border-b border-line py-2 last:border-0 max-sm:last:border-b"
              >
                <dt className="text-sm text-faint">
                  <FactLabel fact={fact} />
                </dt>
                <dd className="text-right tabular">{fact.says(offer)}</dd>
              </div>
            ))}
          </dl>
        ))}
      </div>
      {terms && (
        <div className="mt-3 sm:border-t sm:border-line sm:pt-4">
          <h4 className="mb-1 text-sm text-faint">Terms</h4>
          {terms}
        </div>
      )}
      <div className="mt-4">
        <OfferButtons revisions={offer.revision_number} onHistory={onHistory} onAccept={onAccept} />
      </div>
    </article>
  );
}
