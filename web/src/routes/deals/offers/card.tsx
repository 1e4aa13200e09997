import { History } from 'lucide-react';
import { useId } from 'react';
import { useIsNew } from '../../../api/visits.ts';
import type { Decimal, Offer } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { NewBadge } from '../../../components/new-badge.tsx';
import { isCompared } from '../../../components/offers/payload.ts';
import { OfferSheet } from '../../../components/offers/sheet.tsx';
import { Decision, Price, Standing } from '../../../components/offers/terms.tsx';
import { Time } from '../../../components/time.tsx';
import { plural } from '../../../lib/format.ts';
import { useIsOver } from '../../../lib/use-is-over.ts';
import { useDeal } from '../context.ts';
import { AgainstAsking } from './facts.tsx';

interface OfferButtonsProps {
  offer: Offer;
  onHistory: () => void;
  onAccept: () => void;
}

/** The actions on an offer. */
export function OfferButtons({ offer, onHistory, onAccept }: OfferButtonsProps) {
  const { capacities } = useDeal();
  const why = useId();
  const over = useIsOver(offer.payload.expires_at);
  const whose = offer.mine ? 'your offer' : `the offer from ${offer.buyer_name}`;
  const acceptable = capacities.can_accept_offer && !offer.buyer_left;
  return (
    <div className="inline-flex flex-wrap items-center gap-2">
      {acceptable && (
        <Button size="sm" kind="primary" disabled={over} aria-describedby={over ? why : undefined} onClick={onAccept}>
          Accept<span className="sr-only"> {whose}</span>
        </Button>
      )}
      <Button size="sm" icon={<History className="size-3.5" />} onClick={onHistory}>
        {offer.is_current ? plural(offer.revision_number, 'revision') : 'All revisions'}
        <span className="sr-only"> of {whose}</span>
      </Button>
      {acceptable && over && (
        <span id={why} className="text-sm text-faint">
          Ask the buyer to submit it again.
        </span>
      )}
    </div>
  );
}

interface OfferCardProps extends OfferButtonsProps {
  highest: Decimal | null;
}

/** One buyer's offer as a card: on phones, and when there is no other offer to compare it with. */
export function OfferCard({ offer, highest, onHistory, onAccept }: OfferCardProps) {
  const { capacities } = useDeal();
  const isNew = useIsNew(offer.deal_id, 'offers')(offer.submitted_at, offer.mine);
  return (
    <OfferSheet
      label={offer.mine ? 'Your offer' : `Offer from ${offer.buyer_name}`}
      name={offer.mine ? 'Your offer' : offer.buyer_name}
      note={
        <>
          Submitted <Time at={offer.submitted_at} />
          {isNew && <NewBadge className="ml-2" />}
        </>
      }
      price={
        <Price payload={offer.payload} highest={isCompared(offer) ? highest : null}>
          <Decision offer={offer} />
        </Price>
      }
      belowPrice={<AgainstAsking inWords offer={offer} />}
      payload={offer.payload}
      standing={<Standing offer={offer} warns={capacities.can_accept_offer} />}
    >
      <OfferButtons offer={offer} onHistory={onHistory} onAccept={onAccept} />
    </OfferSheet>
  );
}
