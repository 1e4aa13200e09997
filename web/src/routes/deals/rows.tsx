/** A deal in the list: a table row, or a card on a phone. */
import type { LinkOptions } from '@tanstack/react-router';
import { MessageCircleQuestion } from 'lucide-react';
import type { DealRow } from '../../api/shapes.ts';
import { Badge, StatePill } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Money } from '../../components/money.tsx';
import { Countdown, Time } from '../../components/time.tsx';
import { formatCount } from '../../lib/format.ts';
import { callerRoles, dealStates } from '../../lib/states.ts';

const placeOf = (deal: DealRow) => [deal.industry, deal.location].filter(Boolean).join(' · ');

function State({ deal }: { deal: DealRow }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
      <StatePill look={dealStates[deal.state]} />
      {deal.state === 'exclusivity' && deal.exclusivity_expires_at && (
        <Countdown until={deal.exclusivity_expires_at} className="text-sm" />
      )}
    </span>
  );
}

function WaitingQuestions({ count }: { count: number }) {
  if (count === 0) return <span className="text-faint">–</span>;
  return (
    <span className="tabular">
      {formatCount(count)}
      <span className="sr-only"> waiting for you</span>
    </span>
  );
}

/** The columns of the list of deals. */
export const dealColumns: Column<DealRow>[] = [
  {
    id: 'title',
    header: 'Deal',
    sort: 'title',
    width: 'minmax(15rem, 4fr)',
    cell: (deal) => (
      <>
        <span title={deal.title} className="block truncate font-medium text-ink">
          {deal.title}
        </span>
        <span className="block truncate text-sm text-faint">{placeOf(deal)}</span>
      </>
    ),
  },
  { id: 'state', header: 'Stage', sort: 'state', width: 'minmax(8rem, 1fr)', cell: (deal) => <State deal={deal} /> },
  {
    id: 'role',
    header: 'Your role',
    width: '8.5rem',
    from: 'xl',
    cell: (deal) => <Badge tone={callerRoles[deal.caller_role].tone}>{callerRoles[deal.caller_role].label}</Badge>,
  },
  {
    id: 'price',
    header: 'Asking price',
    sort: 'asking_price',
    width: '8.5rem',
    align: 'end',
    from: 'md',
    cell: (deal) => <Money amount={deal.asking_price} currency={deal.currency} />,
  },
  {
    id: 'questions',
    header: 'Questions',
    width: '5.75rem',
    align: 'end',
    from: 'xl',
    cell: (deal) => <WaitingQuestions count={deal.questions_waiting} />,
  },
  {
    id: 'updated',
    header: 'Last activity',
    sort: 'updated_at',
    width: '7.75rem',
    align: 'end',
    from: 'sm',
    cell: (deal) => <Time at={deal.updated_at} className="text-soft" />,
  },
];

/** The card of a deal, shown on phones. */
export const dealCard = (deal: DealRow) => (
  <>
    <span className="flex items-start justify-between gap-3">
      <span className="min-w-0">
        <span className="block truncate font-medium">{deal.title}</span>
        <span className="block truncate text-sm text-faint">{placeOf(deal)}</span>
      </span>
      <Money amount={deal.asking_price} currency={deal.currency} short className="pt-px font-medium" />
    </span>
    <span className="mt-2 flex items-center justify-between gap-3">
      <State deal={deal} />
      {deal.questions_waiting > 0 && (
        <span className="inline-flex items-center gap-1 text-sm text-soft">
          <MessageCircleQuestion className="size-4" aria-hidden />
          {formatCount(deal.questions_waiting)} waiting for you
        </span>
      )}
    </span>
  </>
);

/** The target of a row's link. */
export const dealLink = (deal: DealRow): LinkOptions => ({ to: '/deals/$dealId', params: { dealId: deal.id } });
