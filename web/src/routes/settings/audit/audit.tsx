import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Download, ScrollText, SearchX } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useBrokerage } from '../../../api/me.ts';
import { auditExport, auditQuery, membersQuery, type AuditFilter } from '../../../api/settings.ts';
import type { AuditRecord, Day, Id } from '../../../api/types.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Fact, Facts } from '../../../components/card.tsx';
import { DataTable, type Column } from '../../../components/data-table.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { EmptyState, SkeletonRows } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { DateField } from '../../../components/value-fields.tsx';
import { cx } from '../../../lib/cx.ts';
import { formatExactly } from '../../../lib/format.ts';
import { actionWords, detailName, detailWords, outcomeWords } from '../../../lib/audit-words.ts';
import { auditSubjects, optionsOf } from '../../../lib/states.ts';
import { SettingsPage } from '../settings-page.tsx';

const wentWell = ({ outcome }: AuditRecord) => outcome === 'done' || outcome === 'ok';
const whoOf = ({ user_name, key_name, user_id }: AuditRecord) =>
  user_name ?? (key_name === null ? (user_id === null ? 'The service' : 'Someone else') : `Key ${key_name}`);

function Outcome({ record }: { record: AuditRecord }) {
  if (wentWell(record)) return <span className="text-soft">Done</span>;
  return <Badge tone="bad">{outcomeWords(record.outcome)}</Badge>;
}

function Who({ record }: { record: AuditRecord }) {
  return (
    <>
      <span className="block truncate">{whoOf(record)}</span>
      {record.client_name !== null && (
        <span className="block truncate text-sm text-faint">through {record.client_name}</span>
      )}
    </>
  );
}

/** In words, marked where it came to nothing; the name that the exported file has for it shows when pointed at. */
function What({ record }: { record: AuditRecord }) {
  return (
    <span className="block min-w-0">
      <span className="flex items-center gap-2">
        <span title={record.action} className="truncate font-medium text-ink">
          {actionWords(record)}
        </span>
        {!wentWell(record) && <Outcome record={record} />}
      </span>
      {record.deal_title !== null && <span className="block truncate text-sm text-faint">{record.deal_title}</span>}
    </span>
  );
}

const columns: Column<AuditRecord>[] = [
  {
    id: 'action',
    header: 'What',
    width: 'minmax(11rem, 2fr)',
    cell: (record) => <What record={record} />,
  },
  { id: 'who', header: 'Who', width: 'minmax(8rem, 1fr)', cell: (record) => <Who record={record} /> },
  { id: 'at', header: 'When', width: '8rem', align: 'end', cell: ({ at }) => <Time at={at} className="text-soft" /> },
];

const renderCard = (record: AuditRecord) => (
  <>
    <What record={record} />
    <span className="mt-1 flex items-center justify-between gap-3 text-sm text-soft">
      <span className="min-w-0 truncate">{whoOf(record)}</span>
      <Time at={record.at} />
    </span>
  </>
);

function RecordDrawer({ record, onClose }: { record: AuditRecord; onClose: () => void }) {
  const details = Object.entries(record.details);
  return (
    <Drawer onClose={onClose} title={actionWords(record)}>
      <Facts>
        <Fact label="When" wide>
          {formatExactly(record.at)}
        </Fact>
        <Fact label="Who">{whoOf(record)}</Fact>
        <Fact label="Outcome">
          <Outcome record={record} />
        </Fact>
        {record.client_name !== null && <Fact label="Through">{record.client_name}</Fact>}
        {record.key_name !== null && <Fact label="API key">{record.key_name}</Fact>}
        {record.deal_title !== null && (
          <Fact label="Deal" wide>
            {record.deal_title}
          </Fact>
        )}
        <Fact label="Action" wide>
          <code>{record.action}</code>
        </Fact>
        {record.address !== null && <Fact label="From address">{record.address}</Fact>}
        {record.subject_id !== null && (
          <Fact label="Subject" wide>
            <code className="text-sm break-all">{record.subject_id}</code>
          </Fact>
        )}
        {record.request_id !== null && (
          <Fact label="Request" wide>
            <code className="text-sm break-all">{record.request_id}</code>
          </Fact>
        )}
        {details.map(([name, value]) => (
          <Fact key={name} label={detailName(name)}>
            {detailWords(name, value)}
          </Fact>
        ))}
      </Facts>
    </Drawer>
  );
}

interface Chosen {
  person: Id | 'anybody';
  subject: keyof typeof auditSubjects;
  outcome: 'any' | 'done' | 'refused';
  first: Day | '';
  last: Day | '';
}

const everything: Chosen = { person: 'anybody', subject: 'any', outcome: 'any', first: '', last: '' };
const outcomes = { any: 'Any', done: 'Done', refused: 'Refused' };

/** The filter as the server takes it: days are whole days in the viewer's zone. */
function filterOf(chosen: Chosen, brokerageId: Id | null): AuditFilter {
  const startOf = (day: Day, plus: number) => {
    const date = new Date(`${day}T00:00:00`);
    date.setDate(date.getDate() + plus);
    return date.toISOString();
  };
  return {
    ...(brokerageId !== null && { brokerage_id: brokerageId }),
    ...(chosen.person !== 'anybody' && { user_id: chosen.person }),
    ...(chosen.subject !== 'any' && { action: chosen.subject }),
    ...(chosen.outcome !== 'any' && { outcome: chosen.outcome }),
    ...(chosen.first !== '' && { from: startOf(chosen.first, 0) }),
    ...(chosen.last !== '' && { to: startOf(chosen.last, 1) }),
  };
}

interface FiltersProps {
  chosen: Chosen;
  change: (part: Partial<Chosen>) => void;
  brokerageId: Id | null;
}

function Filters({ chosen, change, brokerageId }: FiltersProps) {
  const members = useQuery({ ...membersQuery(brokerageId ?? ''), enabled: brokerageId !== null }).data?.items ?? [];
  return (
    <div
      className={cx(
        'grid grid-cols-2 gap-x-2.5 gap-y-3 p-3',
        brokerageId === null
          ? '@2xl:grid-cols-[1fr_1fr_8.75rem_8.75rem]'
          : '@2xl:grid-cols-[1fr_1fr_0.8fr_8.75rem_8.75rem]',
      )}
    >
      {brokerageId !== null && (
        <Field label="Person">
          <Select
            value={chosen.person}
            onChange={(person) => change({ person })}
            options={[
              { value: 'anybody', label: 'Anyone' },
              ...members.map(({ user_id, name }) => ({ value: user_id, label: name })),
            ]}
          />
        </Field>
      )}
      <Field label="About">
        <Select value={chosen.subject} onChange={(subject) => change({ subject })} options={optionsOf(auditSubjects)} />
      </Field>
      <Field label="Outcome" className={brokerageId === null ? '' : '@max-2xl:col-span-2'}>
        <Select value={chosen.outcome} onChange={(outcome) => change({ outcome })} options={optionsOf(outcomes)} />
      </Field>
      <Field label="From">
        <DateField
          value={chosen.first}
          {...(chosen.last !== '' && { max: chosen.last })}
          onChange={(first) => change({ first })}
        />
      </Field>
      <Field label="To">
        <DateField
          value={chosen.last}
          {...(chosen.first !== '' && { min: chosen.first })}
          onChange={(last) => change({ last })}
        />
      </Field>
    </div>
  );
}

function Trail({ brokerageId }: { brokerageId: Id | null }) {
  const [chosen, setChosen] = useState(everything);
  const [shown, setShown] = useState<AuditRecord | null>(null);
  const filter = useMemo(() => filterOf(chosen, brokerageId), [chosen, brokerageId]);
  const query = useInfiniteQuery({ ...auditQuery(filter), placeholderData: keepPreviousData });
  return (
    <SettingsPage
      title="Audit trail"
      description={
        brokerageId === null
          ? 'What was done in your name: by you, and by the clients that you connected.'
          : 'Who did what in your brokerage, through which client or key, and how it ended.'
      }
      actions={
        <Button icon={<Download className="size-4" />} onClick={() => window.location.assign(auditExport(filter))}>
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
        </div>
        <PagedList
          query={query}
          skeleton={<SkeletonRows rows={10} />}
          empty={
            chosen === everything ? (
              <EmptyState icon={ScrollText} title="Nothing yet">
                Every change, sign-in and tool call leaves a record here.
              </EmptyState>
            ) : (
              <EmptyState
                icon={SearchX}
                title="No matching records"
                action={<Button onClick={() => setChosen(everything)}>Clear filters</Button>}
              >
                Try another person, subject or span of days.
              </EmptyState>
            )
          }
        >
          {(rows) => (
            <DataTable
              label="Audit trail"
              rows={rows}
              rowKey={({ id }) => id}
              columns={columns}
              onOpen={setShown}
              renderCard={renderCard}
              more={query.hasNextPage}
              rowHeight={3.75}
            />
          )}
        </PagedList>
      </div>
      {shown && <RecordDrawer record={shown} onClose={() => setShown(null)} />}
    </SettingsPage>
  );
}

/** The settings page “Audit trail”: admins read the brokerage's, everybody else their own. */
export default function AuditSettings() {
  const brokerage = useBrokerage();
  const id = brokerage?.role === 'admin' ? brokerage.brokerage_id : null;
  return <Trail key={id ?? 'own'} brokerageId={id} />;
}
