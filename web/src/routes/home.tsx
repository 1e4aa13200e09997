import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useNavigate } from '@tanstack/react-router';
import { CircleCheckBig, Handshake, UserX } from 'lucide-react';
import {
  acceptInvitation,
  answerMembership,
  declineInvitation,
  homeQuery,
  leaveWaitingPlace,
  pipelineQuery,
} from '../api/home.ts';
import { refreshAll } from '../api/query-client.ts';
import { keys } from '../api/query-keys.ts';
import { useBrokerage, useBrokerageForNewDeals, useMe } from '../api/me.ts';
import type { DealInvitation, Home, Membership, Pipeline as PipelineFigures, WaitingPlace } from '../api/shapes.ts';
import { ActivityList } from '../components/activity-list.tsx';
import { StatePill } from '../components/badge.tsx';
import { Banner } from '../components/banner.tsx';
import { Button, ButtonLink } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Columns } from '../components/columns.tsx';
import { useConfirm } from '../components/confirm-dialog.tsx';
import { Money } from '../components/money.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { QueueList } from '../components/queue-list.tsx';
import { EmptyState, Loaded, Loading, Skeleton, SkeletonCard, SkeletonRows } from '../components/states.tsx';
import { Countdown, Time } from '../components/time.tsx';
import { toast, toastError } from '../components/toast.tsx';
import { formatCount, formatDates, formatMultiple, plural } from '../lib/format.ts';
import { dealPath, dealStates, roleInWords } from '../lib/states.ts';
import { useJoinedDeal } from '../lib/use-joined-deal.ts';

interface InvitationRowProps {
  /** What the person is invited to. */
  to: string;
  pending: boolean;
  accept: () => void;
  decline: () => void;
  children: ReactNode;
}

function InvitationRow({ to, pending, accept, decline, children }: InvitationRowProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3.5 sm:px-5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="truncate font-medium">{to}</p>
        <p className="text-sm text-faint">{children}</p>
      </div>
      <div className="flex gap-2">
        <Button size="sm" kind="primary" pending={pending} onClick={accept}>
          Accept<span className="sr-only"> the invitation to {to}</span>
        </Button>
        <Button size="sm" kind="quiet" onClick={decline}>
          Decline<span className="sr-only"> the invitation to {to}</span>
        </Button>
      </div>
    </li>
  );
}

/** An invitation to a brokerage. */
function MembershipRow({ membership: { brokerage_id, brokerage_name, role, expires_at } }: { membership: Membership }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const confirm = useConfirm();
  const accept = useMutation({
    mutationFn: () => answerMembership(brokerage_id, true),
    onSuccess: async () => {
      await client.refetchQueries({ queryKey: keys.me });
      void refreshAll(client);
      await navigate({ to: '/deals' });
    },
    onError: toastError,
  });
  const decline = () =>
    confirm(
      {
        title: 'Decline this invitation?',
        body: `${brokerage_name} sees that you declined, and can invite you again.`,
        action: 'Decline',
        done: 'Invitation declined',
      },
      async () => {
        await answerMembership(brokerage_id, false);
        await client.invalidateQueries({ queryKey: keys.home });
      },
    );
  return (
    <InvitationRow to={brokerage_name} pending={accept.isPending} accept={() => accept.mutate()} decline={decline}>
      You are invited to the brokerage as {roleInWords[role]} · until <Time at={expires_at} as="date" />
    </InvitationRow>
  );
}

function Invitation({ invitation }: { invitation: DealInvitation }) {
  const client = useQueryClient();
  const goTo = useJoinedDeal(false);
  const confirm = useConfirm();
  const accept = useMutation({
    mutationFn: () => acceptInvitation(invitation.participant_id),
    onSuccess: async ({ deal_id: dealId }) => {
      void refreshAll(client);
      await goTo(dealId);
    },
    onError: toastError,
  });
  const decline = () =>
    confirm(
      {
        title: 'Decline this invitation?',
        body: `${invitation.brokerage_name} sees that you declined, and can invite you again.`,
        action: 'Decline',
      },
      async () => {
        await declineInvitation(invitation.participant_id);
        await client.invalidateQueries({ queryKey: keys.home });
        toast('Invitation declined');
      },
    );
  return (
    <InvitationRow
      to={invitation.deal_title}
      pending={accept.isPending}
      accept={() => accept.mutate()}
      decline={decline}
    >
      {invitation.brokerage_name} invites you as {roleInWords[invitation.role]} · <Time at={invitation.invited_at} />
    </InvitationRow>
  );
}

/** A deal that an advisor does not see yet, and can leave. */
function WaitingDeal({ place: { participant_id, brokerage_name, deal_title } }: { place: WaitingPlace }) {
  const client = useQueryClient();
  const confirm = useConfirm();
  const leave = () =>
    confirm(
      {
        title: 'Leave this deal?',
        body: `The deal’s brokers see that you left, and ${brokerage_name} can invite you again.`,
        action: 'Leave',
        danger: true,
        done: 'You left the deal',
      },
      async () => {
        await leaveWaitingPlace(participant_id);
        await client.invalidateQueries({ queryKey: keys.home });
      },
    );
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3.5 sm:px-5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="truncate font-medium">{deal_title}</p>
        <p className="text-sm text-faint">
          {brokerage_name} · you have joined as an advisor, and whom you advise has not joined yet
        </p>
      </div>
      <Button size="sm" kind="quiet" onClick={leave}>
        Leave<span className="sr-only"> {deal_title}</span>
      </Button>
    </li>
  );
}

function Pipeline({ states }: { states: Home['deals_by_state'] }) {
  const counts = new Map(states.map(({ state, count }) => [state, count]));
  const shown = [...dealPath, 'withdrawn' as const].filter((state) => counts.has(state));
  return (
    <Card title="Deals by stage" flush>
      <ul className="pb-2">
        {shown.map((state) => (
          <li key={state}>
            <Link
              to="/deals"
              search={{ state: [state] }}
              className="flex items-center justify-between px-4 py-1.5 -outline-offset-2 hover:bg-hover sm:px-5 coarse:py-2.5"
            >
              <StatePill look={dealStates[state]} />
              <span className="font-medium tabular">{formatCount(counts.get(state) ?? 0)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Exclusivities({ exclusivities }: Pick<Home, 'exclusivities'>) {
  return (
    <Card title="Active exclusivity" flush>
      <ul className="pb-2">
        {exclusivities.map((one) => (
          <li key={one.deal_id}>
            <Link
              to="/deals/$dealId"
              params={{ dealId: one.deal_id }}
              className="block px-4 py-2 -outline-offset-2 hover:bg-hover sm:px-5"
            >
              <span className="block truncate">{one.deal_title}</span>
              <Countdown until={one.expires_at} className="text-sm" />
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Tells admins how many open deals of their brokerage none of its members runs. */
function WithoutBroker({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <Banner
      label="Deals without a broker"
      icon={UserX}
      tone="rare"
      says={
        <span className="font-medium text-ink">
          {count === 1
            ? 'One open deal has no broker of the brokerage.'
            : `${formatCount(count)} open deals have no broker of the brokerage.`}
        </span>
      }
    >
      <ButtonLink size="sm" to="/deals" search={{ broker: 'none' }}>
        {count === 1 ? 'Show it' : 'Show them'}
      </ButtonLink>
    </Banner>
  );
}

/** The total asking price of a currency's deals, and how many of them have no price yet. */
function PipelineTotal({ total: { currency, deals, priced, asking } }: { total: PipelineFigures['totals'][number] }) {
  return (
    <p>
      {priced > 0 && <Money amount={asking} currency={currency} className="mr-1 text-xl font-semibold text-ink" />}{' '}
      <span className="text-sm text-faint">
        {priced === 0
          ? `${plural(deals, 'deal')} in ${currency} without an asking price`
          : `asking price of ${plural(priced, 'deal')}${deals > priced ? `, ${formatCount(deals - priced)} without one` : ''}`}
      </span>
    </p>
  );
}

/** The most rows of the placeholder for prices: as many as the server lists deals with theirs. */
const mostPriced = 10;

/**
 * The asking prices of the deals that the reader runs, and the businesses' earnings computed from the uploads; `deals`
 * is the number of all their deals.
 */
function PipelineValue({ deals: most }: { deals: number }) {
  const isMember = useBrokerage() !== null;
  const { data, isPending } = useQuery(pipelineQuery);
  // Only members of a brokerage run deals.
  if (isPending && isMember) {
    return (
      <Loading>
        <SkeletonCard rows={Math.min(most, mostPriced) + 1} height="h-16" />
      </Loading>
    );
  }
  if (!data || data.totals.length === 0) return null;
  const count = data.totals.reduce((all, { deals }) => all + deals, 0);
  return (
    <Card title="Value of your pipeline" description="Adjusted EBITDA is computed from the uploaded financials." flush>
      <div className="flex flex-col gap-1 px-4 pb-3 sm:px-5">
        {data.totals.map((total) => (
          <PipelineTotal key={total.currency} total={total} />
        ))}
        {count > data.deals.length && (
          <p className="text-sm text-faint">
            The {formatCount(data.deals.length)} of {plural(count, 'deal')} with the highest asking prices:
          </p>
        )}
      </div>
      <ul className="divide-y divide-line border-t border-line">
        {data.deals.map((deal) => (
          <li key={deal.id}>
            <Link
              to="/deals/$dealId"
              params={{ dealId: deal.id }}
              className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 px-4 py-2.5 -outline-offset-2 hover:bg-hover sm:px-5"
            >
              <span className="truncate font-medium text-ink">{deal.title}</span>
              <Money amount={deal.asking_price} currency={deal.currency} className="text-right text-ink" />
              <span className="min-w-0 text-sm break-words text-faint">
                {deal.adjusted_ebitda === null ? (
                  'No full-year EBITDA yet'
                ) : (
                  <>
                    Adjusted EBITDA <Money amount={deal.adjusted_ebitda} currency={deal.earned_in} /> ({deal.period}
                    {deal.dates && `, ${formatDates(deal.dates)}`})
                  </>
                )}
              </span>
              <span className="text-right text-sm text-faint tabular">
                {deal.multiple && formatMultiple(deal.multiple)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function greeting(): string {
  const hour = new Date().getHours();
  return hour < 5 || hour >= 18 ? 'Good evening' : hour < 12 ? 'Good morning' : 'Good afternoon';
}

function NothingYet() {
  const mayOpen = useBrokerageForNewDeals() !== null;
  return (
    <Card>
      <EmptyState
        icon={Handshake}
        title={mayOpen ? 'Open your first deal' : 'No deals yet'}
        action={
          mayOpen && (
            <ButtonLink to="/deals" search={{ new: true }} kind="primary">
              New deal
            </ButtonLink>
          )
        }
      >
        {mayOpen
          ? 'Then invite the seller and buyers, send NDAs, and what is waiting for you shows here.'
          : 'Once someone invites you to a deal, the invitation waits here for you to accept.'}
      </EmptyState>
    </Card>
  );
}

function HomeView({ home }: { home: Home }) {
  const {
    queue,
    invitations,
    memberships,
    waiting_places: places,
    exclusivities,
    deals_by_state: states,
    activity,
  } = home;
  const waiting = queue.reduce((total, entry) => total + entry.count, 0);
  const deals = states.reduce((total, { count }) => total + count, 0);
  const hasInvitations = invitations.length > 0 || memberships.length > 0;
  return (
    <div className="flex flex-col gap-5">
      {hasInvitations && (
        <Card title="Invitations" flush>
          <ul className="divide-y divide-line border-t border-line">
            {memberships.map((one) => (
              <MembershipRow key={one.brokerage_id} membership={one} />
            ))}
            {invitations.map((one) => (
              <Invitation key={one.participant_id} invitation={one} />
            ))}
          </ul>
        </Card>
      )}
      {places.length > 0 && (
        <Card title="Deals that you see once the person you advise has joined" flush>
          <ul className="divide-y divide-line border-t border-line">
            {places.map((one) => (
              <WaitingDeal key={one.participant_id} place={one} />
            ))}
          </ul>
        </Card>
      )}
      {states.length === 0 ? (
        !hasInvitations && places.length === 0 && <NothingYet />
      ) : (
        <Columns
          main={
            <>
              <Card title={waiting > 0 ? `Waiting for you (${formatCount(waiting)})` : 'Waiting for you'} flush>
                {queue.length > 0 ? (
                  <div className="overflow-clip rounded-b-xl border-t border-line">
                    <QueueList entries={queue} withDeal />
                  </div>
                ) : (
                  <EmptyState icon={CircleCheckBig} title="All caught up" className="py-10">
                    New questions, NDAs and offers show here as they come in.
                  </EmptyState>
                )}
              </Card>
              <PipelineValue deals={deals} />
              {activity.length > 0 && (
                <Card title="Recent activity">
                  <ActivityList items={activity} withDeal />
                </Card>
              )}
            </>
          }
          side={
            <>
              {exclusivities.length > 0 && <Exclusivities exclusivities={exclusivities} />}
              <Pipeline states={states} />
            </>
          }
        />
      )}
    </div>
  );
}

/** The home page: the person's queue and invitations, and the states of their deals. */
export default function HomePage() {
  const { user } = useMe();
  const query = useQuery(homeQuery);
  return (
    <>
      <PageHeader title={`${greeting()}, ${user.name.split(' ')[0] ?? user.name}`} documentTitle="Home" />
      <Loaded
        query={query}
        skeleton={
          <Columns
            main={
              <div className="rounded-xl border border-line bg-surface">
                <SkeletonRows rows={6} height="h-16.5" />
              </div>
            }
            side={<Skeleton className="h-76 rounded-xl" />}
          />
        }
      >
        {(home) => (
          <>
            <WithoutBroker count={home.deals_without_broker} />
            <HomeView home={home} />
          </>
        )}
      </Loaded>
    </>
  );
}
