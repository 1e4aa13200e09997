import type { ReactNode } from 'react';
import { formatCount, plural } from '../lib/format.ts';
import type { FilePreview, Preview } from '../lib/use-file-preview.ts';
import { Button } from './button.tsx';
import { CancelButton, Dialog, type DialogProps } from './dialog.tsx';
import { FileDrop } from './file-drop.tsx';
import { Notice } from './notice.tsx';
import { SkeletonText } from './states.tsx';

/** At most this many errors, and this many rows, are shown of an import; of the others only the number. */
export const mostRowsShown = 50;

/** Returns a sentence that names the ignored columns of a file; empty when there are none. */
export const leftOutWords = (columns: readonly string[]): string =>
  columns.length === 0 ? '' : `Ignored ${columns.length === 1 ? 'column' : 'columns'}: ${columns.join(', ')}.`;

interface FaultsProps extends Pick<Preview, 'faults'> {
  columnName: (column: string) => string;
  title: string;
}

function Faults({ faults, columnName, title }: FaultsProps) {
  return (
    <section aria-labelledby="import-faults">
      <h3 id="import-faults" className="mb-2 font-medium">
        {title}
      </h3>
      <ul className="divide-y divide-line rounded-lg border border-line">
        {faults.slice(0, mostRowsShown).map(({ row, column, message, name, value }) => (
          <li key={`${row} ${column} ${message}`} className="flex flex-wrap gap-x-3 px-3.5 py-2">
            <span className="w-20 shrink-0 text-faint tabular">Row {formatCount(row)}</span>
            {column !== null && <span className="w-32 shrink-0 font-medium">{columnName(column)}</span>}
            <span className="min-w-0 flex-1 basis-40">
              <span className="text-bad">{message}</span>
              {(name || value) && (
                <span className="block break-words text-soft">{[name, value].filter(Boolean).join(': ')}</span>
              )}
            </span>
          </li>
        ))}
      </ul>
      {faults.length > mostRowsShown && (
        <p className="mt-2 text-sm text-faint">
          And {plural(faults.length - mostRowsShown, 'more error')} further down.
        </p>
      )}
    </section>
  );
}

interface ImportDialogProps extends Omit<DialogProps, 'footer' | 'size'> {
  look: Omit<FilePreview<Preview>, 'choose'>;
  /** The label of the button, and its past participle: "Import", "imported". */
  action: string;
  done: string;
  /** The noun for one row of the file. */
  noun: string;
  /** The file types that the picker offers, and the same in words. */
  accept: string;
  hint: string;
  onChoose: (file: File) => void;
  /** Reads the same file again, with the chosen settings, after reading it failed. */
  onAgain?: (() => void) | undefined;
  columnName: (column: string) => string;
  /** Content above and below the drop area. */
  above?: ReactNode;
  below?: ReactNode;
  /** The effect of importing the file. */
  summary: ReactNode;
}

/** Imports a file: choose it, preview its rows, store it. The children show the rows. */
export function ImportDialog(props: ImportDialogProps) {
  const {
    look,
    action,
    done,
    noun,
    accept,
    hint,
    onChoose,
    onAgain,
    columnName,
    above,
    below,
    summary,
    children,
    ...dialog
  } = props;
  const { file, preview, fault, count, reading, pending, around, store } = look;
  const faults = preview?.faults ?? [];
  return (
    <Dialog
      {...dialog}
      size="lg"
      footer={
        <>
          <CancelButton />
          <Button kind="primary" disabled={count === 0 || reading} pending={pending} onClick={() => void store()}>
            {count > 0 ? `${action} ${plural(count, noun)}` : action}
          </Button>
        </>
      }
    >
      <div ref={around} className="flex flex-col gap-4">
        {above}
        <FileDrop accept={accept} hint={file ? file.name : hint} onFiles={([chosen]) => chosen && onChoose(chosen)} />
        {below}
        <div aria-live="polite" className="flex flex-col gap-4">
          {fault && (
            <Notice tone="bad" action={onAgain && <Button onClick={onAgain}>Try again</Button>}>
              {fault}
            </Notice>
          )}
          {reading && !preview && <SkeletonText lines={4} />}
          {preview && faults.length > 0 && count === 0 && (
            <Notice tone="warn" title={`Nothing can be ${done} yet`}>
              {plural(new Set(faults.map(({ row }) => row)).size, 'row')} of {formatCount(preview.row_count)} cannot be
              read. Fix the file and choose it again.
            </Notice>
          )}
          {preview && (faults.length === 0 || count > 0) && !fault && summary}
        </div>
        {faults.length > 0 && (
          <Faults faults={faults} columnName={columnName} title={count > 0 ? 'Rows with errors' : 'Fix these'} />
        )}
        {children}
      </div>
    </Dialog>
  );
}
