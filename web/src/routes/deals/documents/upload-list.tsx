import { CircleAlert, CircleCheck, RotateCw, X } from 'lucide-react';
import { memo } from 'react';
import type { Upload } from '../../../api/document-uploads.ts';
import { IconButton } from '../../../components/button.tsx';
import { ProgressBar } from '../../../components/progress-bar.tsx';
import { formatBytes } from '../../../lib/format.ts';

const words: Record<Upload['state'], string> = {
  waiting: 'Waiting',
  sending: 'Sending',
  done: 'Uploaded',
  failed: 'Failed',
  stopped: 'Stopped',
};

interface UploadRowProps {
  upload: Upload;
  onStop: (id: number) => void;
  onRetry: (id: number) => void;
}

function UploadRowView({ upload: { id, file, state, sent, message }, onStop, onRetry }: UploadRowProps) {
  const share = file.size === 0 ? 1 : Math.min(1, sent / file.size);
  const percent = `${Math.round(share * 100)}%`;
  const underWay = state === 'waiting' || state === 'sending';
  return (
    <li className="flex items-center gap-3 py-2.5">
      <div className="min-w-0 flex-1">
        <div className="flex justify-between gap-3">
          <span className="truncate font-medium">{file.name}</span>
          <span className="shrink-0 text-sm text-faint tabular">
            {state === 'sending' ? `${percent} of ${formatBytes(file.size)}` : words[state]}
          </span>
        </div>
        {state === 'waiting' && message ? (
          <p className="mt-0.5 text-sm text-faint">{message}</p>
        ) : message ? (
          <p className="mt-0.5 flex gap-1.5 text-sm text-bad" role="alert">
            <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
            {message}
          </p>
        ) : (
          <ProgressBar
            label={`Upload of ${file.name}`}
            done={Math.round(100 * (state === 'done' ? 1 : share))}
            of={100}
            className="mt-1.5 h-1"
          />
        )}
      </div>
      {underWay && (
        <IconButton size="sm" label={`Stop ${file.name}`} icon={<X className="size-4" />} onClick={() => onStop(id)} />
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
}

// Of hundreds of files only a few change at a time.
const UploadRow = memo(UploadRowView);

interface UploadListProps extends Omit<UploadRowProps, 'upload'> {
  uploads: readonly Upload[];
}

/** The state of each file: its progress, done, or why it failed. */
export function UploadList({ uploads, ...actions }: UploadListProps) {
  if (uploads.length === 0) return null;
  return (
    <ul className="divide-y divide-line" aria-label="Uploads">
      {uploads.map((upload) => (
        <UploadRow key={upload.id} upload={upload} {...actions} />
      ))}
    </ul>
  );
}
