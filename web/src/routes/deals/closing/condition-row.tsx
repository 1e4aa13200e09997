import { CalendarClock, Check, CircleDashed, CircleDotDashed, Ellipsis, Minus, Pencil, Trash2 } from 'lucide-react';
import { useConditionActions } from '../../../api/conditions.ts';
import type { ClosingCondition, ConditionStatus } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { IconButton } from '../../../components/button.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../../components/menu.tsx';
import { StatusSelect } from '../../../components/status-select.tsx';
import { DayText, Time } from '../../../components/time.tsx';
import { toast } from '../../../components/toast.tsx';
import { cx } from '../../../lib/cx.ts';
import { conditionStates, optionsOf } from '../../../lib/states.ts';
import { useMe } from '../../../api/me.ts';
import { useDeal } from '../context.ts';
import { RemindButton } from '../remind-button.tsx';

const marks = {
  open: { icon: CircleDashed, look: 'text-faint' },
  in_progress: { icon: CircleDotDashed, look: 'text-info' },
  satisfied: { icon: Check, look: 'text-good' },
  waived: { icon: Minus, look: 'text-rare' },
} as const;

/** Where a condition can go from here, and for whom: only brokers waive. */
function choices(condition: ClosingCondition, asBroker: boolean) {
  const met = condition.status === 'satisfied' || condition.status === 'waived';
  return optionsOf(conditionStates).filter(({ value }) => {
    if (value === condition.status) return true;
    if (met && value !== 'open') return false;
    return asBroker || (value !== 'waived' && condition.status !== 'waived');
  });
}

function StatusControl({ condition }: { condition: ClosingCondition }) {
  const { deal, capacities } = useDeal();
  const { setStatus } = useConditionActions(deal.id);
  const options = choices(condition, capacities.can_edit_conditions);
  if (!condition.can_edit || options.length < 2) return <StatePill look={conditionStates[condition.status]} />;
  const change = (status: ConditionStatus) => {
    setStatus.mutate({ id: condition.id, status });
    // From met there is one way back: to open.
    const undo = () => setStatus.mutateAsync({ id: condition.id, status: 'open' });
    if (status === 'satisfied' || status === 'waived') toast(`“${condition.name}” is ${status}.`, { undo });
  };
  return (
    <StatusSelect
      label={`Status of ${condition.name}`}
      look={conditionStates[condition.status]}
      value={condition.status}
      onChange={change}
      options={options}
    />
  );
}

function Deadline({ condition }: { condition: ClosingCondition }) {
  const { status, deadline, overdue, completed_at: completed } = condition;
  if (completed) {
    return (
      <span>
        {status === 'waived' ? 'Waived' : 'Met'} <Time at={completed} as="date" />
      </span>
    );
  }
  if (!deadline) return <span>No deadline</span>;
  return (
    <span className={cx('inline-flex items-center gap-1', overdue && 'font-medium text-bad')}>
      <CalendarClock className="size-3.5" aria-hidden />
      {overdue ? 'Was due' : 'Due'} <DayText day={deadline} />
    </span>
  );
}

/** Whose it is; to a buyer, the other side's advisors have no name. */
function ownerOf({ has_owner, owner_name }: ClosingCondition): string {
  return owner_name ?? (has_owner ? 'Someone else on the deal' : 'Unassigned');
}

interface ConditionRowProps {
  condition: ClosingCondition;
  onEdit: () => void;
}

/** One closing condition: what it is, whose, until when, and how far. */
export function ConditionRow({ condition, onEdit }: ConditionRowProps) {
  const { deal, capacities } = useDeal();
  const { remove } = useConditionActions(deal.id);
  const confirm = useConfirm();
  const me = useMe().user.id;
  const { icon: Mark, look } = marks[condition.status];
  const met = condition.completed_at !== null;
  const takeOut = () =>
    confirm(
      {
        title: 'Remove this condition?',
        body: `“${condition.name}” disappears for everyone. To keep it on record as not needed, waive it instead.`,
        action: 'Remove',
        danger: true,
        done: 'The condition is removed.',
      },
      () => remove.mutateAsync(condition.id),
    );
  return (
    <li className="flex items-start gap-3.5 px-4 py-3.5 sm:items-center sm:px-5">
      <Mark className={cx('mt-0.5 size-5 shrink-0 sm:mt-0', look)} strokeWidth={2} aria-hidden />
      <div className="flex min-w-0 flex-1 flex-col gap-2.5 sm:flex-row sm:items-center sm:gap-4">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className={cx('font-medium', met && 'text-soft')}>{condition.name}</span>
            {condition.overdue && <Badge tone="bad">Overdue</Badge>}
          </p>
          <p className="mt-0.5 flex flex-wrap gap-x-3 text-sm text-faint">
            <span>{ownerOf(condition)}</span>
            <Deadline condition={condition} />
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-3">
          {capacities.can_edit_conditions && condition.has_owner && condition.owner_user_id !== me && !met && (
            <RemindButton subject="closing_conditions" id={condition.id} of={condition.name} />
          )}
          <div className="flex sm:w-32">
            <StatusControl condition={condition} />
          </div>
        </div>
      </div>
      {capacities.can_edit_conditions && (
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
      )}
    </li>
  );
}
