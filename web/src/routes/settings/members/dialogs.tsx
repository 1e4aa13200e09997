import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../../api/me.ts';
import { dealsRunAloneQuery, membersQuery, mostMembers, useMemberActions } from '../../../api/settings.ts';
import type { Id, Member, MemberInvited, MemberRole } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select } from '../../../components/input.tsx';
import { InviteDialog } from '../../../components/invite-dialog.tsx';
import { InvitedDialog } from '../../../components/invited-dialog.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { cutHint, Loaded, SkeletonText } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { formatCount } from '../../../lib/format.ts';
import { memberRoles } from '../../../lib/states.ts';
import { orNull, required, useForm } from '../../../lib/use-form.ts';
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
      about={{ already_member: 'email' }}
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

/** The deals of which a member is the only broker; renders nothing when there are none. */
function DealsRunAlone({ deals, count }: { deals: readonly { id: Id; title: string }[]; count: number }) {
  if (deals.length === 0) return null;
  const more = count - deals.length;
  return (
    <div>
      <p className="font-medium">
        {deals.length === 1 ? 'This deal has no other broker:' : 'These deals have no other broker:'}
      </p>
      <ul className="mt-1.5 list-disc pl-5 text-soft">
        {deals.map(({ id, title }) => (
          <li key={id} className="break-words">
            {title}
          </li>
        ))}
        {more > 0 && <li>and {formatCount(more)} more</li>}
      </ul>
    </div>
  );
}

/** Asks before a member becomes staff, who run no deals: the role can be given back, but not their places on deals. */
export function MakeStaffDialog({ brokerageId, member, onClose }: MemberDialogProps) {
  const { changeRole } = useMemberActions(brokerageId);
  const deals = useQuery(dealsRunAloneQuery(brokerageId, member.user_id));
  const form = useForm({
    initial: { successor_id: '' },
    draft: null,
    check: (values) =>
      (deals.data?.count ?? 0) > 0 ? required(values, { successor_id: 'Choose the new broker.' }) : {},
    submit: ({ successor_id }) =>
      changeRole.mutateAsync({
        user_id: member.user_id,
        role: 'staff',
        successor_id: successor_id === noOne ? null : orNull(successor_id),
      }),
    onDone: () => {
      onClose();
      toast(`${member.name} is now a staff member`);
    },
  });
  return (
    <FormDialog
      form={form}
      title={`Make ${member.name} a staff member?`}
      action="Make staff"
      danger
      ready={deals.data !== undefined}
      onClose={onClose}
    >
      <p className="text-soft">
        They leave the deals they are a broker on at once. If they become a broker again, they must be invited to each
        of them.
      </p>
      {member.role === 'admin' && (
        <p className="text-soft">
          API keys they created or last rotated reach contacts only from then on, and webhooks they set up are turned
          off.
        </p>
      )}
      <Loaded query={deals} skeleton={<SkeletonText lines={3} />}>
        {({ items, count }) => (
          <>
            <DealsRunAlone deals={items} count={count} />
            {items.length > 0 && (
              <SuccessorField
                brokerageId={brokerageId}
                member={member}
                field={form.field('successor_id')}
                error={form.errors.successor_id}
                hint={
                  form.values.successor_id === noOne
                    ? 'Questions cannot be asked until an admin invites a broker to the deal.'
                    : 'They run the deal as soon as you confirm.'
                }
                optional
              />
            )}
          </>
        )}
      </Loaded>
    </FormDialog>
  );
}

/** Asks before a member is removed, or an admin leaves, and who takes over the deals of which they are the only broker. */
export function RemoveMemberDialog({ brokerageId, member, onClose }: MemberDialogProps) {
  const { remove, leave } = useMemberActions(brokerageId);
  const isSelf = useMe().user.id === member.user_id;
  const deals = useQuery(dealsRunAloneQuery(brokerageId, member.user_id));
  const members = useQuery(membersQuery(brokerageId));
  const successors = (members.data?.items ?? []).filter(
    ({ user_id, role, status }) => user_id !== member.user_id && status === 'active' && role !== 'staff',
  );
  const left = deals.data?.items ?? [];
  const successorOf = (chosen: Id | null) => chosen ?? successors[0]?.user_id ?? '';
  const form = useForm({
    initial: { successor_id: null as Id | null },
    draft: null,
    submit: ({ successor_id }) =>
      (isSelf ? leave : remove).mutateAsync({
        user_id: member.user_id,
        successor_id: left.length > 0 ? orNull(successorOf(successor_id)) : null,
      }),
    onDone: ({ count, handed_over }) => {
      onClose();
      const without = count === 1 ? 'One deal has no broker now' : `${formatCount(count)} deals have no broker now`;
      toast(
        `${isSelf ? 'You left the brokerage' : `${member.name} is removed`}${count > 0 && !handed_over ? `. ${without}` : ''}`,
      );
    },
  });
  const successor = successorOf(form.values.successor_id);
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
          ? 'You lose access to the brokerage’s contacts, settings and deals at once, in connected clients too. API keys you created or last rotated stop working until an admin rotates them, and webhooks you added are turned off. You stay on deals where you are a buyer or seller yourself.'
          : 'They lose access to the brokerage’s contacts, settings and deals at once, in connected clients too. API keys they created or last rotated stop working until an admin rotates them, and webhooks they added are turned off. They stay on deals where they are a buyer or seller themselves.'}
      </p>
      <Loaded query={deals} skeleton={<SkeletonText lines={3} />}>
        {({ items, count }) =>
          items.length > 0 && (
            <>
              <DealsRunAlone deals={items} count={count} />
              <Field
                label="New broker"
                error={form.errors.successor_id}
                hint={[
                  successor === ''
                    ? 'Questions cannot be asked until an admin invites a broker to the deal.'
                    : 'They run the deal as soon as you confirm.',
                  cutHint(members.data?.items ?? [], mostMembers, 'members by name'),
                ]
                  .filter(Boolean)
                  .join(' ')}
              >
                <Select
                  {...form.field('successor_id')}
                  value={successor}
                  options={[
                    ...successors.map(({ user_id, name }) => ({ value: user_id, label: name })),
                    { value: '', label: 'No one for now' },
                  ]}
                />
              </Field>
            </>
          )
        }
      </Loaded>
    </FormDialog>
  );
}
