/** A record of the audit trail: as a table row, as a card on a phone, and in full. */
import type { AuditRecord, Id } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Badge } from '../../../components/badge.tsx';
import { Fact, Facts } from '../../../components/card.tsx';
import type { Column } from '../../../components/data-table.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { Time } from '../../../components/time.tsx';
import { formatExactly } from '../../../lib/format.ts';
import { detailName, detailWords, outcomeWords } from '../../../lib/audit-words.ts';

const wentWell = ({ outcome }: AuditRecord) => ['done', 'ok', 'repeated'].includes(outcome);
/** The client through which somebody acted; null where it was none. */
const throughOf = ({ client_id, client_name }: AuditRecord) =>
  client_id === null ? null : (client_name ?? 'a connected client');
const whoOf = ({ user_name, key_name, user_id }: AuditRecord) =>
  user_name ?? (key_name === null ? (user_id === null ? 'The service' : 'Someone else') : `Key ${key_name}`);

function Outcome({ record }: { record: AuditRecord }) {
  const words = outcomeWords(record.outcome);
  return wentWell(record) ? <span className="text-soft">{words}</span> : <Badge tone="bad">{words}</Badge>;
}

function Who({ record }: { record: AuditRecord }) {
  const through = throughOf(record);
  return (
    <>
      <span className="block truncate">{whoOf(record)}</span>
      {through !== null && <span className="block truncate text-sm text-faint">through {through}</span>}
    </>
  );
}

/**
 * The action in words, with its tool or deal, marked unless it succeeded; its name in the exported file is the tooltip.
 */
function What({ record }: { record: AuditRecord }) {
  const about = record.tool_title ?? record.deal_title;
  return (
    <span className="block min-w-0">
      <span className="flex items-center gap-2">
        <span title={record.action} className="truncate font-medium text-ink">
          {record.title}
        </span>
        {!wentWell(record) && <Outcome record={record} />}
      </span>
      {about !== null && <span className="block truncate text-sm text-faint">{about}</span>}
    </span>
  );
}

/** The columns of the list of records. */
export const recordColumns: Column<AuditRecord>[] = [
  {
    id: 'action',
    header: 'What',
    width: 'minmax(11rem, 2fr)',
    cell: (record) => <What record={record} />,
  },
  { id: 'who', header: 'Who', width: 'minmax(8rem, 1fr)', cell: (record) => <Who record={record} /> },
  { id: 'at', header: 'When', width: '8rem', align: 'end', cell: ({ at }) => <Time at={at} className="text-soft" /> },
];

/** The card of a record, shown on phones. */
export const recordCard = (record: AuditRecord) => (
  <>
    <What record={record} />
    <span className="mt-1 flex items-center justify-between gap-3 text-sm text-soft">
      <span className="min-w-0 truncate">{whoOf(record)}</span>
      <Time at={record.at} />
    </span>
  </>
);

interface RecordDrawerProps {
  record: AuditRecord;
  onClose: () => void;
  /** Shows the records of this record's person alone; null where they are all of one person. */
  onPerson: ((person: Id, name: string) => void) | null;
  /** Shows the records of this record's deal alone. */
  onDeal: (deal: Id) => void;
}

/** All details of a record. */
export function RecordDrawer({ record, onClose, onPerson, onDeal }: RecordDrawerProps) {
  const { user_id: person, deal_id: deal } = record;
  const ofPerson = onPerson && person !== null && (
    <Button onClick={() => onPerson(person, whoOf(record))}>Show this person’s records</Button>
  );
  const ofDeal = deal !== null && <Button onClick={() => onDeal(deal)}>Show this deal’s records</Button>;
  // The title already tells whether terms had been accepted before, whether somebody left by themselves, and what was withdrawn.
  const through = throughOf(record);
  const details = Object.entries(record.details).filter(([name]) => !['first', 'left', 'withdrawn'].includes(name));
  return (
    <Drawer
      onClose={onClose}
      title={record.title}
      {...((ofPerson || ofDeal) && {
        footer: (
          <>
            {ofDeal}
            {ofPerson}
          </>
        ),
      })}
    >
      <Facts>
        <Fact label="When" wide>
          {formatExactly(record.at)}
        </Fact>
        <Fact label="Who">{whoOf(record)}</Fact>
        <Fact label="Outcome">
          <Outcome record={record} />
        </Fact>
        {through !== null && <Fact label="Through">{through}</Fact>}
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
        {record.user_id !== null && (
          <Fact label="Id of the person" wide>
            <code className="text-sm break-all">{record.user_id}</code>
          </Fact>
        )}
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
            {detailWords(name, value, record.tool_title)}
          </Fact>
        ))}
      </Facts>
    </Drawer>
  );
}
