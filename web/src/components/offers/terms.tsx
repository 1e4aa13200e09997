/** The terms of an offer as they are rendered in cells of a comparison and lines of a card. */
import { BadgeCheck, Trophy } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Decimal, OfferPayload } from '../../api/shapes.ts';
import { cx } from '../../lib/cx.ts';
import { compare } from '../../lib/decimal.ts';
import { useIsOver } from '../../lib/use-is-over.ts';
import { Badge } from '../badge.tsx';
import { Money } from '../money.tsx';
import { DayText, Time } from '../time.tsx';
import { acceptedWords, otherTerms, parts, type DecidedOffer, type Part } from './payload.ts';
import { shades } from './structure-bar.tsx';

/** Rendered for a term that an offer does not state. */
export const none = <span className="text-faint">–</span>;

export interface Term {
  key: string;
  /** The colour of the term in the structure bar. */
  shade?: string | undefined;
  label: string;
  says: (payload: OfferPayload) => ReactNode;
}

const partTerm = ({ key, label }: { key: Part; label: string }, place: number): Term => ({
  key,
  shade: shades[place],
  label,
  says: (payload) => <Money amount={payload[key]} currency={payload.currency} />,
});

/** The parts of a price. */
export const partTerms: readonly Term[] = parts.map(partTerm);

/** The conditions of an offer and its target closing date. */
export const conditionTerms: readonly Term[] = [
  {
    key: 'contingency',
    label: 'Financing contingency',
    says: ({ financing_contingency: contingency }) => {
      if (contingency === null || contingency === undefined) return none;
      return contingency ? <Badge tone="warn">Yes</Badge> : <Badge tone="good">No</Badge>;
    },
  },
  {
    key: 'closing',
    label: 'Target closing',
    says: ({ target_close_date: day }) => (day ? <DayText day={day} /> : none),
  },
];

/** The label of a term, with its colour if it is a part of the price. */
export function TermLabel({ term: { label, shade } }: { term: Pick<Term, 'label' | 'shade'> }) {
  if (!shade) return label;
  return (
    <span className="inline-flex items-center gap-2">
      <span aria-hidden className={cx('size-2 shrink-0 rounded-full', shade)} />
      {label}
    </span>
  );
}

interface PriceProps {
  payload: OfferPayload;
  /** The highest price among the compared offers. */
  highest: Decimal | null;
  /** The decision on the offer. */
  children?: ReactNode;
}

/** The price of an offer, large, with a badge if it is the highest. */
export function Price({ payload: { purchase_price: price, currency }, highest, children }: PriceProps) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2.5 gap-y-1 sm:flex-row-reverse">
      <Money amount={price} currency={currency} className="text-lg font-semibold" />
      {highest !== null && price && compare(price, highest) === 0 && (
        <Badge tone="accent" icon={<Trophy className="size-3" aria-hidden />}>
          Highest
        </Badge>
      )}
      {children}
    </span>
  );
}

/** A badge for the decision on an offer; empty without one. `lost` says that the deal was closed with another buyer. */
export function Decision({ offer, lost = false }: { offer: DecidedOffer; lost?: boolean }) {
  const { accepted_at, agreed, declined_at, proposed, is_current, buyer_left } = offer;
  const hasLeft = buyer_left && is_current;
  if (proposed && !hasLeft) return <Badge tone="warn">Proposed change</Badge>;
  if (declined_at !== null) return <Badge tone="bad">Declined</Badge>;
  if (agreed) {
    return (
      <Badge tone="rare" icon={<BadgeCheck className="size-3" aria-hidden />}>
        {acceptedWords.now}
      </Badge>
    );
  }
  if (hasLeft) return <Badge>Buyer left the deal</Badge>;
  if (accepted_at !== null) return <Badge>{acceptedWords.earlier}</Badge>;
  return lost && is_current ? <Badge>Not accepted</Badge> : null;
}

interface StandingProps {
  offer: DecidedOffer;
  /** Whether the reader could accept the offer, so that its expiry is a warning. */
  warns?: boolean;
}

/** When an offer expires or expired, or when it was accepted or declined. */
export function Standing({ offer, warns = false }: StandingProps) {
  const { accepted_at: accepted, agreed, declined_at: declined, is_current: current } = offer;
  const until = offer.payload.expires_at;
  const over = useIsOver(until);
  if (agreed && accepted !== null) {
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
  if (!until) return none;
  if (!current || !over) return <Time at={until} as="time" className="whitespace-normal!" />;
  return (
    <span className={cx(warns && 'text-bad')}>
      Expired <Time at={until} as="time" className="whitespace-normal!" />
    </span>
  );
}

/** Renders the terms in words and the unknown fields of an offer; null without any. */
export function wordsOf(payload: OfferPayload): ReactNode {
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
