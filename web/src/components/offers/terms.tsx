/** What each thing that can differ between offers says of one: cells of a comparison, lines of a card. */
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

/** Stands where an offer says nothing. */
export const none = <span className="text-faint">–</span>;

export interface Term {
  key: string;
  /** The colour that stands for it in the structure bar. */
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

/** What a price consists of, part by part. */
export const partTerms: readonly Term[] = parts.map(partTerm);

/** On what the offer depends, and by when it would close. */
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

/** The name of a part with its colour, or of any other term. */
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
  /** The highest among those that it is compared with. */
  highest: Decimal | null;
  /** What became of the offer. */
  children?: ReactNode;
}

/** The price of an offer, large, and whether it is the highest. */
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

/** The decision on an offer; nothing until there is one. */
export function Decision({ offer }: { offer: DecidedOffer }) {
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
  return accepted_at === null ? null : <Badge>{acceptedWords.earlier}</Badge>;
}

interface StandingProps {
  offer: DecidedOffer;
  /** Whether the reader could accept it, so that it matters to them that the time is past. */
  warns?: boolean;
}

/** Until when an offer stands, or what became of it. */
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
      Expired <Time at={until} as="date" />
    </span>
  );
}

/** What an offer says in words, and what it says beyond the fields we know; null when that is nothing. */
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
