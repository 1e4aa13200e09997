import type { ReactNode } from 'react';
import type { Offer, OfferPayload } from '../../../api/shapes.ts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { revisionsQuery } from '../../../api/offers.ts';
import { Badge } from '../../../components/badge.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { Money } from '../../../components/money.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { SkeletonText } from '../../../components/states.tsx';
import { DayText, Time } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { isDecimal, sum } from '../../../lib/decimal.ts';
import { paths } from '../../../paths.ts';
import { useDeal } from '../context.ts';
import { sideBySide } from './side-by-side.tsx';
import { otherTerms, parts } from '../../../components/offers/payload.ts';
import { Decision } from '../../../components/offers/terms.tsx';

interface Line {
  label: string;
  /** Compared between revisions to find changes. */
  value: unknown;
  shown: ReactNode;
}

/** The terms of a payload, one line each; terms without a value are left out. */
export function linesOf(payload: OfferPayload): Line[] {
  const money = (label: string, amount: string | null | undefined): Line => ({
    label,
    // 1250000.00 equals 1250000, but an amount in another currency differs.
    value: amount == null ? null : `${isDecimal(amount) ? sum([amount]) : amount} ${payload.currency}`,
    shown: <Money amount={amount} currency={payload.currency} />,
  });
  const lines = [
    money('Price', payload.purchase_price),
    ...parts.map(({ key, label }) => money(label, payload[key])),
    {
      label: 'Financing contingency',
      value: payload.financing_contingency ?? null,
      shown: payload.financing_contingency ? 'Yes' : payload.financing_contingency === false ? 'No' : null,
    },
    {
      label: 'Target closing',
      value: payload.target_close_date ?? null,
      shown: payload.target_close_date && <DayText day={payload.target_close_date} />,
    },
    {
      label: 'Valid until',
      value: payload.expires_at ? Date.parse(payload.expires_at) : null,
      shown: payload.expires_at && <Time at={payload.expires_at} as="time" className="whitespace-normal!" />,
    },
    {
      label: 'Terms',
      value: payload.terms ?? null,
      shown: payload.terms && <span className="whitespace-pre-line">{payload.terms}</span>,
    },
    ...otherTerms(payload).map(({ name, text }) => ({ label: name, value: text, shown: text })),
  ];
  return lines.filter(({ value }) => value !== null);
}

/** One revision, with its changes marked. */
function Revision({ offer, before, onClose }: { offer: Offer; before: Offer | undefined; onClose: () => void }) {
  const earlier = new Map(before && linesOf(before.payload).map(({ label, value }) => [label, value]));
  const lines = linesOf(offer.payload);
  const dropped = [...earlier.keys()].filter((label) => !lines.some((line) => line.label === label));
  return (
    <section className="border-t border-line pt-4 pb-6 first:border-0 first:pt-0">
      <h3 className="flex flex-wrap items-center gap-2 font-medium text-ink">
        Revision {offer.revision_number}
        {offer.is_current && <Badge tone="good">Current</Badge>}
        <Decision offer={offer} />
      </h3>
      <p className="text-sm text-faint">
        <Time at={offer.submitted_at} as="time" />
      </p>
      <dl className="mt-3 grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-6 gap-y-1.5">
        {lines.map(({ label, value, shown }) => {
          const changed = before !== undefined && earlier.get(label) !== value;
          return (
            <div key={label} className="contents">
              <dt className="text-sm text-faint">{label}</dt>
              <dd className={cx('min-w-0 break-words', changed && 'font-semibold text-accent-ink')}>
                {shown}
                {changed && <span className="sr-only"> (changed)</span>}
              </dd>
            </div>
          );
        })}
      </dl>
      {dropped.length > 0 && <p className="mt-2 text-sm text-faint">No longer included: {dropped.join(', ')}</p>}
      {before && (
        <p className="mt-2 text-sm">
          <Link
            to={paths.dealOffers}
            params={{ dealId: offer.deal_id }}
            search={{ first: offer.id, second: before.id }}
            hash={sideBySide}
            onClick={onClose}
            className="rounded-sm text-accent-ink underline underline-offset-3 hover:text-ink coarse:py-3.5"
          >
            Compare with revision {before.revision_number}
          </Link>
        </p>
      )}
    </section>
  );
}

/** All revisions of one buyer's offer, latest first. */
export function HistoryDrawer({ of, onClose }: { of: Offer; onClose: () => void }) {
  const { deal } = useDeal();
  const query = useInfiniteQuery(revisionsQuery(deal.id, of.buyer_user_id));
  return (
    <Drawer
      onClose={onClose}
      title={of.mine ? 'Your offer' : `Offer from ${of.buyer_name}`}
      description="What changed from one revision to the next is highlighted."
    >
      <PagedList query={query} skeleton={<SkeletonText lines={8} />} empty={null}>
        {(revisions) =>
          revisions.map((offer, place) => (
            <Revision key={offer.id} offer={offer} before={revisions[place + 1]} onClose={onClose} />
          ))
        }
      </PagedList>
    </Drawer>
  );
}
