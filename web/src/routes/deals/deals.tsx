import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Handshake, ListFilter, Plus, SearchX } from 'lucide-react';
import { useCallback } from 'react';
import { dealsQuery } from '../../api/deals.ts';
import { useBrokerageForNewDeals } from '../../api/me.ts';
import type { CallerRole, DealSort } from '../../api/shapes.ts';
import { Button } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { BrokerFilter } from './broker-filter.tsx';
import { FilterMenu } from './filter-menu.tsx';
import { Select } from '../../components/input.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { itemsOf, PagedList } from '../../components/paged-list.tsx';
import { EmptyState, SkeletonRows } from '../../components/states.tsx';
import { readDealsSearch, type DealsSearch } from './search.ts';
import { callerRoles, dealStates, optionsOf } from '../../lib/states.ts';
import { NewDealDialog } from './dialogs.tsx';
import { dealCard, dealColumns, dealLink } from './rows.tsx';

const route = getRouteApi('/app/deals');

type SearchChange = { [K in keyof DealsSearch]?: DealsSearch[K] | undefined };

function Filters({ search, change }: { search: DealsSearch; change: (part: SearchChange) => void }) {
  return (
    <FilterBar label="Search deals" search={search.search ?? ''} onSearch={(text) => change({ search: text })}>
      <FilterMenu
        label="Stage"
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
          options={[{ value: 'any', label: 'All roles' }, ...optionsOf(callerRoles)]}
        />
      </div>
      <BrokerFilter broker={search.broker} onChange={(broker) => change({ broker })} />
    </FilterBar>
  );
}

/** All deals that the person sees, searched, filtered and sorted; more are loaded on scrolling. */
export default function DealsPage() {
  const { new: creating, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const brokerage = useBrokerageForNewDeals();
  const query = useInfiniteQuery({ ...dealsQuery(filter), placeholderData: keepPreviousData });
  const change = useCallback(
    (part: SearchChange) => {
      const search = (before: DealsSearch) => readDealsSearch({ ...before, ...part });
      void navigate({ to: '/deals', search, replace: true, resetScroll: false });
    },
    [navigate],
  );
  const filtered = Boolean(filter.search ?? filter.state ?? filter.role ?? filter.broker);
  const bare = query.isSuccess && itemsOf(query.data).length === 0 && !filtered;
  const openNew = (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => change({ new: true })}>
      New deal
    </Button>
  );
  return (
    <>
      <PageHeader title="Deals" actions={!bare && brokerage && openNew} />
      <div className="rounded-xl border border-line bg-surface shadow-1">
        <Filters search={filter} change={change} />
        <PagedList
          query={query}
          filter={filter}
          skeleton={<SkeletonRows rows={10} />}
          empty={
            filtered ? (
              <EmptyState
                icon={SearchX}
                title="No matching deals"
                action={
                  <Button
                    onClick={() => change({ search: undefined, state: undefined, role: undefined, broker: undefined })}
                  >
                    Clear search and filters
                  </Button>
                }
              >
                Try fewer words, or another stage, role or broker.
              </EmptyState>
            ) : (
              <EmptyState icon={Handshake} title="No deals yet" action={brokerage && openNew}>
                {brokerage
                  ? 'Open one for a business you are about to sell. It starts as a draft, which nobody outside your brokerage sees until you invite them.'
                  : 'Deals appear here once someone invites you to one and you accept. If you advise somebody, that person must have joined, too.'}
              </EmptyState>
            )
          }
        >
          {(rows) => (
            <DataTable
              label="Deals"
              rows={rows}
              rowKey={(deal) => deal.id}
              columns={dealColumns}
              link={dealLink}
              renderCard={dealCard}
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
