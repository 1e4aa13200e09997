import { useQuery } from '@tanstack/react-query';
import { ListChecks, Plus } from 'lucide-react';
import { useState } from 'react';
import { conditionsQuery } from '../../../api/conditions.ts';
import type { ClosingCondition } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { ProgressBar } from '../../../components/progress-bar.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { formatCount } from '../../../lib/format.ts';
import { ConditionDialog } from './condition-dialog.tsx';
import { ConditionRow } from './condition-row.tsx';
import { useDeal } from '../context.ts';
import { TabPage } from '../tab-page.tsx';

/** How many conditions are met, as words and as a bar. */
function Progress({ conditions }: { conditions: readonly ClosingCondition[] }) {
  const met = conditions.filter((one) => one.completed_at !== null).length;
  const overdue = conditions.filter((one) => one.overdue).length;
  return (
    <div className="px-4 pt-4 pb-4 sm:px-5">
      <p className="flex items-center gap-2.5">
        <span className="font-medium text-ink">
          {formatCount(met)} of {formatCount(conditions.length)} met
        </span>
        {overdue > 0 && <Badge tone="bad">{formatCount(overdue)} overdue</Badge>}
      </p>
      <ProgressBar label="Closing conditions met" done={met} of={conditions.length} className="mt-2.5 h-1.5" />
    </div>
  );
}

/** The conditions under which the sale closes: whose they are, until when, and how far. */
export default function ClosingTab() {
  const { deal, capacities } = useDeal();
  const query = useQuery(conditionsQuery(deal.id));
  const [dialog, setDialog] = useState<{ condition: ClosingCondition | null } | null>(null);
  const add = capacities.can_edit_conditions && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setDialog({ condition: null })}>
      Add condition
    </Button>
  );
  const some = (query.data?.items.length ?? 0) > 0;
  return (
    <TabPage title="Closing" actions={some && add}>
      <Card flush>
        <Loaded query={query} skeleton={<SkeletonRows rows={6} height="h-16" />}>
          {({ items }) =>
            items.length > 0 ? (
              <>
                <Progress conditions={items} />
                <ul className="divide-y divide-line border-t border-line">
                  {items.map((condition) => (
                    <ConditionRow key={condition.id} condition={condition} onEdit={() => setDialog({ condition })} />
                  ))}
                </ul>
              </>
            ) : (
              <EmptyState icon={ListChecks} title="No closing conditions yet" action={add}>
                {capacities.can_edit_conditions
                  ? 'List what must be done before the sale closes, who is responsible, and by when.'
                  : 'What must be done before the sale closes shows here once a broker lists it.'}
              </EmptyState>
            )
          }
        </Loaded>
      </Card>
      {dialog && <ConditionDialog condition={dialog.condition} onClose={() => setDialog(null)} />}
    </TabPage>
  );
}
