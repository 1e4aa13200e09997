import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { QueueEntry } from '../api/shapes.ts';
import { cx } from '../lib/cx.ts';
import { queues } from '../lib/queues.ts';
import { useNow } from '../lib/use-now.ts';
import { DayText, Time } from './time.tsx';

interface QueueListProps {
  entries: readonly QueueEntry[];
  /** Names the deal of each entry, for lists of several deals. */
  withDeal?: boolean;
}

/** The tasks that await the person, overdue ones first, each a link to where it is done. */
export function QueueList({ entries, withDeal = false }: QueueListProps) {
  const now = useNow('half-minute');
  const isOverdue = ({ due_at }: QueueEntry) => due_at !== null && new Date(due_at).getTime() < now;
  const sorted = [...entries.filter(isOverdue), ...entries.filter((entry) => !isOverdue(entry))];
  return (
    <ul className="divide-y divide-line">
      {sorted.map((entry) => {
        const { icon: Icon, say, to } = queues[entry.kind];
        const overdue = isOverdue(entry);
        return (
          <li key={`${entry.deal_id} ${entry.kind}`}>
            <Link
              to={to}
              params={{ dealId: entry.deal_id }}
              className="group flex items-center gap-3.5 px-4 py-3 -outline-offset-2 hover:bg-hover sm:px-5"
            >
              <span
                className={cx(
                  'grid size-9 shrink-0 place-items-center rounded-full',
                  overdue ? 'bg-bad-wash text-bad' : 'bg-accent-wash text-accent-ink',
                )}
              >
                <Icon className="size-4.5" strokeWidth={1.8} aria-hidden />
              </span>
              <span className="min-w-0 flex-1 sm:flex sm:items-center sm:justify-between sm:gap-4">
                <span className="block min-w-0">
                  <span className="block font-medium text-ink">{say(entry.count)}</span>
                  {withDeal && <span className="block truncate text-sm text-faint">{entry.deal_title}</span>}
                </span>
                <span className={cx('block text-sm', overdue ? 'font-medium text-bad' : 'text-faint')}>
                  {entry.due_on ? (
                    <>
                      {overdue ? 'was due ' : 'due '}
                      <DayText day={entry.due_on} />
                    </>
                  ) : (
                    entry.waiting_since && <Time at={entry.waiting_since} />
                  )}
                </span>
              </span>
              <ChevronRight className="size-4 shrink-0 text-faint group-hover:text-ink" aria-hidden />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
