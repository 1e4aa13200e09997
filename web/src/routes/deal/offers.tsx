import { useQuery } from '@tanstack/react-query';
import { HandCoins, Plus } from 'lucide-react';
import { useState } from 'react';
import { offersQuery, useOfferActions } from '../../api/offers.ts';
import type { Id, Offer } from '../../api/types.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../components/states.tsx';
import { formatMoney } from '../../lib/format.ts';
import { useDeal } from './context.ts';
import { endOfBusinessIn, UntilDialog } from './exclusivity.tsx';
import { Comparison } from './offers/comparison.tsx';
import { InviteBuyerLink } from './invite-buyer-link.tsx';
import { HistoryDrawer } from './offers/history-drawer.tsx';
import { OfferDialog } from './offers/offer-dialog.tsx';
import { byBuyer } from './offers/payload.ts';
import { TabPage } from './tab-page.tsx';

/** Accepts an offer by granting its buyer exclusivity; the deal moves there by it. */
function AcceptDialog({ offer, onClose }: { offer: Offer; onClose: () => void }) {
  const { deal } = useDeal();
  const { accept } = useOfferActions(deal.id);
  const { purchase_price: price, currency } = offer.payload;
  const what = price === null ? 'this offer' : `the offer of ${formatMoney(price, currency)}`;
  return (
    <UntilDialog
      title={`Accept ${what}?`}
      description={`${offer.buyer_name} is granted exclusivity and the deal moves there. Other buyers see that it is under offer, and no more.`}
      action="Accept offer"
      initial={endOfBusinessIn(45)}
      submit={(expires_at) => accept.mutateAsync({ id: offer.id, expires_at })}
      done={`The offer of ${offer.buyer_name} is accepted.`}
      onClose={onClose}
    />
  );
}

/** The offers of a deal: buyers submit and revise, brokers compare and accept. */
export default function OffersTab() {
  const { deal, side, capacities } = useDeal();
  const query = useQuery(offersQuery(deal.id));
  const [offering, setOffering] = useState(false);
  const [shown, setShown] = useState<Id | null>(null);
  const [accepting, setAccepting] = useState<Offer | null>(null);
  const groups = byBuyer(query.data?.items ?? []);
  const mine = groups.find(({ current }) => current.mine)?.current;
  const history = groups.find(({ current }) => current.buyer_user_id === shown);
  const submit = capacities.can_submit_offer && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setOffering(true)}>
      {mine ? 'Revise offer' : 'Submit offer'}
    </Button>
  );
  return (
    <TabPage title="Offers" actions={query.isSuccess && groups.length > 0 && submit}>
      <Loaded
        query={query}
        skeleton={
          <Card flush>
            <SkeletonRows rows={8} height="h-11" />
          </Card>
        }
      >
        {() =>
          groups.length > 0 ? (
            <Comparison
              offers={groups}
              onHistory={(offer) => setShown(offer.buyer_user_id)}
              onAccept={(offer) => setAccepting(offer)}
            />
          ) : (
            <Card>
              <EmptyState icon={HandCoins} title="No offers yet" action={submit || <InviteBuyerLink />}>
                {side === 'buyer'
                  ? capacities.can_submit_offer
                    ? 'Say what you offer and on which terms. You can revise it as long as the sale is open.'
                    : 'The offer of your side shows here once it is submitted.'
                  : 'Offers of buyers show here side by side as they come, with every revision.'}
              </EmptyState>
            </Card>
          )
        }
      </Loaded>
      {offering && <OfferDialog before={mine} onClose={() => setOffering(false)} />}
      {history && <HistoryDrawer revisions={history.revisions} onClose={() => setShown(null)} />}
      {accepting && <AcceptDialog offer={accepting} onClose={() => setAccepting(null)} />}
    </TabPage>
  );
}
