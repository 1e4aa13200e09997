import { FileUp } from 'lucide-react';
import { useId, useRef, useState, type DragEvent, type ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import { filesIn, mostDropped } from '../lib/dropped-files.ts';
import { formatCount } from '../lib/format.ts';

interface FileDropProps {
  onFiles: (files: File[]) => void;
  /** The file types that the picker offers, as for an input: ".csv,.xlsx". */
  accept?: string;
  multiple?: boolean;
  /** The accepted files: "PDF, images and office files up to 2 GB". */
  hint?: ReactNode;
  disabled?: boolean;
}

/** An area to drop files on, and a button to choose them. */
export function FileDrop({ onFiles, accept, multiple = false, hint, disabled = false }: FileDropProps) {
  const input = useRef<HTMLInputElement>(null);
  const hintId = useId();
  const [over, setOver] = useState(0);
  /** Why nothing was taken of what was dropped last. */
  const [fault, setFault] = useState<string | null>(null);
  const take = (files: File[]) => {
    setFault(null);
    if (files.length > 0) onFiles(multiple ? files : files.slice(0, 1));
  };
  const onDrop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(0);
    if (disabled) return;
    try {
      const files = await filesIn(event.dataTransfer, multiple);
      if (files === 'folder') setFault('A folder cannot be taken: choose the file in it.');
      else if (files === 'too many') setFault(`Drop at most ${formatCount(mostDropped)} files at a time.`);
      else if (files.length === 0) setFault('There is no file in the folder.');
      else take(files);
    } catch {
      setFault('The folder could not be read: choose the files in it.');
    }
  };
  return (
    <div
      onDragEnter={(event) => {
        event.preventDefault();
        setOver((depth) => depth + 1);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDragLeave={() => setOver((depth) => depth - 1)}
      onDrop={(event) => void onDrop(event)}
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
          aria-disabled={disabled || undefined}
          aria-describedby={hint ? hintId : undefined}
          onClick={() => !disabled && input.current?.click()}
          className="rounded-sm font-medium text-accent-ink underline underline-offset-3 hover:text-ink coarse:py-2.5"
        >
          choose {multiple ? 'files' : 'one'}
        </button>
      </p>
      {hint && (
        <p id={hintId} className="text-sm text-faint">
          {hint}
        </p>
      )}
      {fault !== null && (
        <p role="alert" className="text-sm text-bad">
          {fault}
        </p>
      )}
      <input
        ref={input}
        type="file"
        hidden
        accept={accept}
        multiple={multiple}
        onChange={(event) => {
          take([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </div>
  );
}
