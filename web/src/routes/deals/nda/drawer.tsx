import { useNdaActions } from '../../../api/ndas.ts';
import type { Nda } from '../../../api/shapes.ts';
import { StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Fact, Facts } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { Time } from '../../../components/time.tsx';
import { cx } from '../../../lib/cx.ts';
import { ndaStates } from '../../../lib/states.ts';
import { useDeal } from '../context.ts';
import { Terms } from './terms.tsx';

/** The facts of an NDA: by whom and when it was sent, signed or revoked, and from which address it was signed. */
export function NdaFacts({ nda, className }: { nda: Nda; className?: string }) {
  return (
    <Facts className={cx('max-sm:grid-cols-1', className)}>
      <Fact label="Status">
        <StatePill look={ndaStates[nda.status]} />
      </Fact>
      <Fact label="Sent">
        <Time at={nda.sent_at} as="time" />
        {nda.sent_by_name && <span className="block text-sm text-faint">by {nda.sent_by_name}</span>}
      </Fact>
      {nda.signed_at && (
        <>
          <Fact label="Signed as">{nda.signed_name}</Fact>
          <Fact label="Signed">
            <Time at={nda.signed_at} as="time" />
            {nda.signed_address && <span className="block text-sm text-faint">from {nda.signed_address}</span>}
          </Fact>
        </>
      )}
      {nda.revoked_at && (
        <Fact label="Revoked">
          <Time at={nda.revoked_at} as="time" />
        </Fact>
      )}
      {nda.replaced_at && (
        <Fact label="Replaced">
          <Time at={nda.replaced_at} as="time" />
        </Fact>
      )}
      {nda.expires_at && !nda.replaced_at && (
        <Fact label={nda.status === 'expired' ? 'Ended' : 'Ends'}>
          <Time at={nda.expires_at} as="time" />
        </Fact>
      )}
    </Facts>
  );
}

interface NdaDrawerProps {
  nda: Nda;
  /** Whether the next NDA of the same buyer waits to be signed. */
  isFollowed?: boolean;
  /** Sends the buyer the next NDA; absent where that is not possible. */
  onSendNext?: (() => void) | undefined;
  onClose: () => void;
}

/** One NDA in full, with the actions that a broker can take. */
export function NdaDrawer({ nda, isFollowed = false, onSendNext, onClose }: NdaDrawerProps) {
  const { capacities } = useDeal();
  const { revoke } = useNdaActions(nda.deal_id);
  const confirm = useConfirm();
  const mayRevoke = capacities.can_revoke_nda && (nda.status === 'sent' || nda.status === 'active');
  const ask = () =>
    confirm(
      {
        title: nda.status === 'sent' ? 'Withdraw this NDA?' : 'Revoke this NDA?',
        body:
          nda.status === 'sent'
            ? `${nda.participant_name} can no longer sign it.${capacities.can_send_nda ? ' You can send another.' : ''}`
            : `${nda.participant_name}’s side loses access to documents under NDA at once. What was signed is kept as a record.${isFollowed ? ' The next NDA can still be signed: withdraw it too if it should not be.' : ''}`,
        action: nda.status === 'sent' ? 'Withdraw' : 'Revoke NDA',
        danger: true,
        done: nda.status === 'sent' ? 'The NDA is withdrawn' : 'The NDA is revoked',
      },
      () => revoke.mutateAsync(nda.id),
    );
  return (
    <Drawer
      onClose={onClose}
      title={`NDA with ${nda.participant_name}`}
      footer={
        (mayRevoke || onSendNext) && (
          <>
            {mayRevoke && (
              <Button kind="danger" onClick={ask}>
                {nda.status === 'sent' ? 'Withdraw' : 'Revoke NDA'}
              </Button>
            )}
            {onSendNext && <Button onClick={onSendNext}>Send the next NDA</Button>}
          </>
        )
      }
    >
      <NdaFacts nda={nda} />
      {onSendNext && (
        <p className="mt-5 max-w-prose text-sm text-soft">
          You can send the next NDA before this one ends. This one stays in force until {nda.participant_name} has
          signed the next, and their side keeps everything that is open to it.
        </p>
      )}
      {isFollowed && (
        <p className="mt-5 max-w-prose text-sm text-soft">
          The next NDA has been sent. This one stays in force until {nda.participant_name} has signed it.
        </p>
      )}
      <Terms text={nda.terms} className="mt-6 border-t border-line pt-5" />
    </Drawer>
  );
}
