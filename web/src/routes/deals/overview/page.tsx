import { useInfiniteQuery, usePrefetchInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { dealActivityQuery } from '../../../api/deals.ts';
import { homeQuery } from '../../../api/home.ts';
import type { Home, Participant } from '../../../api/shapes.ts';
import { ActivityList } from '../../../components/activity-list.tsx';
import { Avatar } from '../../../components/avatar.tsx';
import { BrokerageLogo } from '../../../components/brokerage-logo.tsx';
import { Badge } from '../../../components/badge.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { Columns } from '../../../components/columns.tsx';
import { Money } from '../../../components/money.tsx';
import { useTitle } from '../../../lib/use-title.ts';
import { QueueList } from '../../../components/queue-list.tsx';
import { itemsOf } from '../../../components/paged-list.tsx';
import { Loaded, Loading, SkeletonCard, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { callerRoles, participantRoles } from '../../../lib/states.ts';
import { AssistantsCard } from './assistants-card.tsx';
import { NotificationsCard } from './notifications-card.tsx';
import { useDeal } from '../context.ts';
import { useIsHeld } from '../exclusivity.tsx';

/** Classes of the link beside a card's title that leads to everything the card shows a part of. */
const more =
  '-my-1 rounded-sm py-1 text-sm text-accent-ink underline-offset-3 hover:underline coarse:-my-2.5 coarse:py-2.5';

function WaitingHere({ queue }: Pick<Home, 'queue'>) {
  const { deal } = useDeal();
  const entries = queue.filter((entry) => entry.deal_id === deal.id);
  if (entries.length === 0) return null;
  return (
    <Card title="Waiting for you" flush>
      <div className="overflow-clip rounded-b-xl border-t border-line">
        <QueueList entries={entries} />
      </div>
    </Card>
  );
}

function About() {
  const { deal } = useDeal();
  return (
    <Card title="About the business">
      <Facts className="sm:grid-cols-3">
        <Fact label="Asking price">
          <Money amount={deal.asking_price} currency={deal.currency} className="text-md font-semibold" />
        </Fact>
        <Fact label="Industry">{deal.industry ?? '–'}</Fact>
        <Fact label="Location">{deal.location ?? '–'}</Fact>
        {deal.closed_at ? (
          <Fact label="Closed">
            <Time at={deal.closed_at} as="date" />
          </Fact>
        ) : (
          <Fact label="Opened">
            <Time at={deal.created_at} as="date" />
          </Fact>
        )}
        <Fact label="Last activity">
          <Time at={deal.updated_at} />
        </Fact>
      </Facts>
      {deal.summary && (
        <div className="mt-5 flex max-w-prose flex-col gap-3 border-t border-line pt-4 text-soft">
          {deal.summary.split(/\n{2,}/).map((paragraph) => (
            <p key={paragraph} className="whitespace-pre-line">
              {paragraph}
            </p>
          ))}
        </div>
      )}
      <div className="mt-4 flex flex-wrap items-center gap-3 text-sm text-faint">
        <BrokerageLogo brokerageId={deal.organization_id} at={deal.organization_logo_at} />
        <p>
          Represented by {deal.organization_name}.{' '}
          {deal.needs_nda
            ? 'Buyers see who the seller is once their NDA is signed.'
            : 'Buyers see who the seller is without an NDA.'}
        </p>
      </div>
    </Card>
  );
}

/** The overview shows at most this many people and entries of activity. */
const shown = 6;

function Person({ person }: { person: Participant }) {
  const { deal } = useDeal();
  const isHeld = useIsHeld(deal);
  const isHolder = person.user_id === deal.exclusive_buyer_user_id;
  const look = isHolder && isHeld ? callerRoles.exclusive_buyer : participantRoles[person.role];
  return (
    <li className="flex items-center gap-3">
      <Avatar name={person.name} />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{person.name}</span>
        <span className="block truncate text-sm text-faint">{person.email}</span>
      </span>
      <Badge tone={look.tone}>{look.label}</Badge>
    </li>
  );
}

function People() {
  const { deal, participants } = useDeal();
  const active = participants.filter((one) => one.status === 'active');
  return (
    <Card
      title="People"
      actions={
        <Link to="/deals/$dealId/people" params={{ dealId: deal.id }} className={more}>
          {active.length > shown ? `All ${active.length} people` : 'All people'}
        </Link>
      }
    >
      <ul className="flex flex-col gap-3.5">
        {active.slice(0, shown).map((person) => (
          <Person key={person.id} person={person} />
        ))}
      </ul>
    </Card>
  );
}

/** How many pages of the activity are looked through for the latest that the person may see. */
const mostPages = 5;

function RecentActivity() {
  const { deal } = useDeal();
  const query = useInfiniteQuery(dealActivityQuery(deal.id));
  const { data: found, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  // A page may be short because others did much that the person may not see: what they may see is further back.
  const goesOn = found !== undefined && hasNextPage && itemsOf(found).length < shown && found.pages.length < mostPages;
  useEffect(() => {
    if (goesOn && !isFetching && !isFetchNextPageError) void fetchNextPage();
  }, [goesOn, isFetching, isFetchNextPageError, fetchNextPage]);
  return (
    <Card
      title="Recent activity"
      actions={
        <Link to="/deals/$dealId/activity" params={{ dealId: deal.id }} className={more}>
          All activity
        </Link>
      }
    >
      <Loaded query={query} skeleton={<SkeletonText lines={6} />}>
        {(data) => {
          const items = itemsOf(data).slice(0, shown);
          if (items.length > 0) return <ActivityList items={items} />;
          if (goesOn && !isFetchNextPageError) return <SkeletonText lines={6} />;
          // Later pages may still hold activity that the person may see.
          return (
            <p className="text-faint">{query.hasNextPage ? 'No recent activity.' : 'Nothing has happened yet.'}</p>
          );
        }}
      </Loaded>
    </Card>
  );
}

/** The overview of a deal: what waits for the person, the business, the people, and recent activity. */
export default function OverviewTab() {
  const { deal, capacities } = useDeal();
  useTitle(deal.title);
  const home = useQuery(homeQuery);
  usePrefetchInfiniteQuery(dealActivityQuery(deal.id));
  return (
    <>
      <h2 className="sr-only">Overview</h2>
      <Columns
        main={
          // What waits stands first: once it is known, nothing below it moves.
          home.isPending && home.fetchStatus === 'fetching' && home.failureCount === 0 ? (
            <Loading>
              <SkeletonCard rows={8} height="h-16" />
            </Loading>
          ) : (
            <>
              <WaitingHere queue={home.data?.queue ?? []} />
              <About />
              {capacities.can_see_activity && <RecentActivity />}
            </>
          )
        }
        side={
          <>
            <People />
            {(capacities.can_opt_in_tools || capacities.can_shut_off_tools) && <AssistantsCard />}
            {deal.state !== 'closed' && <NotificationsCard dealId={deal.id} />}
          </>
        }
      />
    </>
  );
}
