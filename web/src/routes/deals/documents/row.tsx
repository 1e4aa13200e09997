import { Download, Ellipsis, Eye, FileArchive, FileImage, FileSpreadsheet, FileText, FileVideo } from 'lucide-react';
import { memo } from 'react';
import { contentOf } from '../../../api/documents.ts';
import { useIsNew } from '../../../api/visits.ts';
import type { DealDocument } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { IconButton } from '../../../components/button.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { NewBadge } from '../../../components/new-badge.tsx';
import { Time } from '../../../components/time.tsx';
import { downloadByLink } from '../../../lib/download.ts';
import { formatBytes, plural } from '../../../lib/format.ts';
import { confidentialities, documentCategory } from '../../../lib/states.ts';

/** An action on a document from its row. */
export type DocumentAction = 'preview' | 'openings' | 'edit' | 'remove';

interface DocumentRowProps {
  document: DealDocument;
  onAction: (action: DocumentAction, document: DealDocument) => void;
}

const icons = { image: FileImage, video: FileVideo, archive: FileArchive, table: FileSpreadsheet, other: FileText };

function kindOf({ media_type: type }: DealDocument): keyof typeof icons {
  if (type.startsWith('image/')) return 'image';
  if (type.startsWith('video/')) return 'video';
  if (type === 'application/zip') return 'archive';
  return /csv|excel|spreadsheet|tab-separated/.test(type) ? 'table' : 'other';
}

/** How often a document was opened; null for callers who may not know. */
function openedTimes({ openings }: DealDocument): string | null {
  if (openings === null) return null;
  return openings === 0 ? 'Not opened yet' : `Opened ${plural(openings, 'time')}`;
}

function DocumentRowView({ document, onAction }: DocumentRowProps) {
  const { filename } = document;
  const Icon = icons[kindOf(document)];
  const opened = openedTimes(document);
  const isNew = useIsNew(document.deal_id, 'documents')(document.opened_at, document.mine);
  const may = { openings: opened !== null, edit: document.can_edit };
  return (
    <div className="flex gap-x-3 px-4 py-3 max-sm:flex-col sm:items-center sm:px-5">
      <Icon className="size-5 shrink-0 text-faint max-sm:hidden" strokeWidth={1.75} aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="font-medium text-ink max-sm:line-clamp-2 max-sm:break-words sm:truncate">{filename}</p>
        <p className="mt-0.5 flex flex-wrap items-center gap-x-2.5 gap-y-1 text-sm text-faint">
          {isNew && <NewBadge />}
          <StatePill look={confidentialities[document.confidentiality]} />
          <Badge>{documentCategory(document.category)}</Badge>
          <span className="tabular">{formatBytes(document.size_bytes)}</span>
          <span>
            {document.uploaded_by_name !== null && `${document.uploaded_by_name}, `}
            <Time at={document.uploaded_at} />
            {document.opened_at !== document.uploaded_at && (
              <>
                , opened to you <Time at={document.opened_at} />
              </>
            )}
          </span>
          {opened !== null && (
            <button
              type="button"
              aria-label={`${opened}: ${filename}`}
              onClick={() => onAction('openings', document)}
              // Larger for fingers upward only: other buttons are below.
              className="rounded-sm underline-offset-3 hover:text-ink hover:underline coarse:relative coarse:after:absolute coarse:after:inset-x-0 coarse:after:-top-5 coarse:after:bottom-0"
            >
              {opened}
            </button>
          )}
        </p>
        {document.diligence_request !== null && (
          <p className="mt-0.5 truncate text-sm text-faint">For: {document.diligence_request}</p>
        )}
      </div>
      <div className="flex shrink-0 items-center gap-1 max-sm:-mb-1.5 max-sm:justify-end">
        {document.can_preview && (
          <IconButton
            label={`Preview ${filename}`}
            icon={<Eye className="size-4" />}
            onClick={() => onAction('preview', document)}
          />
        )}
        <a
          href={contentOf(document)}
          download
          onClick={downloadByLink}
          className="grid size-9 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink coarse:size-11"
        >
          <Download className="size-4" aria-hidden />
          <span className="sr-only">Download {filename}</span>
        </a>
        {(may.edit || may.openings) && (
          <Menu trigger={<IconButton label={`More about ${filename}`} icon={<Ellipsis className="size-4" />} />}>
            {may.openings && <MenuItem onSelect={() => onAction('openings', document)}>Who opened it</MenuItem>}
            {may.edit && <MenuItem onSelect={() => onAction('edit', document)}>Edit</MenuItem>}
            {may.edit && (
              <MenuItem danger onSelect={() => onAction('remove', document)}>
                Remove
              </MenuItem>
            )}
          </Menu>
        )}
      </div>
    </div>
  );
}

/** One document: name, category, who may open it, and the caller's actions. */
export const DocumentRow = memo(DocumentRowView);
