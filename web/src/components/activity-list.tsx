import { Link } from '@tanstack/react-router';
import { Bot } from 'lucide-react';
import type { Activity } from '../api/shapes.ts';
import { Avatar } from './avatar.tsx';
import { Time } from './time.tsx';

const unnamed = { key: 'An API key', brokerage: 'The brokerage' };

/** Returns the name of the actor: the person's name if known. */
const doer = (one: Activity) => one.user_name ?? (one.actor === null ? 'Dealkeep' : unnamed[one.actor]);

interface ActivityListProps {
  items: readonly Activity[];
  /** Names the deal of each activity, for lists of several deals. */
  withDeal?: boolean;
}

/** The activities, latest first; those of an assistant with its client. */
export function ActivityList({ items, withDeal = false }: ActivityListProps) {
  return (
    <ol className="flex flex-col gap-4">
      {items.map((one) => (
        <li key={one.id} className="flex gap-3">
          <Avatar name={doer(one)} size="sm" />
          <div className="min-w-0 flex-1 text-sm">
            <p className="text-soft">
              <span className="font-medium text-ink">{doer(one)}</span>{' '}
              {one.named === null ? (
                one.summary
              ) : (
                <>
                  {one.named.before}
                  <em className="break-words">{one.named.name}</em>
                  {one.named.after}
                </>
              )}
              {withDeal && one.deal_id && (
                <>
                  {' · '}
                  <Link
                    to="/deals/$dealId"
                    params={{ dealId: one.deal_id }}
                    className="font-medium text-ink underline decoration-line underline-offset-3 hover:decoration-current"
                  >
                    {one.deal_title}
                  </Link>
                </>
              )}
            </p>
            <p className="mt-0.5 flex items-center gap-2 text-faint">
              <Time at={one.at} />
              {one.client_name && (
                <span className="inline-flex min-w-0 items-center gap-1">
                  <Bot className="size-3.5 shrink-0" aria-hidden />
                  <span className="truncate">{one.client_name}</span>
                </span>
              )}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}
