import { useState } from 'react';
import { ApiError } from '../../../api/client.ts';
import { booksTemplate, previewBooks, useQoeActions } from '../../../api/qoe.ts';
import type { Id, SnapshotPreview, SnapshotType } from '../../../api/types.ts';
import { Button } from '../../../components/button.tsx';
import { CancelButton, Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FileDrop } from '../../../components/file-drop.tsx';
import { Select } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { SkeletonText } from '../../../components/states.tsx';
import { toast } from '../../../components/toast.tsx';
import { formatCount, plural } from '../../../lib/format.ts';
import { optionsOf, snapshotTypes } from '../../../lib/states.ts';
import { useUnsaved } from '../../../lib/use-unsaved.ts';

interface Look {
  file: File;
  /** What is in it; null until it is known, or when it cannot be read. */
  preview: SnapshotPreview | null;
  fault: string | null;
}

/** How many rows and faults are listed; the rest is told as a number. */
const listed = 50;

const named = (column: string): string => {
  const words = column.replaceAll('_', ' ');
  return column === 'ebitda' ? 'EBITDA' : words.charAt(0).toUpperCase() + words.slice(1);
};

function Faults({ faults }: Pick<SnapshotPreview, 'faults'>) {
  return (
    <section aria-labelledby="books-faults">
      <h3 id="books-faults" className="mb-2 font-medium">
        Fix these
      </h3>
      <ul className="divide-y divide-line rounded-lg border border-line">
        {faults.slice(0, listed).map(({ row, column, message }) => (
          <li key={`${row} ${column} ${message}`} className="flex flex-wrap gap-x-3 px-3.5 py-2">
            <span className="w-20 shrink-0 text-faint tabular">Row {formatCount(row)}</span>
            {column !== null && <span className="w-32 shrink-0 font-medium">{named(column)}</span>}
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

function Rows({ rows, row_count }: Pick<SnapshotPreview, 'rows' | 'row_count'>) {
  const columns = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))].filter((column) =>
    rows.some(({ values }) => values[column]),
  );
  return (
    <div>
      <h3 id="books-rows" className="mb-2 font-medium">
        What will be saved
      </h3>
      <div
        className="max-h-80 overflow-auto rounded-lg border border-line"
        role="region"
        aria-labelledby="books-rows"
        // What scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <table className="w-full text-left text-sm whitespace-nowrap">
          <thead className="sticky top-0 bg-sunken text-faint">
            <tr>
              {['row', ...columns].map((column) => (
                <th key={column} scope="col" className="px-3 py-2 font-medium">
                  {named(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {rows.map(({ row, values }) => (
              <tr key={`${row} ${values['customer_name'] ?? ''}`}>
                <td className="px-3 py-1.5 text-faint tabular">{row}</td>
                {columns.map((column) => (
                  <td key={column} className="px-3 py-1.5 tabular">
                    {values[column]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {row_count > rows.length && (
        <p className="mt-2 text-sm text-faint">And {plural(row_count - rows.length, 'more row')}.</p>
      )}
    </div>
  );
}

/** Brings figures in from a CSV file or a workbook: choose it, look at what is in it, store it. */
export function BooksDialog({ dealId, onClose }: { dealId: Id; onClose: () => void }) {
  const [type, setType] = useState<SnapshotType>('profit_and_loss');
  const [look, setLook] = useState<Look | null>(null);
  const { importFile } = useQoeActions(dealId);
  const preview = look?.preview ?? null;
  const ready = preview !== null && preview.faults.length === 0;
  // A file that cannot be taken is no loss.
  const reading = look !== null && preview === null && look.fault === null;
  const { around, done } = useUnsaved({
    dirty: ready || reading,
    pending: importFile.isPending,
    discard: () => setLook(null),
  });

  const choose = async (file: File, as: SnapshotType) => {
    const asked: Look = { file, preview: null, fault: null };
    setLook(asked);
    const answer = await previewBooks(dealId, file, as).then(
      (found) => ({ file, preview: found, fault: null }),
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        return { file, preview: null, fault: error.message };
      },
    );
    // Another file may have been chosen meanwhile.
    setLook((now) => (now === asked ? answer : now));
  };
  const store = async (file: File) => {
    try {
      const { status, failure } = await importFile.mutateAsync({ file, type });
      if (status === 'failed') {
        setLook({ file, preview, fault: failure });
        return;
      }
      done();
      onClose();
      toast('The financials are saved');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setLook({ file, preview, fault: error.message });
    }
  };
  return (
    <Dialog
      size="lg"
      onClose={onClose}
      title="Upload financials"
      description="A CSV file or an XLSX workbook whose first line names the columns."
      footer={
        <>
          <CancelButton />
          <Button
            kind="primary"
            disabled={!ready}
            pending={importFile.isPending}
            onClick={() => look && void store(look.file)}
          >
            {ready ? `Save ${plural(preview.row_count, 'row')}` : 'Store'}
          </Button>
        </>
      }
    >
      <div ref={around} className="flex flex-col gap-4">
        <Field label="What is in the file" hint={type === 'full' ? 'A workbook with a sheet of each.' : undefined}>
          <Select
            value={type}
            onChange={(next) => {
              setType(next);
              if (look) void choose(look.file, next);
            }}
            options={optionsOf(snapshotTypes)}
          />
        </Field>
        <FileDrop
          accept=".csv,.xlsx,text/csv"
          hint={look ? look.file.name : 'CSV in UTF-8 or XLSX, at most 5,000 rows and 5 MB'}
          onFiles={([file]) => file && void choose(file, type)}
        />
        {type !== 'full' && (
          <a
            href={booksTemplate(type)}
            download
            className="self-start text-sm text-accent-ink underline underline-offset-3"
          >
            Download a template
          </a>
        )}
        <div aria-live="polite" className="flex flex-col gap-4">
          {look?.fault && <Notice tone="bad">{look.fault}</Notice>}
          {look && !preview && !look.fault && <SkeletonText lines={4} />}
          {preview && preview.faults.length > 0 && (
            <Notice tone="warn" title="Nothing can be saved yet">
              {plural(new Set(preview.faults.map(({ row }) => row)).size, 'row')} of {formatCount(preview.row_count)}{' '}
              cannot be read. Mend the file and choose it again.
            </Notice>
          )}
          {ready && <Notice tone="good" title={`${plural(preview.row_count, 'row')} can be saved`} />}
        </div>
        {preview && preview.faults.length > 0 && <Faults faults={preview.faults} />}
        {preview && preview.rows.length > 0 && <Rows {...preview} />}
      </div>
    </Dialog>
  );
}
