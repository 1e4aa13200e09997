import { BadgeCheck, History, Trophy } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Offer } from '../../../api/types.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Money } from '../../../components/money.tsx';
import { Time, DayText } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { compare, negate, sum } from '../../../lib/decimal.ts';
import { plural } from '../../../lib/format.ts';
import { useNow } from '../../../lib/use-now.ts';
import { useDeal } from '../context.ts';
import { highestPrice, otherTerms, parts, type Part } from './payload.ts';
import { StructureBar } from './structure-bar.tsx';

interface ComparisonProps {
  offers: readonly { current: Offer; revisions: readonly Offer[] }[];
  onHistory: (offer: Offer) => void;
  onAccept: (offer: Offer) => void;
}

const none = <span className="text-faint">–</span>;

/** Until when an offer stands; that it is over matters as long as it can be accepted. */
export function ValidUntil({ at }: { at: string | null }) {
  const { deal } = useDeal();
  const now = useNow('half-minute');
  if (at === null) return none;
  const over = new Date(at).getTime() < now;
  return (
    <span className={cx(over && (deal.state === 'listed' || deal.state === 'under_offer') && 'text-bad')}>
      <Time at={at} as="date" />
      {over && ' (over)'}
    </span>
  );
}

/** How far a price is from what is asked. */
function AgainstAsking({ offer }: { offer: Offer }) {
  const { deal } = useDeal();
  const { purchase_price: price, currency } = offer.payload;
  if (price === null || deal.asking_price === null || currency !== deal.currency) return none;
  const difference = sum([price, negate(deal.asking_price)]);
  if (compare(difference, '0') === 0) return <>as asked</>;
  return (
    <Money
      amount={difference}
      currency={currency}
      signed
      className={compare(difference, '0') > 0 ? 'text-good' : 'text-soft'}
    />
  );
}

/** The rows of a comparison: what each says of an offer. */
const partRow = ({ key, label }: { key: Part; label: string }) => ({
  label,
  cell: ({ payload }: Offer): ReactNode => <Money amount={payload[key] ?? null} currency={payload.currency} />,
});

const rows: { label: string; cell: (offer: Offer) => ReactNode }[] = [
  { label: 'Against asking price', cell: (offer) => <AgainstAsking offer={offer} /> },
  { label: 'Structure', cell: ({ payload }) => <StructureBar payload={payload} className="my-1.5" /> },
  ...parts.map(partRow),
  {
    label: 'Financing contingency',
    cell: ({ payload }) =>
      payload.financing_contingency === null || payload.financing_contingency === undefined ? (
        none
      ) : payload.financing_contingency ? (
        <Badge tone="warn">Yes</Badge>
      ) : (
        <Badge tone="good">No</Badge>
      ),
  },
  {
    label: 'Target closing',
    cell: ({ payload }) => (payload.target_close_date ? <DayText day={payload.target_close_date} /> : none),
  },
  { label: 'Stands until', cell: ({ payload }) => <ValidUntil at={payload.expires_at ?? null} /> },
  {
    label: 'Terms',
    cell: ({ payload }) =>
      payload.terms || otherTerms(payload).length > 0 ? (
        <div className="flex max-w-72 flex-col gap-2 text-sm whitespace-pre-line text-soft">
          {payload.terms && <p>{payload.terms}</p>}
          {otherTerms(payload).map(({ name, text }) => (
            <p key={name}>
              <span className="font-medium text-ink">{name}: </span>
              {text}
            </p>
          ))}
        </div>
      ) : (
        none
      ),
  },
];

/** The offers that count, side by side: a column for each buyer, a row for each thing that can differ. */
export function Comparison({ offers, onHistory, onAccept }: ComparisonProps) {
  const { capacities } = useDeal();
  const highest = highestPrice(offers.map(({ current }) => current));
  const label =
    'sticky left-0 z-10 w-36 min-w-36 bg-surface px-4 text-left align-top text-sm font-normal text-faint sm:w-48 sm:min-w-48 sm:px-5';
  const cell = 'min-w-48 border-l border-line px-4 text-left align-top';
  const high = 'py-4';
  const low = 'py-2.5';
  return (
    <div className="overflow-x-auto rounded-xl border border-line bg-surface shadow-1">
      <table className="w-full border-collapse">
        <caption className="sr-only">Offers side by side</caption>
        <thead>
          <tr className="border-b border-line">
            <th scope="col" className={cx(label, high)}>
              Buyer
            </th>
            {offers.map(({ current }) => (
              <th key={current.id} scope="col" className={cx(cell, high)}>
                <span className="block truncate font-medium text-ink">{current.buyer_name}</span>
                <span className="block text-sm font-normal text-faint">
                  Submitted <Time at={current.submitted_at} />
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr className="border-b border-line">
            <th scope="row" className={cx(label, low)}>
              Price
            </th>
            {offers.map(({ current }) => (
              <td key={current.id} className={cx(cell, low)}>
                <span className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
                  <Money
                    amount={current.payload.purchase_price}
                    currency={current.payload.currency}
                    className="text-lg font-semibold"
                  />
                  {highest !== null && compare(current.payload.purchase_price ?? '0', highest) === 0 && (
                    <Badge tone="accent" icon={<Trophy className="size-3" aria-hidden />}>
                      Highest
                    </Badge>
                  )}
                  {current.accepted_at && (
                    <Badge tone="rare" icon={<BadgeCheck className="size-3" aria-hidden />}>
                      Accepted
                    </Badge>
                  )}
                </span>
              </td>
            ))}
          </tr>
          {rows.map((row) => (
            <tr key={row.label} className="border-b border-line">
              <th scope="row" className={cx(label, low)}>
                {row.label}
              </th>
              {offers.map(({ current }) => (
                <td key={current.id} className={cx(cell, low)}>
                  {row.cell(current)}
                </td>
              ))}
            </tr>
          ))}
          <tr>
            <th scope="row" className={cx(label, low)}>
              {capacities.can_accept_offer ? 'Decision' : 'History'}
            </th>
            {offers.map(({ current, revisions }) => (
              <td key={current.id} className={cx(cell, low)}>
                <div className="flex flex-wrap items-center gap-2">
                  {capacities.can_accept_offer && (
                    <Button size="sm" kind="primary" onClick={() => onAccept(current)}>
                      Accept
                    </Button>
                  )}
                  <Button size="sm" icon={<History className="size-3.5" />} onClick={() => onHistory(current)}>
                    {plural(revisions.length, 'revision')}
                  </Button>
                </div>
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}
