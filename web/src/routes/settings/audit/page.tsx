import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { Download, ScrollText, SearchX } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useBrokerage } from '../../../api/me.ts';
import { auditExport, auditQuery } from '../../../api/settings.ts';
import type { AuditRecord, Id } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { EmptyState, SkeletonRows } from '../../../components/states.tsx';
import { download } from '../../../lib/download.ts';
import { paths } from '../../../paths.ts';
import { SettingsPage } from '../settings-page.tsx';
import { recordCard, recordColumns, RecordDrawer } from './record.tsx';
import { everything, filterOf, Filters, type Chosen } from './filters.tsx';

const route = getRouteApi('/app/settings/audit');

interface TrailProps {
  brokerageId: Id | null;
  /** The deal whose records alone are listed. */
  dealId: Id | null;
}

function Trail({ brokerageId, dealId }: TrailProps) {
  const navigate = useNavigate();
  const showDeal = (deal?: Id) => void navigate({ to: paths.audit, search: deal === undefined ? {} : { deal } });
  const [chosen, setChosen] = useState<Chosen>(everything);
  const [shown, setShown] = useState<AuditRecord | null>(null);
  const filter = useMemo(() => filterOf(chosen, brokerageId, dealId), [chosen, brokerageId, dealId]);
  const query = useInfiniteQuery({ ...auditQuery(filter), placeholderData: keepPreviousData });
  const clear = () => {
    setChosen(everything);
    showDeal();
  };
  const ofDeal = query.data?.pages[0]?.items.find(({ deal_id }) => deal_id === dealId)?.deal_title ?? 'one deal';
  return (
    <SettingsPage
      title="Audit trail"
      description={
        brokerageId === null
          ? 'What was done in your name: by you, and by the clients that you connected.'
          : 'Who did what in your brokerage, through which client or key, and how it ended.'
      }
      actions={
        <Button icon={<Download className="size-4" />} onClick={() => download(auditExport(filter))}>
          Export
        </Button>
      }
    >
      <div className="rounded-xl border border-line bg-surface shadow-1">
        <div className="@container border-b border-line">
          <Filters
            chosen={chosen}
            change={(part) => setChosen((before) => ({ ...before, ...part }))}
            brokerageId={brokerageId}
          />
          {dealId !== null && (
            <p className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-t border-line px-3 py-2 text-soft">
              <span className="min-w-0 break-words">Only records of {ofDeal}</span>
              <Button size="sm" onClick={() => showDeal()}>
                Show all deals
              </Button>
            </p>
          )}
        </div>
        <PagedList
          query={query}
          filter={filter}
          skeleton={<SkeletonRows rows={10} />}
          empty={
            chosen === everything && dealId === null ? (
              <EmptyState icon={ScrollText} title="Nothing yet">
                Every change, sign-in and tool call leaves a record here.
              </EmptyState>
            ) : (
              <EmptyState
                icon={SearchX}
                title="No matching records"
                action={<Button onClick={clear}>Clear filters</Button>}
              >
                Try another person, subject or date range.
              </EmptyState>
            )
          }
        >
          {(rows) => (
            <DataTable
              label="Audit trail"
              rows={rows}
              rowKey={({ id }) => id}
              columns={recordColumns}
              onOpen={setShown}
              renderCard={recordCard}
              more={query.hasNextPage}
              rowHeight={3.75}
            />
          )}
        </PagedList>
      </div>
      {shown && (
        <RecordDrawer
          record={shown}
          onClose={() => setShown(null)}
          onDeal={(deal) => {
            setChosen(everything);
            showDeal(deal);
            setShown(null);
          }}
          onPerson={
            brokerageId === null
              ? null
              : (person, name) => {
                  setChosen({ ...everything, person, name });
                  showDeal();
                  setShown(null);
                }
          }
        />
      )}
    </SettingsPage>
  );
}

/** The settings page “Audit trail”: admins read the brokerage's trail, everybody else their own. */
export default function AuditSettings() {
  const brokerage = useBrokerage();
  const id = brokerage?.role === 'admin' ? brokerage.brokerage_id : null;
  return <Trail key={id ?? 'own'} brokerageId={id} dealId={route.useSearch().deal ?? null} />;
}
