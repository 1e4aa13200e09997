import { useId } from 'react';
import { useOfferActions } from '../../../api/offers.ts';
import type { Offer } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Money } from '../../../components/money.tsx';
import { Time } from '../../../components/time.tsx';
import { useIsOver } from '../../../lib/use-is-over.ts';
import { useDeal } from '../context.ts';
import { linesOf } from './history-drawer.tsx';

/** The changes that a proposal makes to the accepted terms: each line that differs, as accepted and as proposed. */
function Changes({ agreed, proposal }: { agreed: Offer; proposal: Offer }) {
  const before = new Map(linesOf(agreed.payload).map((line) => [line.label, line]));
  const after = new Map(linesOf(proposal.payload).map((line) => [line.label, line]));
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (label) => before.get(label)?.value !== after.get(label)?.value,
  );
  if (changed.length === 0) return <p className="text-sm text-faint">Same as the accepted terms.</p>;
  const none = <span className="text-faint">–</span>;
  return (
    <table className="w-full table-fixed text-left">
      <thead>
        <tr className="text-sm text-faint">
          <th scope="col" className="py-1.5 pr-4 font-normal">
            <span className="sr-only">What changes</span>
          </th>
          <th scope="col" className="py-1.5 pr-4 font-normal">
            Accepted
          </th>
          <th scope="col" className="py-1.5 font-normal">
            Proposed
          </th>
        </tr>
      </thead>
      <tbody>
        {changed.map((label) => (
          <tr key={label} className="border-t border-line align-top">
            <th scope="row" className="py-2 pr-4 text-sm font-normal text-faint">
              {label}
            </th>
            <td className="py-2 pr-4 break-words tabular">{before.get(label)?.shown ?? none}</td>
            <td className="py-2 font-semibold break-words text-accent-ink tabular">
              {after.get(label)?.shown ?? none}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const words = {
  change: {
    accepted: {
      title: 'Accept this change?',
      body: 'The proposed terms replace those accepted before, which stay on record.',
      action: 'Accept change',
      done: 'The change is accepted',
    },
    declined: {
      title: 'Decline this change?',
      body: 'The accepted terms stay as they are. The buyer sees that the change was declined, and can propose another.',
      action: 'Decline change',
      done: 'The change is declined',
    },
  },
  offer: {
    accepted: {
      title: 'Accept this offer?',
      body: 'Its terms become the accepted terms.',
      action: 'Accept offer',
      done: 'The offer is accepted',
    },
    declined: {
      title: 'Decline this offer?',
      body: 'The buyer sees that the offer was declined, and can revise it.',
      action: 'Decline offer',
      done: 'The offer is declined',
    },
  },
} as const;

/** How a broker is asked whether to decline an offer. */
export const declining = words.offer.declined;

/**
 * Lets a broker accept or decline what the exclusive buyer submitted: a change of the accepted terms or, without any,
 * an offer.
 */
function DecisionButtons({ offer, what }: { offer: Offer; what: keyof typeof words }) {
  const { decide } = useOfferActions(offer.deal_id);
  const confirm = useConfirm();
  const why = useId();
  const over = useIsOver(offer.payload.expires_at);
  const ask = (decision: 'accepted' | 'declined') =>
    confirm(words[what][decision], () => decide.mutateAsync({ id: offer.id, decision }));
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2">
      <Button
        kind="primary"
        size="sm"
        disabled={over}
        aria-describedby={over ? why : undefined}
        onClick={() => ask('accepted')}
      >
        {words[what].accepted.action}
      </Button>
      {!offer.declined_at && !offer.accepted_at && (
        <Button size="sm" onClick={() => ask('declined')}>
          Decline
        </Button>
      )}
      {over && (
        <span id={why} className="text-sm text-faint">
          It has expired: ask the buyer to submit it again.
        </span>
      )}
    </div>
  );
}

/**
 * The exclusive buyer's offer while no terms are agreed in the current exclusivity, for a broker to accept or decline.
 */
export function NothingAgreed({ current }: { current: Offer }) {
  return (
    <Card title="No accepted terms" className="mb-4">
      <p className="text-soft">
        No terms are agreed with {current.buyer_name} in the current exclusivity period. Revision{' '}
        {current.revision_number} offers{' '}
        <Money
          amount={current.payload.purchase_price}
          currency={current.payload.currency}
          className="font-medium text-ink"
        />
        .
        {current.accepted_at && (
          <>
            {' '}
            It was accepted on <Time at={current.accepted_at} as="date" />, in an exclusivity period that has ended.
          </>
        )}
      </p>
      <DecisionButtons offer={current} what="offer" />
    </Card>
  );
}

/** The accepted terms, which stay as accepted, and the change that their buyer has proposed since. */
export function AgreedTerms({ agreed, current }: { agreed: Offer; current: Offer | null }) {
  const { capacities } = useDeal();
  const proposal = current?.proposed ? current : undefined;
  const whose = agreed.mine ? 'You propose' : `${agreed.buyer_name} proposes`;
  return (
    <Card title="Accepted terms" className="mb-4">
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <Money
          amount={agreed.payload.purchase_price}
          currency={agreed.payload.currency}
          className="text-lg font-semibold"
        />
        <span className="text-soft">
          {agreed.mine ? 'Your offer' : agreed.buyer_name}, revision {agreed.revision_number}
          {agreed.accepted_at && (
            <>
              , accepted <Time at={agreed.accepted_at} as="date" />
            </>
          )}
        </span>
      </p>
      {proposal && (
        <section aria-label="Proposed change" className="mt-4 border-t border-line pt-4">
          <p className="mb-2">
            <span className="font-medium text-ink">{whose} to change them</span>, <Time at={proposal.submitted_at} />.{' '}
            <span className="text-soft">
              {capacities.can_decide_offer_changes
                ? 'Until you decide, the accepted terms stand.'
                : 'It is waiting for the broker; until then the accepted terms stand.'}
            </span>
          </p>
          <Changes agreed={agreed} proposal={proposal} />
          {capacities.can_decide_offer_changes && <DecisionButtons offer={proposal} what="change" />}
        </section>
      )}
      {current?.declined_at && current.id !== agreed.id && (
        <p className="mt-3 text-sm text-soft">
          The change proposed in revision {current.revision_number} was declined{' '}
          <Time at={current.declined_at} as="date" />; the accepted terms stand.
        </p>
      )}
    </Card>
  );
}
