import { useDealActions } from '../../../api/deals.ts';
import type { Invited, ParticipantRole } from '../../../api/shapes.ts';
import { InviteDialog } from '../../../components/invite-dialog.tsx';
import { InvitedDialog } from '../../../components/invited-dialog.tsx';
import { toastError } from '../../../components/toast.tsx';
import { participantRoles } from '../../../lib/states.ts';
import { useDeal } from '../context.ts';

const hintsOf = (needsNda: boolean): Record<ParticipantRole, string> => ({
  broker: 'Runs the sale: sees and changes everything on this deal.',
  seller: 'Sees every buyer, offer and document, and answers questions.',
  buyer: needsNda
    ? 'Sees the brokers, and once their NDA is active the sellers and most documents; never another buyer.'
    : 'Sees the sellers and brokers but no other buyer. Most documents need an NDA first.',
  advisor: 'Sees what the person they advise sees, once that person has joined.',
  viewer:
    'Sees everyone on the deal, including every buyer, and its stage, exclusivity and closing conditions. For someone who helps a buyer, choose Advisor.',
});

interface InviteToDealDialogProps {
  onClose: () => void;
  onInvited: (invited: Invited) => void;
}

/** Invites a person to the deal. */
export function InviteToDealDialog({ onClose, onInvited }: InviteToDealDialogProps) {
  const { deal, participants } = useDeal();
  const { invite } = useDealActions(deal.id);
  const advisable = participants.filter((one) => one.role !== 'advisor' && one.status !== 'removed');
  return (
    <InviteDialog<ParticipantRole, Invited>
      title="Invite to this deal"
      draft={`invitation/${deal.id}`}
      roles={participantRoles}
      hints={hintsOf(deal.needs_nda)}
      initialRole="buyer"
      about={{ already_invited: 'email' }}
      advisor={{
        role: 'advisor',
        of: advisable.map(({ id, name, role }) => ({
          value: id,
          label: `${name} (${participantRoles[role].label.toLowerCase()})`,
        })),
      }}
      send={(values) => invite.mutateAsync({ ...values, advises: values.role === 'advisor' ? values.advises : null })}
      onInvited={onInvited}
      onClose={onClose}
    />
  );
}

interface InvitedToDealDialogProps {
  invited: Invited;
  onInvited: (invited: Invited) => void;
  onClose: () => void;
}

/** Shows how an invitation to the deal is delivered. */
export function InvitedToDealDialog({ invited, onInvited, onClose }: InvitedToDealDialogProps) {
  const { participant, invitation_url } = invited;
  const { inviteAgain } = useDealActions(useDeal().deal.id);
  return (
    <InvitedDialog
      person={participant}
      url={invitation_url}
      making={inviteAgain.isPending}
      onLink={() =>
        inviteAgain.mutate(
          { participant: participant.id, deliver: 'link' },
          { onSuccess: onInvited, onError: toastError },
        )
      }
      onClose={onClose}
    />
  );
}
