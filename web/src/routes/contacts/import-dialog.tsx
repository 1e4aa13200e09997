import { Download } from 'lucide-react';
import { useId } from 'react';
import { largestContactFile, mostContactRows, previewImport, useContactActions } from '../../api/contacts.ts';
import type { ContactImport, ContactPreview, Id } from '../../api/shapes.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ImportDialog, leftOutWords, mostRowsShown } from '../../components/import-dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { toast } from '../../components/toast.tsx';
import { save } from '../../lib/download.ts';
import { formatCount, plural } from '../../lib/format.ts';
import { contactTypes } from '../../lib/states.ts';
import { useFilePreview } from '../../lib/use-file-preview.ts';

const columnNames: Record<string, string> = { display_name: 'Name', type: 'Type', email: 'E-mail', phone: 'Phone' };

const isNew = ({ duplicate_of, same_as }: ContactImport['rows'][number]) => duplicate_of === null && same_as === null;

function Rows({ rows, title }: Pick<ContactImport, 'rows'> & { title: string }) {
  const headingId = useId();
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby={headingId}>
      <h3 id={headingId} className="mb-2 font-medium">
        {title}
      </h3>
      <div className="overflow-hidden rounded-lg border border-line">
        <table className="w-full text-left">
          <thead className="text-sm text-faint">
            <tr>
              <th scope="col" className="px-3.5 py-2 font-medium whitespace-nowrap">
                Row
              </th>
              <th scope="col" className="px-3.5 py-2 font-medium">
                Name
              </th>
              <th scope="col" className="px-3.5 py-2 font-medium">
                E-mail
              </th>
              <th scope="col" className="px-3.5 py-2 font-medium max-sm:hidden">
                Phone
              </th>
              <th scope="col" className="px-3.5 py-2 font-medium">
                <span className="sr-only">Result</span>
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line border-t border-line">
            {rows.slice(0, mostRowsShown).map((line) => (
              <tr key={line.row}>
                <td className="px-3.5 py-2 text-faint tabular">{line.row}</td>
                <td className="px-3.5 py-2">
                  {line.contact.display_name}
                  {line.contact.type === 'company' && <span className="text-faint"> · {contactTypes.company}</span>}
                </td>
                <td className="px-3.5 py-2 break-all text-soft">{line.contact.email}</td>
                <td className="px-3.5 py-2 whitespace-nowrap text-soft tabular max-sm:hidden">{line.contact.phone}</td>
                <td className="px-3.5 py-2 text-right">
                  {line.duplicate_of !== null && (
                    <Badge tone="warn">{line.duplicate_archived ? 'Archived' : 'Already in contacts'}</Badge>
                  )}
                  {line.duplicate_of === null && line.same_as !== null && (
                    <Badge tone="warn">
                      {line.contact.email === null ? 'Same' : 'Same address'} as row {line.same_as}
                    </Badge>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > mostRowsShown && (
        <p className="mt-2 text-sm text-faint">And {plural(rows.length - mostRowsShown, 'more row')} further down.</p>
      )}
    </section>
  );
}

function Summary({ rows, faults }: Pick<ContactPreview, 'rows' | 'faults'>) {
  const fresh = rows.filter(isNew).length;
  const known = rows.length - fresh;
  const archived = rows.filter(({ duplicate_archived }) => duplicate_archived).length;
  const faulty = new Set(faults.map(({ row }) => row)).size;
  if (fresh === 0)
    return (
      <Notice title="Nothing new in this file">
        Your brokerage already has every contact in it{archived > 0 && `, ${formatCount(archived)} of them archived`}.
      </Notice>
    );
  return (
    <Notice tone={faulty > 0 ? 'warn' : 'good'} title={`${plural(fresh, 'contact')} can be imported`}>
      {faulty > 0 && `${plural(faulty, 'row')} with errors will be left out. `}
      {known > 0 &&
        `${plural(known, 'row')} will be left out: your brokerage already has the contact${archived > 0 ? ` (${formatCount(archived)} archived)` : ''}, or an earlier row is the same.`}
      {known === 0 && faulty === 0 && 'None of them are in your contacts yet.'}
    </Notice>
  );
}

/** Imports contacts from a CSV file. */
export function ImportContactsDialog({ brokerageId, onClose }: { brokerageId: Id; onClose: () => void }) {
  const { importFile } = useContactActions(brokerageId);
  const look = useFilePreview<ContactPreview, ContactImport>({
    skipsFaults: true,
    count: ({ rows }) => rows.filter(isNew).length,
    store: (file) => importFile.mutateAsync(file),
    onStored: ({ imported, row_count }) => {
      onClose();
      const left = row_count - imported;
      toast(`${plural(imported, 'contact')} imported${left > 0 ? `, ${plural(left, 'row')} left out` : ''}`);
    },
  });
  const { rows = [], faults = [], rows_left_out: others = null, heading_row: heading = 1 } = look.preview ?? {};
  const leftOut = leftOutWords(look.preview?.left_out ?? []);
  return (
    <ImportDialog
      title="Import contacts"
      description="A CSV file whose first line names the columns: name, or first and last name, and if you have them type, email and phone."
      look={look}
      action="Import"
      done="imported"
      noun="contact"
      accept=".csv,text/csv"
      hint={`CSV in UTF-8, at most ${formatCount(mostContactRows)} rows and ${largestContactFile}`}
      onChoose={(file) => void look.choose(file, previewImport(brokerageId, file))}
      columnName={(column) => columnNames[column] ?? column}
      summary={<Summary rows={rows} faults={faults} />}
      onClose={onClose}
    >
      {others !== null && (
        <Button
          size="sm"
          className="self-start"
          icon={<Download className="size-4" aria-hidden />}
          onClick={() => save(new File([others], 'contacts-left-out.csv', { type: 'text/csv' }))}
        >
          Download the rows left out
        </Button>
      )}
      {heading > 1 && (
        <p className="text-soft">Row {formatCount(heading)} names the columns. What is above it is ignored.</p>
      )}
      {leftOut && <p className="text-soft">{leftOut}</p>}
      <Rows title="Rows left out" rows={rows.filter((line) => !isNew(line))} />
      <Rows title="New contacts" rows={rows.filter(isNew)} />
    </ImportDialog>
  );
}
