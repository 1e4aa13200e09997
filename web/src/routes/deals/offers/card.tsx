import { History } from 'lucide-react';
import { useId } from 'react';
import { useOfferActions } from '../../../api/offers.ts';
import { useIsNew } from '../../../api/visits.ts';
import type { Deal, Decimal, Offer } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { NewBadge } from '../../../components/new-badge.tsx';
import { isCompared } from '../../../components/offers/payload.ts';
import { OfferSheet } from '../../../components/offers/sheet.tsx';
import { Decision, Price, Standing } from '../../../components/offers/terms.tsx';
import { Time } from '../../../components/time.tsx';
import { plural } from '../../../lib/format.ts';
import { useIsOver } from '../../../lib/use-is-over.ts';
import { useDeal } from '../context.ts';
import { declining } from './agreed-terms.tsx';
import { AgainstAsking } from './facts.tsx';

interface OfferButtonsProps {
  offer: Offer;
  onHistory: () => void;
  onAccept: () => void;
}

/** The actions on an offer. */
export function OfferButtons({ offer, onHistory, onAccept }: OfferButtonsProps) {
  const { deal, capacities } = useDeal();
  const { decide } = useOfferActions(offer.deal_id);
  const confirm = useConfirm();
  const why = useId();
  const over = useIsOver(offer.payload.expires_at);
  const whose = offer.mine ? 'your offer' : `the offer from ${offer.buyer_name}`;
  const acceptable = capacities.can_accept_offer && !offer.buyer_left;
  // What the exclusive buyer submits is decided above, beside the accepted terms.
  const declinable =
    capacities.can_decline_offer &&
    offer.is_current &&
    !offer.buyer_left &&
    offer.accepted_at === null &&
    offer.declined_at === null &&
    offer.buyer_user_id !== deal.exclusive_buyer_user_id;
  return (
    <div className="inline-flex flex-wrap items-center gap-2">
      {acceptable && (
        <Button size="sm" kind="primary" disabled={over} aria-describedby={over ? why : undefined} onClick={onAccept}>
          Accept<span className="sr-only"> {whose}</span>
        </Button>
      )}
      {declinable && (
        <Button
          size="sm"
          onClick={() => confirm(declining, () => decide.mutateAsync({ id: offer.id, decision: 'declined' }))}
        >
          Decline<span className="sr-only"> {whose}</span>
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

/** Whether the deal was closed with another buyer. */
export const hasLost = (offer: Offer, deal: Deal): boolean =>
  deal.state === 'closed' && offer.buyer_user_id !== deal.exclusive_buyer_user_id;

interface OfferCardProps extends OfferButtonsProps {
  highest: Decimal | null;
}

/** One buyer's offer as a card: on phones, and when there is no other offer to compare it with. */
export function OfferCard({ offer, highest, onHistory, onAccept }: OfferCardProps) {
  const { deal, capacities } = useDeal();
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
          <Decision offer={offer} lost={hasLost(offer, deal)} />
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
