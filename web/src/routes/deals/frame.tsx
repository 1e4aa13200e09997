import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Outlet, useChildMatches } from '@tanstack/react-router';
import { ArrowRight, Ban, ChevronLeft, Ellipsis, HeartHandshake, Pencil } from 'lucide-react';
import { useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { closingWarnings, dealQuery, useDealActions } from '../../api/deals.ts';
import { useMe } from '../../api/me.ts';
import { useReadAt } from '../../api/notifications.ts';
import type { DealPage, DealPlace, DealState } from '../../api/shapes.ts';
import { StatePill } from '../../components/badge.tsx';
import { Button, ButtonLink, IconButton } from '../../components/button.tsx';
import { Columns } from '../../components/columns.tsx';
import { useConfirm } from '../../components/confirm-dialog.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Loaded, Skeleton } from '../../components/states.tsx';
import { DealStepper } from './stepper.tsx';
import { TabLink, TabNav } from '../../components/tabs.tsx';
import { toastError } from '../../components/toast.tsx';
import { dealPath, dealStates } from '../../lib/states.ts';
import { dealPages } from '../../paths.ts';
import { DealContext } from './context.ts';
import { EditDealDialog } from './dialogs.tsx';
import { ExclusivityBanner } from './exclusivity.tsx';
import { NoBrokerBanner } from './no-broker.tsx';
import { NoSection } from './no-section.tsx';
import { JoinBanner, OwnRoleBadge } from './own-role.tsx';
import { tabsOf } from './tabs.ts';

const route = getRouteApi('/app/deals/$dealId');

const places = [
  'deal',
  'questions',
  'nda',
  'documents',
  'offers',
  'qoe',
  'closing',
  'findings',
  'people',
] as const satisfies readonly DealPlace[];

const consequences: Partial<Record<DealState, string>> = {
  listed: 'Invited buyers see the deal as listed and can make offers.',
  under_offer:
    'Everyone on the deal sees that it is under offer. To list it again, exclusivity has to be granted and released first.',
  diligence: 'The exclusive buyer begins diligence. From here on the deal cannot be listed again.',
  closing: 'The parties work through the closing conditions.',
  closed: 'The sale is done. The deal stays readable but can no longer be changed. This cannot be undone.',
  withdrawn:
    'The sale ends here: exclusivity ends, and no more offers can be made or questions asked. This cannot be undone.',
};

/** No button moves a deal to exclusivity: it is granted to a buyer, on the page that compares their offers. */
function ChooseBuyer({ page: { deal, counts, participants } }: { page: DealPage }) {
  if (!participants.some((one) => one.role === 'buyer' && one.status === 'active')) return null;
  return (
    <ButtonLink
      kind="primary"
      to={counts.offers ? '/deals/$dealId/offers' : '/deals/$dealId/people'}
      params={{ dealId: deal.id }}
      icon={<HeartHandshake className="size-4" />}
    >
      {counts.offers ? 'Compare offers' : 'Choose a buyer'}
    </ButtonLink>
  );
}

/** The label of a move, with the stage's title as in the stepper above. */
const moveTitle = (to: DealState): string => (to === 'withdrawn' ? 'Withdraw deal' : `Move to ${dealStates[to].label}`);

/** The consequences of a move, and before closing, what is still open. */
function Consequence({ to, warnings }: { to: DealState; warnings: readonly string[] }) {
  return (
    <>
      {warnings.length > 0 && (
        <div className="mb-3">
          <p className="font-medium text-ink">Still open before closing:</p>
          <ul className="mt-1 list-disc pl-5">
            {warnings.map((warning) => (
              <li key={warning} className="break-words">
                {warning}
              </li>
            ))}
          </ul>
        </div>
      )}
      <p>{consequences[to] ?? 'Everyone on the deal sees the new stage.'}</p>
    </>
  );
}

function MoveButtons({ page }: { page: DealPage }) {
  const { deal, moves, capacities } = page;
  const [editing, setEditing] = useState(false);
  const confirm = useConfirm();
  const { move } = useDealActions(deal.id);
  const [looking, setLooking] = useState(false);
  const ask = (to: DealState, warnings: readonly string[]) =>
    confirm(
      {
        title: to === 'withdrawn' ? 'Withdraw this deal?' : `Move the deal to ${dealStates[to].label}?`,
        body: <Consequence to={to} warnings={warnings} />,
        action: warnings.length > 0 ? 'Close anyway' : moveTitle(to),
        danger: to === 'withdrawn' || warnings.length > 0,
        done: to === 'withdrawn' ? 'The deal is withdrawn' : `The deal has moved to ${dealStates[to].label}`,
      },
      () => move.mutateAsync({ to, confirm: warnings.length > 0 }),
    );
  const moveTo = async (to: DealState) => {
    if (to !== 'closed') return ask(to, []);
    setLooking(true);
    try {
      ask(to, await closingWarnings(deal.id));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toastError(error);
    } finally {
      setLooking(false);
    }
  };
  const onward = moves.find((to) => dealPath.indexOf(to) > dealPath.indexOf(deal.state));
  const others = moves.filter((to) => to !== onward);
  return (
    <>
      {onward && (
        <Button
          kind="primary"
          pending={looking}
          onClick={() => void moveTo(onward)}
          icon={<ArrowRight className="size-4" />}
        >
          {moveTitle(onward)}
        </Button>
      )}
      {deal.state === 'under_offer' && capacities.can_grant_exclusivity && <ChooseBuyer page={page} />}
      {(capacities.can_edit || others.length > 0) && (
        <Menu trigger={<IconButton kind="secondary" label="More actions" icon={<Ellipsis className="size-4.5" />} />}>
          {capacities.can_edit && (
            <MenuItem icon={<Pencil />} onSelect={() => setEditing(true)}>
              Edit deal
            </MenuItem>
          )}
          {others.map((to) => (
            <MenuItem
              key={to}
              danger={to === 'withdrawn'}
              icon={to === 'withdrawn' ? <Ban /> : <ArrowRight />}
              onSelect={() => void moveTo(to)}
            >
              {moveTitle(to)}
            </MenuItem>
          ))}
        </Menu>
      )}
      {editing && <EditDealDialog deal={deal} onClose={() => setEditing(false)} />}
    </>
  );
}

/** The name under which notifications know this page of a deal; null if none are about it. */
const placeOf = (section: string): DealPlace | null => places.find((place) => dealPages[place] === section) ?? null;

function Frame({ page }: { page: DealPage }) {
  const { deal } = page;
  const { features } = useMe();
  const tabs = tabsOf(page, features);
  const section = useChildMatches({ select: (matches): string | undefined => matches[0]?.fullPath.replace(/\/$/, '') });
  const isShown = tabs.some(({ to }) => to === section);
  useReadAt(deal.id, isShown && section !== undefined ? placeOf(section) : null);
  return (
    <DealContext value={page}>
      <header className="mb-4">
        <Link
          to="/deals"
          className="-ml-1 mb-1.5 inline-flex items-center gap-0.5 rounded-sm py-0.5 pr-1.5 text-sm text-faint hover:text-ink coarse:relative coarse:after:absolute coarse:after:-inset-2.5"
        >
          <ChevronLeft className="size-4" aria-hidden />
          Deals
        </Link>
        <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
          <div className="min-w-0">
            <h1 className="font-serif text-2xl font-semibold text-balance text-ink">{deal.title}</h1>
            <p className="mt-2 flex flex-wrap items-center gap-x-2.5 gap-y-1.5 text-soft">
              <StatePill look={dealStates[deal.state]} className="max-md:hidden" />
              <OwnRoleBadge page={page} />
              <span>{[deal.industry, deal.location].filter(Boolean).join(' · ')}</span>
            </p>
          </div>
          <div className="flex flex-wrap items-center gap-2">
            <MoveButtons page={page} />
          </div>
        </div>
      </header>
      <div className="mb-5">
        <DealStepper state={deal.state} />
      </div>
      <NoBrokerBanner page={page} />
      <JoinBanner page={page} />
      <ExclusivityBanner page={page} />
      <TabNav label="Sections of the deal" className="mb-6 border-b border-line">
        {tabs.map(({ to, label, count, countLabel }) => (
          <TabLink
            key={to}
            to={to}
            params={{ dealId: deal.id }}
            activeOptions={{ exact: to === '/deals/$dealId' }}
            resetScroll={false}
            count={count}
            {...(countLabel && { countLabel })}
          >
            {label}
          </TabLink>
        ))}
      </TabNav>
      {isShown ? <Outlet /> : <NoSection />}
    </DealContext>
  );
}

function FrameSkeleton() {
  return (
    <>
      <Skeleton className="mb-2.5 h-5 w-16" />
      <Skeleton className="h-8.5 w-96 max-w-full" />
      <Skeleton className="mt-2.5 h-5.5 w-72 max-w-full" />
      <Skeleton className="mt-6 h-1 w-full md:mb-9" />
      <Skeleton className="mt-10 h-9 w-full max-w-2xl" />
      <div className="mt-8">
        <Columns main={<Skeleton className="h-72 rounded-xl" />} side={<Skeleton className="h-72 rounded-xl" />} />
      </div>
    </>
  );
}

/** The part above every tab of a deal: title and stage, stepper, exclusivity, and the tabs. */
export default function DealFrame() {
  const { dealId } = route.useParams();
  const query = useQuery(dealQuery(dealId));
  return (
    <Loaded query={query} skeleton={<FrameSkeleton />} level={1}>
      {/* A frame per deal: an open dialog holds the values of one deal and would save them in another. */}
      {(page) => <Frame key={page.deal.id} page={page} />}
    </Loaded>
  );
}
