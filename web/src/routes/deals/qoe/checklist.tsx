import { ListChecks, Plus } from 'lucide-react';
import { useState } from 'react';
import { useQoeActions } from '../../../api/qoe.ts';
import type { ChecklistRow, ChecklistStatus, Id } from '../../../api/shapes.ts';
import { StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { ProgressBar } from '../../../components/progress-bar.tsx';
import { EmptyState } from '../../../components/states.tsx';
import { StatusSelect } from '../../../components/status-select.tsx';
import { checklistStates, optionsOf } from '../../../lib/states.ts';
import { RowDialog } from './dialogs.tsx';

/** The checklist of the work by category, with its progress. */
export function ChecklistCard({
  dealId,
  rows,
  editor,
}: {
  dealId: Id;
  rows: readonly ChecklistRow[];
  editor: boolean;
}) {
  const [adding, setAdding] = useState(false);
  const { setStatus } = useQoeActions(dealId);
  const counted = rows.filter(({ status }) => status !== 'not_applicable');
  const done = counted.filter(({ status }) => status === 'completed').length;
  const categories = [...Map.groupBy(rows, ({ category }) => category)];
  return (
    <Card
      title="Checklist"
      flush
      actions={
        editor && (
          <Button size="sm" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
            Add item
          </Button>
        )
      }
      {...(rows.length > 0 && { description: `${done} of ${counted.length} completed` })}
    >
      {rows.length === 0 ? (
        <EmptyState icon={ListChecks} title="No checklist yet">
          {editor
            ? 'Add what needs to be verified: proof of cash, revenue cutoff, payroll.'
            : 'An editor adds what needs to be verified.'}
        </EmptyState>
      ) : (
        <>
          <div className="px-4 pb-4 sm:px-5">
            <ProgressBar label="Checklist completed" done={done} of={counted.length} className="h-1.5" />
          </div>
          {categories.map(([category, its]) => (
            <section key={category} aria-label={category} className="border-t border-line">
              <h3 className="px-4 pt-3 pb-1 text-sm font-medium text-faint sm:px-5">{category.replaceAll('_', ' ')}</h3>
              <ul className="pb-1.5">
                {its.map((row) => (
                  <li
                    key={row.id}
                    className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 px-4 py-1.5 sm:px-5"
                  >
                    <span className="min-w-0 flex-1 basis-40 break-words">{row.title}</span>
                    {editor ? (
                      <StatusSelect<ChecklistStatus>
                        label={`Status of ${row.title}`}
                        look={checklistStates[row.status]}
                        value={row.status}
                        onChange={(status) => setStatus.mutate({ id: row.id, status })}
                        options={optionsOf(checklistStates)}
                      />
                    ) : (
                      <StatePill look={checklistStates[row.status]} />
                    )}
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </>
      )}
      {adding && (
        <RowDialog dealId={dealId} categories={categories.map(([name]) => name)} onClose={() => setAdding(false)} />
      )}
    </Card>
  );
}
