import { useInfiniteQuery } from '@tanstack/react-query';
import { FileSignature, Send } from 'lucide-react';
import { useState } from 'react';
import { ndasQuery } from '../../../api/ndas.ts';
import type { Id, Nda, Participant } from '../../../api/shapes.ts';
import { Avatar } from '../../../components/avatar.tsx';
import { StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { EmptyState, SkeletonCard } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { ndaStates } from '../../../lib/states.ts';
import { useDeal } from '../context.ts';
import { InviteBuyerLink } from '../invite-buyer-link.tsx';
import { useOwnPart } from '../own-role.tsx';
import { NdaDrawer, NdaFacts } from './drawer.tsx';
import { RemindButton } from '../remind-button.tsx';
import { SendNdaDialog } from './send-dialog.tsx';
import { SignForm } from './sign-form.tsx';
import { Terms } from './terms.tsx';
import { TabPage } from '../tab-page.tsx';

/** An NDA as a list row with its participant and status; opens the full NDA. */
function NdaRow({ nda, onOpen }: { nda: Nda; onOpen: () => void }) {
  const { capacities, participants } = useDeal();
  const waits =
    capacities.can_send_nda &&
    nda.status === 'sent' &&
    participants.some(({ id, role, status }) => id === nda.participant_id && role === 'buyer' && status === 'active');
  return (
    <li className={cx(waits && 'flex flex-wrap items-center')}>
      <button
        type="button"
        onClick={onOpen}
        className={cx(
          'flex w-full items-center gap-3.5 px-4 py-3 text-left -outline-offset-2 hover:bg-hover sm:px-5',
          waits && 'min-w-0 flex-1 basis-64',
        )}
      >
        <Avatar name={nda.participant_name} />
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{nda.participant_name}</span>
          <span className="block truncate text-sm text-faint">
            {nda.replaced_at ? (
              <>
                Replaced <Time at={nda.replaced_at} />
              </>
            ) : nda.status === 'active' && nda.signed_at ? (
              <>
                Signed <Time at={nda.signed_at} /> as {nda.signed_name}
              </>
            ) : (
              <>
                Sent <Time at={nda.sent_at} />
              </>
            )}
            {nda.expires_at && nda.status === 'active' && (
              <>
                {', ends '}
                <Time at={nda.expires_at} as="time" />
              </>
            )}
          </span>
        </span>
        <StatePill look={ndaStates[nda.status]} />
      </button>
      {waits && (
        <span className="px-4 pb-3 sm:py-3 sm:pr-5 sm:pl-0">
          <RemindButton subject="ndas" id={nda.id} of={`the NDA of ${nda.participant_name}`} />
        </span>
      )}
    </li>
  );
}

interface DealSideProps {
  ndas: readonly Nda[];
  /** Buyers to whom an NDA can be sent now. */
  without: readonly Participant[];
  onSend: (buyer: Participant) => void;
}

/** The view of brokers and sellers: every buyer's NDA, and the buyers without one. */
function DealSide({ ndas, without, onSend }: DealSideProps) {
  const { capacities, participants } = useDeal();
  const [opened, setOpened] = useState<Id | null>(null);
  const nda = ndas.find((one) => one.id === opened);
  // Those that wait are listed before all others, so a loaded list has them.
  const isFollowed =
    nda?.status === 'active' && ndas.some((one) => one.participant_id === nda.participant_id && one.status === 'sent');
  const isRenewable = capacities.can_send_nda && nda?.status === 'active' && nda.expires_at !== null && !isFollowed;
  const signer = participants.find(
    ({ id, role, status }) => id === nda?.participant_id && role === 'buyer' && status !== 'removed',
  );
  const sendNext = (to: Participant) => {
    setOpened(null);
    onSend(to);
  };
  return (
    <>
      {capacities.can_send_nda && without.length > 0 && (
        <Card
          title="Without an NDA"
          description="They can open only documents for all participants, and cannot ask questions."
          flush
        >
          <ul className="divide-y divide-line border-t border-line">
            {without.map((buyer) => (
              <li key={buyer.id} className="flex items-center gap-3.5 px-4 py-3 sm:px-5">
                <Avatar name={buyer.name} />
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-medium">{buyer.name}</span>
                  <span className="block truncate text-sm text-faint">
                    {buyer.status === 'invited' ? 'Invited, not joined yet' : buyer.email}
                  </span>
                </span>
                <Button size="sm" icon={<Send className="size-3.5" />} onClick={() => onSend(buyer)}>
                  Send NDA<span className="sr-only"> to {buyer.name}</span>
                </Button>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Card {...(ndas.length > 0 && { title: 'Sent' })} flush>
        {ndas.length > 0 ? (
          <ul className="divide-y divide-line border-t border-line">
            {ndas.map((one) => (
              <NdaRow key={one.id} nda={one} onOpen={() => setOpened(one.id)} />
            ))}
          </ul>
        ) : (
          <EmptyState icon={FileSignature} title="No NDAs yet" action={<InviteBuyerLink />}>
            {capacities.can_send_nda
              ? without.length > 0
                ? 'Send one to a buyer: they read and sign it here, and documents under NDA open for them.'
                : 'Invite a buyer first, then send them an NDA.'
              : 'Once a broker sends one to a buyer, it shows here with who signed it and when.'}
          </EmptyState>
        )}
      </Card>
      {nda && (
        <NdaDrawer
          nda={nda}
          isFollowed={isFollowed}
          onSendNext={isRenewable && signer ? () => sendNext(signer) : undefined}
          onClose={() => setOpened(null)}
        />
      )}
    </>
  );
}

/** The view of a buyer's side: the NDA to sign or in force, and earlier ones. */
function BuyerSide({ ndas }: { ndas: readonly Nda[] }) {
  const page = useDeal();
  const { deal } = page;
  const isBuyer = useOwnPart(page)?.role === 'buyer';
  const [opened, setOpened] = useState<Id | null>(null);
  const over = deal.state === 'closed' || deal.state === 'withdrawn';
  const waiting = ndas.find((one) => one.status === 'sent');
  const active = ndas.find((one) => one.status === 'active');
  const signs = waiting?.mine === true && !over;
  const title = over ? 'Not signed' : `Waiting for ${waiting?.participant_name} to sign`;
  const shown = waiting ?? active;
  const others = ndas.filter((one) => one !== shown);
  const nda = others.find((one) => one.id === opened);
  return (
    <>
      {/* A form per NDA: a buyer who has read one NDA's terms has not read those of the next. */}
      {signs && <SignForm key={waiting.id} nda={waiting} hasOther={active !== undefined} />}
      {shown && !signs && (
        <Card
          title={waiting ? title : 'Signed'}
          {...(waiting && active && !over && { description: 'The NDA that is signed stays in force until then.' })}
        >
          <NdaFacts nda={shown} className="sm:grid-cols-3" />
          <Terms text={shown.terms} className="mt-6 border-t border-line pt-5" />
        </Card>
      )}
      {!shown && (
        <Card>
          <EmptyState icon={FileSignature} title="Nothing to sign">
            {over
              ? 'NDAs are no longer sent on this deal.'
              : others.length > 0
                ? isBuyer
                  ? 'Your NDA has ended. The broker can send you another; ask them if you need one.'
                  : 'The buyer’s NDA has ended. The broker can send them another.'
                : isBuyer
                  ? 'When the broker sends you an NDA, you read and sign it here, and more documents open.'
                  : 'The buyer signs the NDA that the broker sends them. It shows here, and once it is signed, more documents open.'}
          </EmptyState>
        </Card>
      )}
      {others.length > 0 && (
        <Card title={waiting && active ? 'In force and earlier' : 'Earlier'} flush>
          <ul className="divide-y divide-line border-t border-line">
            {others.map((one) => (
              <NdaRow key={one.id} nda={one} onOpen={() => setOpened(one.id)} />
            ))}
          </ul>
        </Card>
      )}
      {nda && <NdaDrawer nda={nda} onClose={() => setOpened(null)} />}
    </>
  );
}

/** The NDAs of a deal: brokers send, buyers read and sign. */
export default function NdaTab() {
  const { deal, side, participants } = useDeal();
  const query = useInfiniteQuery(ndasQuery(deal.id));
  const [sending, setSending] = useState<Participant | null>(null);
  const without = participants.filter(
    (one) =>
      one.role === 'buyer' && one.status !== 'removed' && one.nda_status !== 'sent' && one.nda_status !== 'active',
  );
  const list = (items: readonly Nda[]) =>
    side === 'buyer' ? <BuyerSide ndas={items} /> : <DealSide ndas={items} without={without} onSend={setSending} />;
  return (
    <TabPage title="NDA">
      <PagedList
        query={query}
        skeleton={<SkeletonCard rows={3} height="h-17" />}
        className="flex flex-col gap-5"
        empty={list([])}
      >
        {list}
      </PagedList>
      {sending && (
        <SendNdaDialog
          buyers={without.some(({ id }) => id === sending.id) ? without : [sending]}
          buyer={sending}
          onClose={() => setSending(null)}
        />
      )}
    </TabPage>
  );
}
