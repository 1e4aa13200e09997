import { useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { previewImport, useContactActions } from '../../api/contacts.ts';
import type { ContactImport, Id } from '../../api/types.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CancelButton, Dialog } from '../../components/dialog.tsx';
import { FileDrop } from '../../components/file-drop.tsx';
import { Notice } from '../../components/notice.tsx';
import { SkeletonText } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { formatCount, plural } from '../../lib/format.ts';
import { contactTypes } from '../../lib/states.ts';
import { useUnsaved } from '../../lib/use-unsaved.ts';

interface ImportDialogProps {
  brokerageId: Id;
  onClose: () => void;
}

interface Look {
  file: File;
  /** What is in it; null until it is known, or when it cannot be read. */
  preview: ContactImport | null;
  fault: string | null;
}

/** How many rows are listed; the rest is told as a number. */
const listed = 50;

const columnNames: Record<string, string> = { display_name: 'Name', type: 'Type', email: 'E-mail', phone: 'Phone' };

const isNew = ({ duplicate_of, same_as }: ContactImport['rows'][number]) => duplicate_of === null && same_as === null;

function Faults({ faults }: Pick<ContactImport, 'faults'>) {
  return (
    <section aria-labelledby="import-faults">
      <h3 id="import-faults" className="mb-2 font-medium">
        Fix these
      </h3>
      <ul className="divide-y divide-line rounded-lg border border-line">
        {faults.slice(0, listed).map(({ row, column, message }) => (
          <li key={`${row} ${column}`} className="flex flex-wrap gap-x-3 px-3.5 py-2">
            <span className="w-20 shrink-0 text-faint tabular">Row {formatCount(row)}</span>
            {column !== null && <span className="w-16 shrink-0 font-medium">{columnNames[column] ?? column}</span>}
            <span className="min-w-0 flex-1 basis-40 text-bad">{message}</span>
          </li>
        ))}
      </ul>
      {faults.length > listed && (
        <p className="mt-2 text-sm text-faint">And {plural(faults.length - listed, 'more fault')} further down.</p>
      )}
    </section>
  );
}

function Rows({ rows }: Pick<ContactImport, 'rows'>) {
  return (
    <section aria-labelledby="import-rows">
      <h3 id="import-rows" className="mb-2 font-medium">
        What is in the file
      </h3>
      <div className="overflow-hidden rounded-lg border border-line">
        <table className="w-full text-left">
          <thead className="text-sm text-faint">
            <tr>
              <th className="px-3.5 py-2 font-medium">Row</th>
              <th className="px-3.5 py-2 font-medium">Name</th>
              <th className="px-3.5 py-2 font-medium">E-mail</th>
              <th className="px-3.5 py-2 font-medium max-sm:hidden">Phone</th>
              <th className="px-3.5 py-2 font-medium">
                <span className="sr-only">Result</span>
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line border-t border-line">
            {rows.slice(0, listed).map((line) => (
              <tr key={line.row}>
                <td className="px-3.5 py-2 text-faint tabular">{line.row}</td>
                <td className="px-3.5 py-2">
                  {line.contact.display_name}
                  {line.contact.type === 'company' && <span className="text-faint"> · {contactTypes.company}</span>}
                </td>
                <td className="px-3.5 py-2 break-all text-soft">{line.contact.email}</td>
                <td className="px-3.5 py-2 whitespace-nowrap text-soft tabular max-sm:hidden">{line.contact.phone}</td>
                <td className="px-3.5 py-2 text-right">
                  {line.duplicate_of !== null && <Badge tone="warn">Already in contacts</Badge>}
                  {line.duplicate_of === null && line.same_as !== null && (
                    <Badge tone="warn">Same as row {line.same_as}</Badge>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > listed && (
        <p className="mt-2 text-sm text-faint">And {plural(rows.length - listed, 'more row')} further down.</p>
      )}
    </section>
  );
}

function Summary({ preview }: { preview: ContactImport }) {
  const fresh = preview.rows.filter(isNew).length;
  const known = preview.rows.length - fresh;
  if (preview.faults.length > 0)
    return (
      <Notice tone="warn" title="Nothing can be imported yet">
        {plural(new Set(preview.faults.map(({ row }) => row)).size, 'row')} of {formatCount(preview.row_count)} cannot
        be read. Mend the file and choose it again.
      </Notice>
    );
  if (fresh === 0)
    return (
      <Notice title="Nothing new in this file">
        Every address in it belongs to a contact that your brokerage has already.
      </Notice>
    );
  return (
    <Notice tone="good" title={`${plural(fresh, 'contact')} can be imported`}>
      {known > 0
        ? `${plural(known, 'row')} with an address that is known already will be left out.`
        : 'None of the addresses is known yet.'}
    </Notice>
  );
}

/** Brings contacts in from a CSV file: choose it, look at what is in it, import. */
export function ImportDialog({ brokerageId, onClose }: ImportDialogProps) {
  const [look, setLook] = useState<Look | null>(null);
  const { importFile } = useContactActions(brokerageId);
  const preview = look?.preview ?? null;
  const fresh = preview?.rows.filter(isNew).length ?? 0;
  const ready = preview !== null && preview.faults.length === 0 && fresh > 0;
  // A file that cannot be taken is no loss.
  const reading = look !== null && preview === null && look.fault === null;
  const { around, done } = useUnsaved({
    dirty: ready || reading,
    pending: importFile.isPending,
    discard: () => setLook(null),
  });

  const choose = async (file: File) => {
    setLook({ file, preview: null, fault: null });
    const answer = await previewImport(brokerageId, file).then(
      (found) => ({ preview: found, fault: null }),
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        return { preview: null, fault: error.message };
      },
    );
    // Another file may have been chosen meanwhile.
    setLook((now) => (now?.file === file ? { file, ...answer } : now));
  };
  const bringIn = async (file: File) => {
    try {
      const { imported } = await importFile.mutateAsync(file);
      done();
      onClose();
      toast(`${plural(imported, 'contact')} imported`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setLook({ file, preview, fault: error.message });
    }
  };
  return (
    <Dialog
      size="lg"
      onClose={onClose}
      title="Import contacts"
      description="A CSV file whose first line names the columns: name, and if you have them type, email and phone."
      footer={
        <>
          <CancelButton />
          <Button
            kind="primary"
            disabled={!ready}
            pending={importFile.isPending}
            onClick={() => look && void bringIn(look.file)}
          >
            {ready ? `Import ${plural(fresh, 'contact')}` : 'Import'}
          </Button>
        </>
      }
    >
      <div ref={around} className="flex flex-col gap-4">
        <FileDrop
          accept=".csv,text/csv"
          hint={look ? look.file.name : 'CSV in UTF-8, at most 5,000 rows and 2 MB'}
          onFiles={([file]) => file && void choose(file)}
        />
        <div aria-live="polite" className="flex flex-col gap-4">
          {look?.fault && <Notice tone="bad">{look.fault}</Notice>}
          {look && !preview && !look.fault && <SkeletonText lines={4} />}
          {preview && <Summary preview={preview} />}
        </div>
        {preview && preview.faults.length > 0 && <Faults faults={preview.faults} />}
        {preview && preview.rows.length > 0 && <Rows rows={preview.rows} />}
      </div>
    </Dialog>
  );
}
