/** What is shown of an offer beyond its terms: until when it stands, what became of it, how it compares with what is asked. */
import { BadgeCheck } from 'lucide-react';
import type { Offer } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Money } from '../../../components/money.tsx';
import { none, ValidUntil } from '../../../components/offers/terms.tsx';
import { Time } from '../../../components/time.tsx';
import { compare, negate, shareOf, sum } from '../../../lib/decimal.ts';
import { formatShare } from '../../../lib/format.ts';
import { useDeal } from '../context.ts';

/** Until when an offer stands, or what became of it; that it is past matters as long as it could be accepted. */
export function Standing({ offer }: { offer: Offer }) {
  const { capacities } = useDeal();
  const { accepted_at: accepted, declined_at: declined, is_current: current } = offer;
  if (accepted !== null) {
    return (
      <>
        Accepted <Time at={accepted} as="date" />
      </>
    );
  }
  if (declined !== null) {
    return (
      <>
        Declined <Time at={declined} as="date" />
      </>
    );
  }
  return <ValidUntil until={offer.payload.expires_at} current={current} warns={capacities.can_accept_offer} />;
}

/** How far a price is from what is asked; `inWords` says so itself, for where no label does. */
export function AgainstAsking({ offer, inWords = false }: { offer: Offer; inWords?: boolean }) {
  const { deal } = useDeal();
  const { purchase_price: price, currency } = offer.payload;
  if (!price || deal.asking_price === null || currency !== deal.currency) return inWords ? null : none;
  const difference = sum([price, negate(deal.asking_price)]);
  const share = shareOf(difference, deal.asking_price);
  if (compare(difference, '0') === 0) return <>At asking price</>;
  return (
    <span className={compare(difference, '0') > 0 ? 'text-good' : 'text-soft'}>
      <Money amount={difference} currency={currency} signed />
      {share !== null && ` (${formatShare(share, { signed: true })})`}
      {inWords && <span className="text-faint"> against the asking price</span>}
    </span>
  );
}

/** The decision on an offer; nothing until there is one. */
export function Decision({ offer: { accepted_at, declined_at, proposed } }: { offer: Offer }) {
  if (proposed) return <Badge tone="warn">Proposed change</Badge>;
  if (declined_at !== null) return <Badge tone="bad">Declined</Badge>;
  if (accepted_at === null) return null;
  return (
    <Badge tone="rare" icon={<BadgeCheck className="size-3" aria-hidden />}>
      Accepted
    </Badge>
  );
}
