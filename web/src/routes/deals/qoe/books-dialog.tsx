import { useRef, useState } from 'react';
import { ApiError } from '../../../api/client.ts';
import { booksTemplate, largestBooksFile, mostSnapshotRows, previewBooks, useQoeActions } from '../../../api/qoe.ts';
import type { AccountChoice, AccountLine, Id, SnapshotPreview, SnapshotType } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { ImportDialog, leftOutWords } from '../../../components/import-dialog.tsx';
import { Select } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { ScrollRegion } from '../../../components/scroll-region.tsx';
import { toast } from '../../../components/toast.tsx';
import { downloadByLink } from '../../../lib/download.ts';
import { formatCount, formatDay, plural } from '../../../lib/format.ts';
import { optionsOf, snapshotTypes } from '../../../lib/states.ts';
import { useFilePreview } from '../../../lib/use-file-preview.ts';
import { ExportAccounts } from './export-accounts.tsx';

const named = (column: string): string => {
  const words = column.replaceAll('_', ' ');
  return column === 'ebitda' ? 'EBITDA' : words.charAt(0).toUpperCase() + words.slice(1);
};

function Rows({ rows, count }: Pick<SnapshotPreview, 'rows'> & { count: number }) {
  const columns = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))].filter((column) =>
    rows.some(({ values }) => values[column]),
  );
  return (
    <div>
      <h3 className="mb-2 font-medium">What will be saved</h3>
      <ScrollRegion label="What will be saved" className="max-h-80 overflow-y-auto rounded-lg border border-line">
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
      </ScrollRegion>
      {count > rows.length && <p className="mt-2 text-sm text-faint">And {plural(count - rows.length, 'more row')}.</p>}
    </div>
  );
}

const costsHint = 'Where columns are named, enter costs without a minus sign or parentheses: they are subtracted.';
const hints: Readonly<Record<SnapshotType, string | undefined>> = {
  full: `A workbook with one sheet for each. ${costsHint}`,
  profit_and_loss: costsHint,
  customer_revenue: undefined,
};

/** Says which dates are meant by a year or a quarter that the file names without its months. */
function CalendarDates({ calendar, export: exported }: Pick<SnapshotPreview, 'calendar' | 'export'>) {
  if (!calendar) return null;
  return (
    <Notice
      tone="info"
      title={`“${calendar.name}” is read as ${formatDay(calendar.first)} – ${formatDay(calendar.last)}`}
    >
      If the fiscal year of the business ends in another month,{' '}
      {exported
        ? 'write the months in the headings of the columns, like “Jul 2024 - Jun 2025”.'
        : 'give the first and the last day of each period, in columns named “start date” and “end date”.'}
    </Notice>
  );
}

/** Says which day is meant by one of which the file does not show whether the month comes first. */
function AssumedDay({ assumed_day: day }: Pick<SnapshotPreview, 'assumed_day'>) {
  if (!day) return null;
  return (
    <Notice tone="warn" title={`“${day.name}” is read as ${formatDay(day.day)}`}>
      No day in the file shows whether the month or the day comes first. If it is the other one, write the days in the
      file like {day.day}, and choose it again.
    </Notice>
  );
}

/** The number of rows that would be stored; for an export, one for each of its periods. */
const storedCount = ({ row_count, export: exported }: SnapshotPreview): number => exported?.period_count ?? row_count;

const choicesOf = (accounts: readonly AccountChoice[]): AccountChoice[] =>
  accounts.map(({ account, line }) => ({ account, line }));

/** Imports figures from a CSV file or a workbook. */
export function BooksDialog({ dealId, onClose }: { dealId: Id; onClose: () => void }) {
  const [type, setType] = useState<SnapshotType>('profit_and_loss');
  // The accounts' lines as chosen on the page; null until the person changes one.
  const [choice, setChoice] = useState<AccountChoice[] | null>(null);
  const newest = useRef<AccountChoice[] | null>(null);
  const asked = useRef<Promise<unknown>>(Promise.resolve());
  const { importFile } = useQoeActions(dealId);
  const look = useFilePreview<SnapshotPreview, void>({
    count: storedCount,
    store: async (file) => {
      const accounts = preview?.export ? choicesOf(preview.export.accounts) : null;
      const { status, failure } = await importFile.mutateAsync({ file, type, accounts });
      if (status === 'failed') throw new ApiError(422, { code: 'import_failed', message: failure ?? '' });
    },
    onStored: () => {
      onClose();
      toast('The financials are saved');
    },
  });
  const { file, preview, count } = look;
  const choose = (chosen: File, as: SnapshotType) => {
    setChoice(null);
    void look.choose(chosen, previewBooks(dealId, chosen, as, null));
  };
  const change = (account: string, line: AccountLine | null) => {
    if (file === null || !preview?.export) return;
    const accounts = (choice ?? choicesOf(preview.export.accounts)).map((one) =>
      one.account === account ? { account, line } : one,
    );
    setChoice(accounts);
    newest.current = accounts;
    lookAgain(file);
  };
  const lookAgain = (at: File) => {
    // One request at a time, however fast the person chooses; each sends the choices made by then.
    const found = asked.current.then(() => previewBooks(dealId, at, type, newest.current));
    asked.current = found.catch(() => {});
    void look.choose(at, found, 'again');
  };
  const leftOut = leftOutWords(preview?.left_out ?? []);
  const differs = preview?.export?.comparison.some(({ periods }) => periods.length > 0) ?? false;
  return (
    <ImportDialog
      title="Upload financials"
      description="A monthly profit and loss as exported from QuickBooks or Xero, or a file whose first line names the columns."
      look={look}
      action="Save"
      done="saved"
      noun={preview?.export ? 'period' : 'row'}
      accept=".csv,.xlsx,text/csv"
      hint={`CSV in UTF-8 or XLSX, at most ${formatCount(mostSnapshotRows)} rows and ${largestBooksFile}`}
      onChoose={(chosen) => choose(chosen, type)}
      // Repeats a failed preview; a failed save is retried with the button below.
      onAgain={file && choice && count === 0 ? () => lookAgain(file) : undefined}
      columnName={named}
      above={
        <Field label="What is in the file" hint={hints[type]}>
          <Select
            value={type}
            onChange={(next) => {
              setType(next);
              if (file) choose(file, next);
            }}
            options={optionsOf(snapshotTypes)}
          />
        </Field>
      }
      below={
        type !== 'full' && (
          <a
            href={booksTemplate(type)}
            download
            onClick={downloadByLink}
            className="self-start text-sm text-accent-ink underline underline-offset-3"
          >
            Download a template
          </a>
        )
      }
      summary={
        <Notice
          tone={differs ? 'warn' : 'good'}
          title={`${plural(count, preview?.export ? 'period' : 'row')} can be saved`}
        >
          {differs && 'But the totals differ from the export’s own: see below.'}
        </Notice>
      }
      onClose={onClose}
    >
      {preview && <AssumedDay {...preview} />}
      {preview && <CalendarDates {...preview} />}
      {preview?.export && <ExportAccounts seen={preview.export} choice={choice} onChange={change} />}
      {leftOut && <p className="text-soft">{leftOut}</p>}
      {preview && preview.rows.length > 0 && <Rows rows={preview.rows} count={storedCount(preview)} />}
    </ImportDialog>
  );
}
