import { Ellipsis, Pencil, Trash2 } from 'lucide-react';
import { useConditionActions } from '../../../api/conditions.ts';
import type { ClosingCondition, ConditionStatus } from '../../../api/shapes.ts';
import { StatePill } from '../../../components/badge.tsx';
import { IconButton } from '../../../components/button.tsx';
import { ConditionLine } from '../../../components/conditions/condition-line.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../../components/menu.tsx';
import { StatusSelect } from '../../../components/status-select.tsx';
import { toast } from '../../../components/toast.tsx';
import { conditionStates, optionsOf } from '../../../lib/states.ts';
import { useMe } from '../../../api/me.ts';
import { useDeal, useOwnerName } from '../context.ts';
import { RemindButton } from '../remind-button.tsx';

function StatusControl({ condition }: { condition: ClosingCondition }) {
  const { deal } = useDeal();
  const { setStatus: reopen } = useConditionActions(deal.id);
  const { setStatus } = useConditionActions(deal.id, ({ id, name, status }) => {
    // The only move back from a completed status is to open.
    const undo = () => reopen.mutate({ id, status: 'open' });
    if (status === 'satisfied' || status === 'waived') toast(`“${name}” is ${status}`, { undo });
  });
  if (condition.moves.length === 0) return <StatePill look={conditionStates[condition.status]} />;
  return (
    <StatusSelect
      label={`Status of ${condition.name}`}
      look={conditionStates[condition.status]}
      value={condition.status}
      onChange={(status: ConditionStatus) => setStatus.mutate({ id: condition.id, status })}
      options={optionsOf(conditionStates).filter(
        ({ value }) => value === condition.status || condition.moves.includes(value),
      )}
    />
  );
}

interface ConditionRowProps {
  condition: ClosingCondition;
  onEdit: () => void;
}

/** One closing condition with its owner, deadline and status. */
export function ConditionRow({ condition, onEdit }: ConditionRowProps) {
  const { deal, capacities, participants } = useDeal();
  const { remove } = useConditionActions(deal.id);
  const confirm = useConfirm();
  const me = useMe().user.id;
  const ownerName = useOwnerName();
  const owner = participants.find(({ user_id }) => user_id === condition.owner_user_id);
  const principal = owner?.role === 'advisor' ? participants.find(({ id }) => id === owner.advises) : owner;
  // A buyer's side sees conditions only while that buyer is selected, and nobody is reminded of what they do not see.
  const waits =
    condition.completed_at === null &&
    condition.owner_user_id !== me &&
    owner?.status === 'active' &&
    principal?.status === 'active' &&
    (principal.role !== 'buyer' || principal.user_id === deal.exclusive_buyer_user_id);
  const takeOut = () =>
    confirm(
      {
        title: 'Remove this condition?',
        body: `“${condition.name}” disappears for everyone. To keep it on record as not needed, waive it instead.`,
        action: 'Remove',
        danger: true,
        done: 'Condition removed',
      },
      () => remove.mutateAsync(condition.id),
    );
  return (
    <ConditionLine
      condition={condition}
      // Buyers do not get the names of the other side's advisors, nor do they learn whether these are still on the deal.
      owner={ownerName(condition) ?? (condition.has_owner ? 'Someone else' : 'Unassigned')}
      menu={
        capacities.can_edit_conditions && (
          <Menu
            trigger={
              <IconButton size="sm" label={`Actions for ${condition.name}`} icon={<Ellipsis className="size-4.5" />} />
            }
          >
            <MenuItem icon={<Pencil />} onSelect={onEdit}>
              Edit
            </MenuItem>
            <MenuSeparator />
            <MenuItem danger icon={<Trash2 />} onSelect={takeOut}>
              Remove
            </MenuItem>
          </Menu>
        )
      }
    >
      {capacities.can_edit_conditions && waits && (
        <RemindButton subject="closing_conditions" id={condition.id} of={condition.name} />
      )}
      <div className="flex sm:w-32">
        <StatusControl condition={condition} />
      </div>
    </ConditionLine>
  );
}
