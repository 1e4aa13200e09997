import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BellOff, SlidersHorizontal } from 'lucide-react';
import type { ReactNode } from 'react';
import { notificationsQuery, unreadQuery, useNotificationActions } from '../../api/notifications.ts';
import type { Notification } from '../../api/shapes.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { EmptyState, SkeletonCard } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { cx } from '../../lib/cx.ts';
import { accountPages, dealPages, paths } from '../../paths.ts';

interface Group {
  dealId: string | null;
  title: string;
  items: Notification[];
}

/** Groups notifications by deal, the deal with the latest one first. */
function byDeal(items: readonly Notification[]): Group[] {
  const groups = new Map<string | null, Group>();
  for (const one of items) {
    const group = groups.get(one.deal_id) ?? {
      dealId: one.deal_id,
      title: one.deal_title ?? 'Your account',
      items: [],
    };
    groups.set(one.deal_id, group);
    group.items.push(one);
  }
  return [...groups.values()];
}

const isKeyOf = <T extends object>(pages: T, place: PropertyKey): place is keyof T => Object.hasOwn(pages, place);

function Leading({ one, onOpen, children }: { one: Notification; onOpen: () => void; children: ReactNode }) {
  const look = 'flex items-start gap-3 px-4 py-3 -outline-offset-2 hover:bg-hover sm:px-5';
  if (one.deal_id !== null)
    return (
      <Link
        to={isKeyOf(dealPages, one.place) ? dealPages[one.place] : paths.deal}
        params={{ dealId: one.deal_id }}
        onClick={onOpen}
        className={look}
      >
        {children}
      </Link>
    );
  if (one.place === 'keys' && one.brokerage_id !== null)
    return (
      <Link to={paths.keys} search={{ brokerage: one.brokerage_id }} onClick={onOpen} className={look}>
        {children}
      </Link>
    );
  return (
    <Link
      to={isKeyOf(accountPages, one.place) ? accountPages[one.place] : paths.home}
      onClick={onOpen}
      className={look}
    >
      {children}
    </Link>
  );
}

function Entry({ one }: { one: Notification }) {
  const { read } = useNotificationActions();
  const isNew = one.read_at === null;
  // Who joins does so themselves: their name alone says it.
  const actor = one.actor_name === one.subject_name ? null : one.actor_name;
  const about = [one.subject_name, actor && `by ${actor}`].filter(Boolean).join(' · ');
  return (
    <li>
      <Leading one={one} onOpen={() => isNew && read.mutate([one.id])}>
        <span
          aria-hidden
          className={cx('mt-1.75 size-2 shrink-0 rounded-full', isNew ? 'bg-accent' : 'bg-transparent')}
        />
        <span className="min-w-0 flex-1 sm:flex sm:items-baseline sm:justify-between sm:gap-4">
          <span className="block min-w-0">
            <span className={cx('block', isNew ? 'font-medium text-ink' : 'text-soft')}>
              {isNew && <span className="sr-only">New: </span>}
              {one.summary}
            </span>
            {about && <span className="block truncate text-sm text-faint">{about}</span>}
          </span>
          <Time at={one.at} className="text-sm text-faint" />
        </span>
      </Leading>
    </li>
  );
}

/** The person's notifications, by deal; each links to its subject. */
export default function NotificationsPage() {
  const query = useInfiniteQuery(notificationsQuery);
  const { data } = useQuery(unreadQuery);
  const { read } = useNotificationActions();
  const count = data?.count ?? 0;
  return (
    <>
      <PageHeader
        title="Notifications"
        actions={
          <>
            <ButtonLink
              to="/settings/notifications"
              kind="quiet"
              icon={<SlidersHorizontal className="size-4" aria-hidden />}
            >
              Choose your notifications
            </ButtonLink>
            <Button
              disabled={count === 0}
              pending={read.isPending}
              onClick={() => read.mutate(undefined, { onSuccess: () => toast('All marked as read') })}
            >
              Mark all as read
            </Button>
          </>
        }
      />
      <PagedList
        query={query}
        skeleton={<SkeletonCard rows={6} />}
        empty={
          <Card>
            <EmptyState icon={BellOff} title="Nothing yet">
              When something happens on your deals that concerns you, it shows here.
            </EmptyState>
          </Card>
        }
      >
        {(items) => (
          <div className="flex flex-col gap-5">
            {byDeal(items).map(({ dealId, title, items: ofDeal }) => (
              <Card key={dealId ?? 'account'} title={title} flush>
                <ul className="divide-y divide-line overflow-clip rounded-b-xl border-t border-line">
                  {ofDeal.map((one) => (
                    <Entry key={one.id} one={one} />
                  ))}
                </ul>
              </Card>
            ))}
          </div>
        )}
      </PagedList>
    </>
  );
}
