/** What each thing that can differ between offers says of one: cells of the comparison, lines of a card. */
import { BadgeCheck, Trophy } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Decimal, Offer } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Money } from '../../../components/money.tsx';
import { DayText, Time } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { compare, negate, sum, toPixels } from '../../../lib/decimal.ts';
import { formatShare } from '../../../lib/format.ts';
import { useNow } from '../../../lib/use-now.ts';
import { useDeal } from '../context.ts';
import { otherTerms, parts, type Part } from './payload.ts';
import { shades } from './structure-bar.tsx';

const none = <span className="text-faint">–</span>;

/** Until when an offer stands, or what became of it; that it is past matters as long as it could be accepted. */
export function Standing({ offer }: { offer: Offer }) {
  const { capacities } = useDeal();
  const now = useNow('half-minute');
  const { accepted_at: accepted, declined_at: declined, is_current: current } = offer;
  const until = offer.payload.expires_at ?? null;
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
  if (until === null) return none;
  const past = new Date(until).getTime() < now;
  if (!current || !past) return <Time at={until} as="date" />;
  return (
    <span className={cx(capacities.can_accept_offer && 'text-bad')}>
      Expired <Time at={until} as="date" />
    </span>
  );
}

/** How far a price is from what is asked; `inWords` says so itself, for where no label does. */
export function AgainstAsking({ offer, inWords = false }: { offer: Offer; inWords?: boolean }) {
  const { deal } = useDeal();
  const { purchase_price: price, currency } = offer.payload;
  if (!price || deal.asking_price === null || currency !== deal.currency) return inWords ? null : none;
  const difference = sum([price, negate(deal.asking_price)]);
  if (compare(difference, '0') === 0) return <>At asking price</>;
  return (
    <span className={compare(difference, '0') > 0 ? 'text-good' : 'text-soft'}>
      <Money amount={difference} currency={currency} signed /> (
      {formatShare(String(toPixels(difference) / toPixels(deal.asking_price)), { signed: true })})
      {inWords && <span className="text-faint"> against the asking price</span>}
    </span>
  );
}

/** What became of an offer, in a word; nothing while nobody has decided. */
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

/** The price of an offer, large; whether it is the highest, and whether it was accepted. */
export function Price({ offer, highest }: { offer: Offer; highest: Decimal | null }) {
  const { purchase_price: price, currency } = offer.payload;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2.5 gap-y-1 sm:flex-row-reverse">
      <Money amount={price} currency={currency} className="text-lg font-semibold" />
      {highest !== null && compare(price ?? '0', highest) === 0 && (
        <Badge tone="accent" icon={<Trophy className="size-3" aria-hidden />}>
          Highest
        </Badge>
      )}
      <Decision offer={offer} />
    </span>
  );
}

/** What an offer says in words, and what it says beyond the fields we know; null when that is nothing. */
export function termsOf({ payload }: Offer): ReactNode {
  const others = otherTerms(payload);
  if (!payload.terms && others.length === 0) return null;
  return (
    <div className="flex max-w-prose flex-col gap-2 text-sm whitespace-pre-line text-soft">
      {payload.terms && <p>{payload.terms}</p>}
      {others.map(({ name, text }) => (
        <p key={name}>
          <span className="font-medium text-ink">{name}: </span>
          {text}
        </p>
      ))}
    </div>
  );
}

interface OfferFact {
  key: string;
  /** The colour that stands for it in the structure bar. */
  shade?: string | undefined;
  label: string;
  says: (offer: Offer) => ReactNode;
}

const partFact = ({ key, label }: { key: Part; label: string }, place: number): OfferFact => ({
  key,
  shade: shades[place],
  label,
  says: ({ payload }) => <Money amount={payload[key]} currency={payload.currency} />,
});

/** What a price consists of, part by part. */
export const partFacts: readonly OfferFact[] = parts.map(partFact);

/** The conditions of an offer, but for its terms in words. */
export const conditionFacts: readonly OfferFact[] = [
  {
    key: 'contingency',
    label: 'Financing contingency',
    says: ({ payload }) =>
      payload.financing_contingency === null || payload.financing_contingency === undefined ? (
        none
      ) : payload.financing_contingency ? (
        <Badge tone="warn">Yes</Badge>
      ) : (
        <Badge tone="good">No</Badge>
      ),
  },
  {
    key: 'closing',
    label: 'Target closing',
    says: ({ payload }) => (payload.target_close_date ? <DayText day={payload.target_close_date} /> : none),
  },
  { key: 'standing', label: 'Valid until', says: (offer) => <Standing offer={offer} /> },
];

/** The name of a part with its colour, or of any other fact. */
export function FactLabel({ fact: { label, shade } }: { fact: OfferFact }) {
  if (!shade) return label;
  return (
    <span className="inline-flex items-center gap-2">
      <span aria-hidden className={cx('size-2 shrink-0 rounded-full', shade)} />
      {label}
    </span>
  );
}
