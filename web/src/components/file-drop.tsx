import { CircleAlert, CircleCheck, FileUp, RotateCw, X } from 'lucide-react';
import { useId, useRef, useState, type DragEvent, type ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import { formatBytes } from '../lib/format.ts';
import type { Upload } from '../lib/upload-queue.ts';
import { IconButton } from './button.tsx';

interface FileDropProps {
  onFiles: (files: File[]) => void;
  /** What the picker offers, as an input takes it: ".csv,.xlsx". */
  accept?: string;
  multiple?: boolean;
  /** What can be dropped here: "PDF, images and office files up to 2 GB". */
  hint?: ReactNode;
  disabled?: boolean;
}

/** A place to drop files, and a button to pick them. */
export function FileDrop({ onFiles, accept, multiple = false, hint, disabled = false }: FileDropProps) {
  const input = useRef<HTMLInputElement>(null);
  const hintId = useId();
  const [over, setOver] = useState(0);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(0);
    const files = [...event.dataTransfer.files];
    if (!disabled && files.length > 0) onFiles(multiple ? files : files.slice(0, 1));
  };
  return (
    <div
      onDragEnter={(event) => {
        event.preventDefault();
        setOver((depth) => depth + 1);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDragLeave={() => setOver((depth) => depth - 1)}
      onDrop={onDrop}
      className={cx(
        'flex flex-col items-center gap-1 rounded-lg border border-dashed px-6 py-8 text-center transition-colors',
        over > 0 ? 'border-accent bg-accent-wash' : 'border-edge bg-sunken',
        disabled && 'opacity-60',
      )}
    >
      <FileUp className="mb-1 size-6 text-faint" strokeWidth={1.75} aria-hidden />
      <p className="text-soft">
        Drop {multiple ? 'files' : 'a file'} here or{' '}
        <button
          type="button"
          disabled={disabled}
          aria-describedby={hint ? hintId : undefined}
          onClick={() => input.current?.click()}
          className="rounded-sm font-medium text-accent-ink underline underline-offset-3 hover:text-ink coarse:py-2"
        >
          choose {multiple ? 'files' : 'one'}
        </button>
      </p>
      {hint && (
        <p id={hintId} className="text-sm text-faint">
          {hint}
        </p>
      )}
      <input
        ref={input}
        type="file"
        hidden
        accept={accept}
        multiple={multiple}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </div>
  );
}

const words: Record<Upload['state'], string> = {
  waiting: 'Waiting',
  sending: 'Sending',
  done: 'Uploaded',
  failed: 'Failed',
  stopped: 'Stopped',
};

interface UploadListProps {
  uploads: readonly Upload[];
  onStop: (id: number) => void;
  onRetry: (id: number) => void;
}

/** How each file is doing: sent so far, done, or why not. */
export function UploadList({ uploads, onStop, onRetry }: UploadListProps) {
  if (uploads.length === 0) return null;
  return (
    <ul className="divide-y divide-line" aria-label="Uploads">
      {uploads.map(({ id, file, state, sent, message }) => {
        const share = file.size === 0 ? 1 : Math.min(1, sent / file.size);
        const percent = `${Math.round(share * 100)} %`;
        const underWay = state === 'waiting' || state === 'sending';
        return (
          <li key={id} className="flex items-center gap-3 py-2.5">
            <div className="min-w-0 flex-1">
              <div className="flex justify-between gap-3">
                <span className="truncate font-medium">{file.name}</span>
                <span className="shrink-0 text-sm text-faint tabular">
                  {state === 'sending' ? `${percent} of ${formatBytes(file.size)}` : words[state]}
                </span>
              </div>
              {message ? (
                <p className="mt-0.5 flex gap-1.5 text-sm text-bad" role="alert">
                  <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
                  {message}
                </p>
              ) : (
                <div
                  role="progressbar"
                  aria-label={`Upload of ${file.name}`}
                  aria-valuenow={Math.round(share * 100)}
                  className="mt-1.5 h-1 overflow-hidden rounded-full bg-line"
                >
                  <div
                    style={{ transform: `scaleX(${state === 'done' ? 1 : share})` }}
                    className="h-full origin-left rounded-full bg-accent transition-transform duration-200"
                  />
                </div>
              )}
            </div>
            {underWay && (
              <IconButton
                size="sm"
                label={`Stop ${file.name}`}
                icon={<X className="size-4" />}
                onClick={() => onStop(id)}
              />
            )}
            {(state === 'failed' || state === 'stopped') && (
              <IconButton
                size="sm"
                label={`Send ${file.name} again`}
                icon={<RotateCw className="size-4" />}
                onClick={() => onRetry(id)}
              />
            )}
            {state === 'done' && <CircleCheck className="m-2 size-4 text-good" aria-hidden />}
          </li>
        );
      })}
    </ul>
  );
}
