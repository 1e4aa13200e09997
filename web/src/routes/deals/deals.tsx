import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, type LinkOptions } from '@tanstack/react-router';
import { Handshake, ListFilter, MessageCircleQuestion, Plus, SearchX } from 'lucide-react';
import { useCallback } from 'react';
import { dealsQuery } from '../../api/deals.ts';
import { useBrokerage } from '../../api/me.ts';
import type { CallerRole, DealRow, DealSort } from '../../api/types.ts';
import { Badge, StatePill } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { FilterMenu } from './filter-menu.tsx';
import { Select } from '../../components/input.tsx';
import { Money } from '../../components/money.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { EmptyState, SkeletonRows } from '../../components/states.tsx';
import { Countdown, Time } from '../../components/time.tsx';
import { readDealsSearch, type DealsSearch } from './search.ts';
import { formatCount, plural } from '../../lib/format.ts';
import { callerRoles, dealStates, optionsOf } from '../../lib/states.ts';
import { NewDealDialog } from './deal-form.tsx';

const route = getRouteApi('/app/deals');

type SearchChange = { [K in keyof DealsSearch]?: DealsSearch[K] | undefined };

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

const columns: Column<DealRow>[] = [
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
  { id: 'state', header: 'State', sort: 'state', width: 'minmax(8rem, 1fr)', cell: (deal) => <State deal={deal} /> },
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

function DealCard({ deal }: { deal: DealRow }) {
  return (
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
            {plural(deal.questions_waiting, 'question')} waiting
          </span>
        )}
      </span>
    </>
  );
}

const linkTo = (deal: DealRow): LinkOptions => ({ to: '/deals/$dealId', params: { dealId: deal.id } });
const renderCard = (deal: DealRow) => <DealCard deal={deal} />;

/** The search and filters. */
function Filters({ search, change }: { search: DealsSearch; change: (part: SearchChange) => void }) {
  return (
    <FilterBar label="Search deals" search={search.search ?? ''} onSearch={(text) => change({ search: text })}>
      <FilterMenu
        label="State"
        icon={<ListFilter className="size-4" />}
        options={optionsOf(dealStates)}
        chosen={search.state ?? []}
        onChange={(state) => change({ state })}
      />
      <div className="flex-[0_1_11rem] max-sm:flex-1">
        <Select<CallerRole | 'any'>
          aria-label="Your role"
          value={search.role ?? 'any'}
          onChange={(role) => change(role === 'any' ? { role: undefined } : { role })}
          options={[{ value: 'any', label: 'Any role' }, ...optionsOf(callerRoles)]}
        />
      </div>
    </FilterBar>
  );
}

/** Every deal that the person sees: searched, filtered, sorted, however many there are. */
export default function DealsPage() {
  const { new: creating, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const brokerage = useBrokerage();
  const query = useInfiniteQuery({ ...dealsQuery(filter), placeholderData: keepPreviousData });
  const change = useCallback(
    (part: SearchChange) => {
      const search = (before: DealsSearch) => readDealsSearch({ ...before, ...part });
      void navigate({ to: '/deals', search, replace: true, resetScroll: false });
    },
    [navigate],
  );
  const filtered = Boolean(filter.search ?? filter.state ?? filter.role);
  const mayOpen = brokerage?.role === 'admin' || brokerage?.role === 'broker';
  const openNew = (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => change({ new: true })}>
      New deal
    </Button>
  );
  return (
    <>
      <PageHeader title="Deals" actions={mayOpen && openNew} />
      <div className="rounded-xl border border-line bg-surface shadow-1">
        <Filters search={filter} change={change} />
        <PagedList
          query={query}
          skeleton={<SkeletonRows rows={10} />}
          empty={
            filtered ? (
              <EmptyState
                icon={SearchX}
                title="No matching deals"
                action={
                  <Button onClick={() => change({ search: undefined, state: undefined, role: undefined })}>
                    Clear search and filters
                  </Button>
                }
              >
                Try fewer words, or another state or role.
              </EmptyState>
            ) : (
              <EmptyState icon={Handshake} title="No deals yet" action={mayOpen && openNew}>
                {mayOpen
                  ? 'Open one for a business you are about to sell. It starts as a draft that only you and those you invite see.'
                  : 'Deals appear here once someone invites you to one and you accept.'}
              </EmptyState>
            )
          }
        >
          {(rows) => (
            <DataTable
              label="Deals"
              rows={rows}
              rowKey={(deal) => deal.id}
              columns={columns}
              link={linkTo}
              renderCard={renderCard}
              sort={filter.sort ?? '-updated_at'}
              onSort={(sort) => change({ sort: sort as DealSort })}
              more={query.hasNextPage}
              rowHeight={3.75}
            />
          )}
        </PagedList>
      </div>
      {creating && brokerage && (
        <NewDealDialog brokerageId={brokerage.brokerage_id} onClose={() => change({ new: undefined })} />
      )}
    </>
  );
}
