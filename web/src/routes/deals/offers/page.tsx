import { useInfiniteQuery, usePrefetchQuery } from '@tanstack/react-query';
import { HandCoins, Plus } from 'lucide-react';
import { Fragment, useState } from 'react';
import { assessmentQuery, offersQuery, useOfferActions } from '../../../api/offers.ts';
import { useVisit } from '../../../api/visits.ts';
import type { Offer } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Notice } from '../../../components/notice.tsx';
import { itemsOf, PagedList } from '../../../components/paged-list.tsx';
import { EmptyState, SkeletonCard } from '../../../components/states.tsx';
import { formatMoney, plural } from '../../../lib/format.ts';
import { useDeal } from '../context.ts';
import { endOfBusinessIn } from '../../../lib/local-time.ts';
import { UntilDialog } from '../exclusivity.tsx';
import { AgreedTerms, NothingAgreed } from './agreed-terms.tsx';
import { Assessment } from './assessment.tsx';
import { Comparison } from './comparison.tsx';
import { InviteBuyerLink } from '../invite-buyer-link.tsx';
import { HistoryDrawer } from './history-drawer.tsx';
import { OfferDialog } from './dialog.tsx';
import { offersRoute, typedIn } from './search.ts';
import { ReportLinks } from '../report-links.tsx';
import { byPrice, isCompared } from '../../../components/offers/payload.ts';
import { TabPage } from '../tab-page.tsx';

/** Accepts an offer by granting its buyer exclusivity, which moves the deal to that stage. */
function AcceptDialog({ offer, onClose }: { offer: Offer; onClose: () => void }) {
  const { deal } = useDeal();
  const { accept } = useOfferActions(deal.id);
  const { purchase_price: price, currency } = offer.payload;
  const what = !price ? 'this offer' : `the offer of ${formatMoney(price, currency)}`;
  return (
    <UntilDialog
      draft={`acceptance/${offer.id}`}
      title={`Accept ${what}?`}
      description={`${offer.buyer_name} is granted exclusivity, and the deal moves to that stage. Other buyers see that it is under offer, and nothing more.`}
      action="Accept offer"
      initial={endOfBusinessIn({ days: 45 })}
      submit={(expires_at) => accept.mutateAsync({ id: offer.id, expires_at })}
      done={`The offer from ${offer.buyer_name} is accepted`}
      onClose={onClose}
    />
  );
}

/** Asks the seller which offer they want, and lists the brokers to tell. */
function AcceptedByBroker() {
  const { deal, participants } = useDeal();
  const brokers = participants.filter(({ role, status }) => role === 'broker' && status === 'active');
  return (
    <Notice title="Which offer do you want?">
      Compare them here and tell your broker, who accepts it for you:{' '}
      {brokers.map(({ id, name, email }, place) => (
        <Fragment key={id}>
          {place > 0 && ', '}
          <a
            href={`mailto:${encodeURIComponent(email)}?${new URLSearchParams({ subject: deal.title }).toString().replaceAll('+', '%20')}`}
            className="rounded-sm text-accent-ink underline underline-offset-3 hover:text-ink coarse:py-2.5"
          >
            write to {name}
          </a>
        </Fragment>
      ))}
      .
    </Notice>
  );
}

interface NotAllProps {
  count: number;
  pending: boolean;
  onMore: () => void;
}

/** Says that a deal has more offers than are loaded, so the highest of these may not be the highest of all. */
function NotAll({ count, pending, onMore }: NotAllProps) {
  return (
    <Notice title={`These are the latest ${plural(count, 'offer')}`}>
      There are more, and one of them may be higher.{' '}
      <Button size="sm" pending={pending} onClick={onMore}>
        Show more offers
      </Button>
    </Notice>
  );
}

/**
 * The offers to compare, highest first: the accepted terms and a proposed change of them, and the current offer of
 * every other buyer, even if it was declined.
 */
function beside(current: readonly Offer[], agreed: Offer | null | undefined): Offer[] {
  const others = current.filter(({ id }) => id !== agreed?.id);
  const shown = others.filter((offer) => isCompared(offer) || offer.participant_id !== agreed?.participant_id);
  return byPrice(agreed ? [...shown, agreed] : shown);
}

/** The offers of a deal: buyers submit and revise, brokers compare and accept. */
export default function OffersTab() {
  const { deal, side, capacities } = useDeal();
  const query = useInfiniteQuery(offersQuery(deal.id));
  // Shown below the offers, and requested with them.
  usePrefetchQuery(assessmentQuery(deal.id, typedIn(offersRoute.useSearch())));
  useVisit(deal.id, 'offers');
  const [offering, setOffering] = useState(false);
  const [shown, setShown] = useState<Offer | null>(null);
  const [accepting, setAccepting] = useState<Offer | null>(null);
  const current = itemsOf(query.data);
  // These two offers may not be among the loaded ones.
  const { agreed, selected = null } = query.data?.pages[0] ?? {};
  const offers = beside(current, agreed);
  const mine = current.find((offer) => offer.mine);
  // An offer can be accepted later when exclusivity was granted without one.
  const undecided = capacities.can_decide_offer_changes && agreed === null ? selected : null;
  const submit = capacities.can_submit_offer && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setOffering(true)}>
      {agreed?.mine ? 'Propose a change' : mine ? 'Revise offer' : 'Submit offer'}
    </Button>
  );
  return (
    <TabPage
      title="Offers"
      actions={
        query.isSuccess &&
        offers.length > 0 && (
          <>
            <ReportLinks dealId={deal.id} />
            {submit}
          </>
        )
      }
    >
      <PagedList
        query={query}
        skeleton={<SkeletonCard rows={8} height="h-11" />}
        className="flex flex-col gap-5"
        empty={
          <Card>
            <EmptyState icon={HandCoins} title="No offers yet" action={submit || <InviteBuyerLink />}>
              {side === 'buyer'
                ? capacities.can_submit_offer
                  ? 'State your price and terms. You can revise your offer as long as the sale is open.'
                  : deal.state === 'draft'
                    ? 'Offers can be made once a broker has listed the deal.'
                    : 'Your side’s offer shows here once it is submitted.'
                : 'Buyers’ offers show here side by side as they come in, with every revision.'}
            </EmptyState>
          </Card>
        }
      >
        {() => (
          <>
            {agreed && <AgreedTerms agreed={agreed} current={selected} />}
            {undecided && <NothingAgreed current={undecided} />}
            {side === 'seller' && !agreed && (deal.state === 'listed' || deal.state === 'under_offer') && (
              <AcceptedByBroker />
            )}
            {query.hasNextPage && (
              <NotAll
                count={current.length}
                pending={query.isFetchingNextPage}
                onMore={() => void query.fetchNextPage()}
              />
            )}
            <Comparison offers={offers} onHistory={setShown} onAccept={setAccepting} />
            <Assessment offers={offers} />
          </>
        )}
      </PagedList>
      {offering && <OfferDialog before={mine} agreed={agreed?.mine ?? false} onClose={() => setOffering(false)} />}
      {shown && <HistoryDrawer of={shown} onClose={() => setShown(null)} />}
      {accepting && <AcceptDialog offer={accepting} onClose={() => setAccepting(null)} />}
    </TabPage>
  );
}
