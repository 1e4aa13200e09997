import { useQuery } from '@tanstack/react-query';
import { ArchiveRestore } from 'lucide-react';
import { mostToRestore, removedDocumentsQuery, useDocumentActions } from '../../../api/documents.ts';
import type { Id, RemovedDocument } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { CutNote } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';

/**
 * The documents removed within the last hour, each with a button to restore it; renders nothing when there are none.
 */
export function RemovedDocuments({ dealId }: { dealId: Id }) {
  const items = useQuery(removedDocumentsQuery(dealId)).data?.items ?? [];
  const { mutateAsync: restore, isPending, variables } = useDocumentActions(dealId).restore;
  if (items.length === 0) return null;
  const putBack = (document: RemovedDocument) =>
    restore(document)
      .then(() => toast(`${document.filename} was restored`))
      .catch(toastError);
  return (
    <Card
      flush
      title="Removed within the last hour"
      description="Nobody can open these. You can restore a document for one hour after it was removed."
    >
      <ul aria-label="Removed within the last hour" className="divide-y divide-line border-t border-line">
        {items.map((document) => (
          <li key={document.id} className="flex items-center gap-3 px-4 py-3 sm:px-5">
            <div className="min-w-0 flex-1">
              <p className="font-medium text-ink max-sm:line-clamp-2 max-sm:break-words sm:truncate">
                {document.filename}
              </p>
              <p className="mt-0.5 text-sm text-faint">
                Removed {document.removed_by_name !== null && `by ${document.removed_by_name} `}
                <Time at={document.removed_at} />
              </p>
            </div>
            <Button
              icon={<ArchiveRestore className="size-4" />}
              aria-label={`Restore ${document.filename}`}
              pending={isPending && variables.id === document.id}
              onClick={() => void putBack(document)}
            >
              Restore
            </Button>
          </li>
        ))}
      </ul>
      <CutNote items={items} most={mostToRestore} className="px-4 py-3 sm:px-5">
        documents, the last removed.
      </CutNote>
    </Card>
  );
}
