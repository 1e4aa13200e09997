import { useQuery } from '@tanstack/react-query';
import { ArrowRightLeft, Ellipsis, Link2, LogOut, UserMinus, UserPlus, Users } from 'lucide-react';
import { memo, useMemo, useState } from 'react';
import { useBrokerage, useMe } from '../../../api/me.ts';
import { membersQuery, mostMembers, useMemberActions } from '../../../api/settings.ts';
import type { Id, Member, MemberInvited, MemberRole } from '../../../api/shapes.ts';
import { Avatar } from '../../../components/avatar.tsx';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button, IconButton } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { InvitedPill } from '../../../components/invited-pill.tsx';
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../../../components/menu.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { CutNote, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { mailTroubles, memberRoles, optionsOf, roleInWords } from '../../../lib/states.ts';
import { InvitedMemberDialog, InviteMemberDialog, LowerRoleDialog, RemoveMemberDialog } from './dialogs.tsx';
import { HandOverDialog } from './hand-over-dialog.tsx';
import { InviteSeveralDialog } from './invite-several-dialog.tsx';
import { UndeliveredMails } from './undelivered-mails.tsx';
import { useLeaveBrokerage } from './use-leave.ts';
import { NoBrokerage } from '../no-brokerage.tsx';
import { SettingsPage } from '../settings-page.tsx';

interface MemberActions {
  brokerageId: Id;
  onInvited: (invited: MemberInvited) => void;
  onRemove: (member: Member) => void;
  onLower: (member: Member, role: MemberRole) => void;
  onHandOver: (member: Member) => void;
}

/** The items of a member's menu, which exist only while it is open. */
function MemberItems({
  member,
  brokerageId,
  onInvited,
  onRemove,
  onLower,
  onHandOver,
}: MemberActions & { member: Member }) {
  const { changeRole, renew, remove, endSessions } = useMemberActions(brokerageId);
  const { user } = useMe();
  const confirm = useConfirm();
  const withRecentSignIn = useRecentSignIn();
  const invited = member.status === 'invited';
  // Making a person an admin requires a recent sign-in.
  const change = (role: MemberRole) =>
    withRecentSignIn(() => changeRole.mutateAsync({ user_id: member.user_id, role }));
  const give = (role: MemberRole) => {
    if (role === member.role) return;
    if ((role === 'staff' || member.role === 'admin') && !invited) return onLower(member, role);
    void change(role).then(
      () => toast(`${member.name} is now ${roleInWords[role]}`, { undo: () => change(member.role) }),
      toastError,
    );
  };
  const signOut = () =>
    confirm(
      {
        title: `End ${member.name}’s sessions?`,
        body: 'They are signed out everywhere, and their connected clients have to be authorized again. They can sign in again at once.',
        action: 'End sessions',
        danger: true,
        done: `${member.name} is signed out everywhere`,
      },
      () => withRecentSignIn(() => endSessions.mutateAsync(member.user_id)),
    );
  const takeBack = () =>
    confirm(
      {
        title: `Withdraw ${member.name}’s invitation?`,
        body: 'Their link stops working.',
        action: 'Withdraw',
        danger: true,
        done: 'Invitation withdrawn',
      },
      () => remove.mutateAsync({ user_id: member.user_id, successor_id: null }),
    );
  return (
    <>
      <MenuChoice label="Role" value={member.role} onChange={give} options={optionsOf(memberRoles)} />
      <MenuSeparator />
      {invited && (
        <MenuItem
          icon={<Link2 />}
          onSelect={() =>
            void withRecentSignIn(() => renew.mutateAsync({ user_id: member.user_id })).then(onInvited, toastError)
          }
        >
          Invite again
        </MenuItem>
      )}
      {!invited && member.role !== 'staff' && (
        <MenuItem icon={<ArrowRightLeft />} onSelect={() => onHandOver(member)}>
          Hand over deals
        </MenuItem>
      )}
      {!invited && member.user_id !== user.id && (
        <MenuItem icon={<LogOut />} onSelect={signOut}>
          End sessions
        </MenuItem>
      )}
      <MenuItem danger icon={<UserMinus />} onSelect={invited ? takeBack : () => onRemove(member)}>
        {invited ? 'Withdraw invitation' : member.user_id === user.id ? 'Leave the brokerage' : 'Remove'}
      </MenuItem>
    </>
  );
}

/** The item of a person's own menu who is not an admin. */
function LeaveItem({ brokerageId }: { brokerageId: Id }) {
  const leave = useLeaveBrokerage(brokerageId);
  const brokerage = useBrokerage();
  return (
    <MenuItem danger icon={<UserMinus />} onSelect={() => leave(brokerage?.brokerage_name ?? 'the brokerage')}>
      Leave the brokerage
    </MenuItem>
  );
}

interface MemberRowProps {
  member: Member;
  isSelf: boolean;
  brokerageId: Id;
  actions: MemberActions | null;
}

/** One member. Its props stay the same when other members change, so that only changed rows are rendered again. */
const MemberRow = memo(function MemberRow({ member, isSelf, brokerageId, actions }: MemberRowProps) {
  const role = memberRoles[member.role];
  return (
    <li className="flex items-center gap-3.5 px-4 py-3 sm:px-5">
      <Avatar name={member.name} />
      <div className="min-w-0 flex-1 sm:flex sm:items-center sm:justify-between sm:gap-4">
        <div className="min-w-0">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="truncate font-medium">{member.name}</span>
            {isSelf && <span className="text-sm text-faint">(you)</span>}
          </p>
          <p className="truncate text-sm text-faint">{member.email}</p>
        </div>
        <div className="flex shrink-0 flex-wrap items-center gap-2 max-sm:mt-1.5">
          {member.mail_trouble && <StatePill look={mailTroubles[member.mail_trouble]} />}
          {member.status === 'invited' && <InvitedPill until={member.link_until} />}
          {member.second_factor === false && <Badge>No second factor</Badge>}
          <Badge tone={role.tone}>{role.label}</Badge>
        </div>
      </div>
      {(actions !== null || isSelf) && (
        <Menu
          trigger={
            <IconButton size="sm" label={`Actions for ${member.name}`} icon={<Ellipsis className="size-4.5" />} />
          }
        >
          {actions ? <MemberItems member={member} {...actions} /> : <LeaveItem brokerageId={brokerageId} />}
        </Menu>
      )}
    </li>
  );
});

function Members({ brokerageId, isAdmin }: { brokerageId: Id; isAdmin: boolean }) {
  const query = useQuery(membersQuery(brokerageId));
  const [inviting, setInviting] = useState(false);
  const [invitingSeveral, setInvitingSeveral] = useState(false);
  const [invited, setInvited] = useState<MemberInvited | null>(null);
  const [leaving, setLeaving] = useState<Member | null>(null);
  const [lowering, setLowering] = useState<{ member: Member; role: MemberRole } | null>(null);
  const [handingOver, setHandingOver] = useState<Member | null>(null);
  const { user } = useMe();
  const actions = useMemo(
    () =>
      isAdmin
        ? {
            brokerageId,
            onInvited: setInvited,
            onRemove: setLeaving,
            onLower: (member: Member, role: MemberRole) => setLowering({ member, role }),
            onHandOver: setHandingOver,
          }
        : null,
    [brokerageId, isAdmin],
  );
  return (
    <SettingsPage
      title="Members"
      description="Admins manage the brokerage, brokers run deals, staff manage contacts."
      actions={
        isAdmin && (
          <>
            <Button icon={<Users className="size-4" />} onClick={() => setInvitingSeveral(true)}>
              Invite several
            </Button>
            <Button kind="primary" icon={<UserPlus className="size-4" />} onClick={() => setInviting(true)}>
              Invite
            </Button>
          </>
        )
      }
    >
      <Card flush>
        <Loaded query={query} skeleton={<SkeletonRows rows={5} height="h-16" />}>
          {({ items }) => (
            <>
              <ul className="divide-y divide-line">
                {items.map((member) => (
                  <MemberRow
                    key={member.user_id}
                    member={member}
                    isSelf={member.user_id === user.id}
                    brokerageId={brokerageId}
                    actions={actions}
                  />
                ))}
              </ul>
              <CutNote items={items} most={mostMembers} className="border-t border-line px-4 py-3 sm:px-5">
                members, the first by name.
              </CutNote>
            </>
          )}
        </Loaded>
      </Card>
      {isAdmin && <UndeliveredMails brokerageId={brokerageId} />}
      {inviting && (
        <InviteMemberDialog brokerageId={brokerageId} onClose={() => setInviting(false)} onInvited={setInvited} />
      )}
      {invitingSeveral && <InviteSeveralDialog brokerageId={brokerageId} onClose={() => setInvitingSeveral(false)} />}
      {leaving && <RemoveMemberDialog brokerageId={brokerageId} member={leaving} onClose={() => setLeaving(null)} />}
      {lowering && <LowerRoleDialog brokerageId={brokerageId} {...lowering} onClose={() => setLowering(null)} />}
      {handingOver && (
        <HandOverDialog brokerageId={brokerageId} member={handingOver} onClose={() => setHandingOver(null)} />
      )}
      {invited && (
        <InvitedMemberDialog
          brokerageId={brokerageId}
          invited={invited}
          onInvited={setInvited}
          onClose={() => setInvited(null)}
        />
      )}
    </SettingsPage>
  );
}

/** The settings page “Members”: the members of the brokerage; admins invite and remove them and change their roles. */
export default function MembersSettings() {
  const brokerage = useBrokerage();
  if (brokerage)
    return (
      <Members key={brokerage.brokerage_id} brokerageId={brokerage.brokerage_id} isAdmin={brokerage.role === 'admin'} />
    );
  return (
    <SettingsPage title="Members">
      <NoBrokerage />
    </SettingsPage>
  );
}
