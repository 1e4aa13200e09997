import { useQuery } from '@tanstack/react-query';
import { FileSpreadsheet, Upload } from 'lucide-react';
import { useState } from 'react';
import { snapshotsQuery } from '../../../api/qoe.ts';
import type { Id } from '../../../api/shapes.ts';
import { StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { snapshotStates, snapshotTypes } from '../../../lib/states.ts';
import { BooksDialog } from './books-dialog.tsx';

/** The accounting snapshots, latest first, each with its state and, if it failed, the reason. */
export function SnapshotsCard({ dealId, editor }: { dealId: Id; editor: boolean }) {
  const query = useQuery(snapshotsQuery(dealId));
  const [importing, setImporting] = useState(false);
  return (
    <Card
      title="Uploaded financials"
      flush
      actions={
        editor && (
          <Button size="sm" icon={<Upload className="size-4" />} onClick={() => setImporting(true)}>
            Upload financials
          </Button>
        )
      }
    >
      <Loaded query={query} skeleton={<SkeletonRows rows={3} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={FileSpreadsheet} title="Nothing uploaded yet">
              {editor
                ? 'Upload profit and loss by month, and revenue by customer.'
                : 'Editors upload monthly figures and revenue by customer.'}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-line border-t border-line">
              {items.map((snapshot) => (
                <li key={snapshot.id} className="px-4 py-3 sm:px-5">
                  <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
                    <span className="font-medium">{snapshotTypes[snapshot.snapshot_type]}</span>
                    <StatePill look={snapshotStates[snapshot.status]} />
                  </div>
                  <p className="mt-0.5 text-sm break-words text-faint">
                    {snapshot.source_name && `${snapshot.source_name} · `}
                    <Time at={snapshot.completed_at ?? snapshot.requested_at} />
                  </p>
                  {snapshot.failure && <p className="mt-1 text-sm break-words text-bad">{snapshot.failure}</p>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {importing && <BooksDialog dealId={dealId} onClose={() => setImporting(false)} />}
    </Card>
  );
}
