import { useQuery } from '@tanstack/react-query';
import { Download, Eye } from 'lucide-react';
import { mostOpenings, openingsExport, openingsQuery } from '../../../api/documents.ts';
import type { DealDocument } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { CutNote, EmptyState, Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { download } from '../../../lib/download.ts';
import { useDeal } from '../context.ts';

/** Who opened a document and when, latest first. */
export function OpeningsDrawer({ document, onClose }: { document: DealDocument; onClose: () => void }) {
  const { deal } = useDeal();
  const query = useQuery(openingsQuery(deal.id, document));
  return (
    <Drawer
      onClose={onClose}
      title="Who opened it"
      description={document.filename}
      footer={
        <Button icon={<Download className="size-4" />} onClick={() => download(openingsExport(deal.id))}>
          Export for all documents
        </Button>
      }
    >
      <Loaded query={query} skeleton={<SkeletonText lines={6} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={Eye} title="Not opened yet">
              Each time someone opens or downloads it, it shows here.
            </EmptyState>
          ) : (
            <>
              <ul className="divide-y divide-line">
                {items.map((opening) => (
                  <li key={opening.id} className="flex justify-between gap-4 py-2.5">
                    <span className="min-w-0 truncate text-ink">{opening.user_name}</span>
                    <Time at={opening.opened_at} className="shrink-0 text-soft" />
                  </li>
                ))}
              </ul>
              <CutNote items={items} most={mostOpenings} className="pt-3">
                openings, the latest; the exported file has all.
              </CutNote>
            </>
          )
        }
      </Loaded>
    </Drawer>
  );
}
