import { useQuery } from '@tanstack/react-query';
import { ListChecks, Plus } from 'lucide-react';
import { useState } from 'react';
import { conditionsQuery } from '../../../api/conditions.ts';
import type { ClosingCondition } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { ConditionsProgress } from '../../../components/conditions/condition-line.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { ConditionDialog } from './condition-dialog.tsx';
import { ConditionRow } from './condition-row.tsx';
import { useDeal } from '../context.ts';
import { TabPage } from '../tab-page.tsx';

/** The closing conditions of the deal, with their owners, deadlines and statuses. */
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
                <ConditionsProgress conditions={items} />
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
                  : 'Closing conditions show here once a broker adds them.'}
              </EmptyState>
            )
          }
        </Loaded>
      </Card>
      {dialog && <ConditionDialog condition={dialog.condition} onClose={() => setDialog(null)} />}
    </TabPage>
  );
}
