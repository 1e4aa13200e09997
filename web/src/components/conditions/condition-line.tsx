import { CalendarClock, Check, CircleDashed, CircleDotDashed, Minus } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ClosingCondition } from '../../api/shapes.ts';
import { cx } from '../../lib/cx.ts';
import { formatCount } from '../../lib/format.ts';
import { Badge } from '../badge.tsx';
import { ProgressBar } from '../progress-bar.tsx';
import { DayText, Time } from '../time.tsx';

const marks = {
  open: { icon: CircleDashed, look: 'text-faint' },
  in_progress: { icon: CircleDotDashed, look: 'text-info' },
  satisfied: { icon: Check, look: 'text-good' },
  waived: { icon: Minus, look: 'text-rare' },
} as const;

type Condition = Pick<ClosingCondition, 'name' | 'status' | 'deadline' | 'completed_at' | 'overdue'>;

function Deadline({ condition }: { condition: Condition }) {
  const { status, deadline, overdue, completed_at: completed } = condition;
  if (completed) {
    return (
      <span>
        {status === 'waived' ? 'Waived' : 'Satisfied'} <Time at={completed} as="date" />
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

interface ConditionLineProps {
  condition: Condition;
  owner: string;
  /** The status and the available actions. */
  children: ReactNode;
  menu?: ReactNode;
}

/** One closing condition: its name, owner, deadline and status. */
export function ConditionLine({ condition, owner, children, menu }: ConditionLineProps) {
  const { icon: Mark, look } = marks[condition.status];
  return (
    <li className="flex items-start gap-3.5 px-4 py-3.5 tight:gap-2 tight:px-2 sm:items-center sm:px-5">
      <Mark className={cx('mt-0.5 size-5 shrink-0 sm:mt-0', look)} strokeWidth={2} aria-hidden />
      <div className="flex min-w-0 flex-1 flex-col gap-2.5 sm:flex-row sm:items-center sm:gap-4">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className={cx('font-medium', condition.completed_at !== null && 'text-soft')}>{condition.name}</span>
            {condition.overdue && <Badge tone="bad">Overdue</Badge>}
          </p>
          <p className="mt-0.5 flex flex-wrap gap-x-3 text-sm text-faint">
            <span>{owner}</span>
            <Deadline condition={condition} />
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-3">{children}</div>
      </div>
      {menu}
    </li>
  );
}

/** How many conditions are met, in words and as a bar. */
export function ConditionsProgress({ conditions }: { conditions: readonly Condition[] }) {
  const met = conditions.filter((one) => one.completed_at !== null).length;
  const overdue = conditions.filter((one) => one.overdue).length;
  return (
    <div className="px-4 pt-4 pb-4 sm:px-5">
      <p className="flex items-center gap-2.5">
        <span className="font-medium text-ink">
          {formatCount(met)} of {formatCount(conditions.length)} satisfied or waived
        </span>
        {overdue > 0 && <Badge tone="bad">{formatCount(overdue)} overdue</Badge>}
      </p>
      <ProgressBar
        label="Closing conditions satisfied or waived"
        done={met}
        of={conditions.length}
        className="mt-2.5 h-1.5"
      />
    </div>
  );
}
