import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../../api/me.ts';
import { dealsRunAloneQuery, useMemberActions } from '../../../api/settings.ts';
import type { Id, Member, MemberInvited, MemberRole } from '../../../api/shapes.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { InviteDialog } from '../../../components/invite-dialog.tsx';
import { InvitedDialog } from '../../../components/invited-dialog.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { formatCount } from '../../../lib/format.ts';
import { memberRoles, roleInWords } from '../../../lib/states.ts';
import { orNull, required, useForm } from '../../../lib/use-form.ts';
import { Integrations, Names, Outsiders, Withdrawn } from './left-behind.tsx';
import { noOne, SuccessorField } from './successor.tsx';

/** What members in each role may do. */
export const hints: Record<MemberRole, string> = {
  admin: 'Manages members, API keys and the audit trail, and can join any deal of the brokerage.',
  broker: 'Opens and runs deals, and manages contacts.',
  staff: 'Manages contacts.',
};

interface InviteMemberDialogProps {
  brokerageId: Id;
  onClose: () => void;
  onInvited: (invited: MemberInvited) => void;
}

/** Invites a person to the brokerage. */
export function InviteMemberDialog({ brokerageId, onClose, onInvited }: InviteMemberDialogProps) {
  const { invite } = useMemberActions(brokerageId);
  const withRecentSignIn = useRecentSignIn();
  return (
    <InviteDialog<MemberRole, MemberInvited>
      title="Invite to the brokerage"
      draft={`member/${brokerageId}`}
      roles={memberRoles}
      hints={hints}
      initialRole="broker"
      about={{ already_member: 'email', already_invited: 'email' }}
      // Inviting an admin requires a recent sign-in.
      send={({ role, name, email }) => withRecentSignIn(() => invite.mutateAsync({ role, name, email }))}
      onInvited={onInvited}
      onClose={onClose}
    />
  );
}

interface InvitedMemberDialogProps {
  brokerageId: Id;
  invited: MemberInvited;
  onInvited: (invited: MemberInvited) => void;
  onClose: () => void;
}

/** Shows how an invitation to the brokerage is delivered. */
export function InvitedMemberDialog({ brokerageId, invited, onInvited, onClose }: InvitedMemberDialogProps) {
  const { member, invitation_url } = invited;
  const { renew } = useMemberActions(brokerageId);
  const withRecentSignIn = useRecentSignIn();
  return (
    <InvitedDialog
      person={member}
      url={invitation_url}
      making={renew.isPending}
      onLink={() =>
        void withRecentSignIn(() => renew.mutateAsync({ user_id: member.user_id, deliver: 'link' })).then(
          onInvited,
          toastError,
        )
      }
      onClose={onClose}
    />
  );
}

interface MemberDialogProps {
  brokerageId: Id;
  member: Member;
  onClose: () => void;
}

/** What follows when nobody takes over a deal. */
const noBroker =
  'Nobody of the brokerage runs the deal until an admin invites a broker to it. Without any broker, questions cannot be asked.';

/** What becomes of the deals, for each answer to who takes them over. */
const takingOver = (successor: string): string => {
  if (successor === noOne) return noBroker;
  return successor === '' ? '' : 'They run the deal as soon as you confirm.';
};

/** The deals on which a member is the brokerage's only broker; renders nothing when there are none. */
function DealsRunAlone({ deals, count }: { deals: readonly { id: Id; title: string }[]; count: number }) {
  return (
    <Names
      title={
        deals.length === 1
          ? 'This deal has no other broker of the brokerage:'
          : 'These deals have no other broker of the brokerage:'
      }
      names={deals.map(({ id, title: name }) => ({ id, name }))}
      more={count - deals.length}
    />
  );
}

/**
 * Asks before an admin becomes a broker, or a member becomes staff: the role can be given back, but not everything that
 * ends with it.
 */
export function LowerRoleDialog({ brokerageId, member, role, onClose }: MemberDialogProps & { role: MemberRole }) {
  const { changeRole } = useMemberActions(brokerageId);
  const becomesStaff = role === 'staff';
  const isAdmin = member.role === 'admin';
  const deals = useQuery(dealsRunAloneQuery(brokerageId, member.user_id));
  const runsAlone = (deals.data?.items ?? []).length > 0;
  const form = useForm({
    initial: { successor_id: '' },
    draft: null,
    check: (values) =>
      becomesStaff && runsAlone ? required(values, { successor_id: 'Choose who takes over, or no one for now.' }) : {},
    submit: ({ successor_id }) =>
      changeRole.mutateAsync({
        user_id: member.user_id,
        role,
        successor_id: successor_id === noOne ? null : orNull(successor_id),
      }),
    onDone: () => {
      onClose();
      toast(`${member.name} is now ${roleInWords[role]}`);
    },
  });
  return (
    <FormDialog
      form={form}
      title={`Make ${member.name} ${roleInWords[role]}?`}
      action={`Make ${role}`}
      danger
      ready={deals.data !== undefined}
      onClose={onClose}
    >
      <p className="text-soft">
        {becomesStaff
          ? 'They leave the deals they are a broker on at once. If they become a broker again, they must be invited to each of them.'
          : 'They no longer manage members, API keys and webhooks, or read the audit trail, and see only the deals they are on.'}
      </p>
      <Loaded query={deals} skeleton={<SkeletonText lines={3} />}>
        {({ items, count, ...left }) => (
          <>
            {becomesStaff && (
              <>
                <DealsRunAlone deals={items} count={count} />
                {items.length > 0 && (
                  <SuccessorField
                    brokerageId={brokerageId}
                    member={member}
                    field={form.field('successor_id')}
                    error={form.errors.successor_id}
                    hint={takingOver(form.values.successor_id)}
                    optional
                  />
                )}
                <Outsiders left={left} />
              </>
            )}
            {isAdmin && <Integrations of={left} leaves={false} />}
            <Withdrawn count={(becomesStaff ? left.deal_invitations : 0) + (isAdmin ? left.member_invitations : 0)} />
          </>
        )}
      </Loaded>
    </FormDialog>
  );
}

/** Asks before a member is removed, or an admin leaves, and who takes over the deals on which they are its only broker. */
export function RemoveMemberDialog({ brokerageId, member, onClose }: MemberDialogProps) {
  const { remove, leave } = useMemberActions(brokerageId);
  const isSelf = useMe().user.id === member.user_id;
  const deals = useQuery(dealsRunAloneQuery(brokerageId, member.user_id));
  const runsAlone = (deals.data?.items ?? []).length > 0;
  const form = useForm({
    initial: { successor_id: '' },
    draft: null,
    check: (values) =>
      runsAlone ? required(values, { successor_id: 'Choose who takes over, or no one for now.' }) : {},
    submit: ({ successor_id }) =>
      (isSelf ? leave : remove).mutateAsync({
        user_id: member.user_id,
        successor_id: successor_id === noOne ? null : orNull(successor_id),
      }),
    onDone: ({ count, handed_over }) => {
      onClose();
      const without =
        count === 1
          ? 'One deal has no broker of the brokerage now'
          : `${formatCount(count)} deals have no broker of the brokerage now`;
      toast(
        `${isSelf ? 'You left the brokerage' : `${member.name} is removed`}${count > 0 && !handed_over ? `. ${without}` : ''}`,
      );
    },
  });
  return (
    <FormDialog
      form={form}
      title={isSelf ? 'Leave the brokerage?' : `Remove ${member.name}?`}
      action={isSelf ? 'Leave' : 'Remove'}
      danger
      ready={deals.data !== undefined}
      onClose={onClose}
    >
      <p className="text-soft">
        {isSelf
          ? 'You lose access to the brokerage’s contacts, settings and deals at once, in connected clients too. You stay on deals where you are a buyer or seller yourself.'
          : 'They lose access to the brokerage’s contacts, settings and deals at once, in connected clients too. They stay on deals where they are a buyer or seller themselves.'}
      </p>
      <Loaded query={deals} skeleton={<SkeletonText lines={3} />}>
        {({ items, count, ...left }) => (
          <>
            {items.length > 0 && (
              <>
                <DealsRunAlone deals={items} count={count} />
                <SuccessorField
                  brokerageId={brokerageId}
                  member={member}
                  field={form.field('successor_id')}
                  error={form.errors.successor_id}
                  hint={takingOver(form.values.successor_id)}
                  optional
                />
              </>
            )}
            <Outsiders left={left} />
            <Integrations of={left} leaves />
            <Withdrawn count={left.deal_invitations + left.member_invitations} isSelf={isSelf} />
          </>
        )}
      </Loaded>
    </FormDialog>
  );
}
