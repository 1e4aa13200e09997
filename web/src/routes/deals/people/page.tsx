import { useNavigate } from '@tanstack/react-router';
import { Ellipsis, FileSignature, HeartHandshake, Link2, UserMinus, UserPlus, Users } from 'lucide-react';
import { memo, useState } from 'react';
import { useDealActions } from '../../../api/deals.ts';
import type { Invited, Participant, Side } from '../../../api/shapes.ts';
import { Avatar } from '../../../components/avatar.tsx';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button, IconButton } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { InvitedPill } from '../../../components/invited-pill.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../../components/menu.tsx';
import { Notice } from '../../../components/notice.tsx';
import { EmptyState } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { ndaStates, participantRoles, mailTroubles, participantStates, sides } from '../../../lib/states.ts';
import { useMe } from '../../../api/me.ts';
import { useDeal } from '../context.ts';
import { GrantExclusivityDialog, useIsHeld } from '../exclusivity.tsx';
import { useOwnPart } from '../own-role.tsx';
import { KeysCard } from './keys-card.tsx';
import { InvitedToDealDialog, InviteToDealDialog } from './invite-dialog.tsx';
import { TabPage } from '../tab-page.tsx';

/** What the reader may do with a person. */
interface Allowed {
  mayGrant: boolean;
  mayLink: boolean;
  mayRemove: boolean;
}

interface PersonActions {
  onInvited: (invited: Invited) => void;
  onGrant: (buyer: Participant) => void;
}

interface PersonItemsProps extends PersonActions, Allowed {
  person: Participant;
}

/** The items of a person's menu, which exist only while it is open: on a deal with many people, menus are many. */
function PersonItems({ person, mayGrant, mayLink, mayRemove, onInvited, onGrant }: PersonItemsProps) {
  const { deal, participants, capacities } = useDeal();
  const { user } = useMe();
  const navigate = useNavigate();
  const confirm = useConfirm();
  const isHeld = useIsHeld(deal);
  const self = person.user_id === user.id;
  const { inviteAgain, remove, forget } = useDealActions(deal.id);
  const isHolder = person.user_id === deal.exclusive_buyer_user_id;
  const stays = isHeld
    ? ` ${self ? 'Your' : 'Their'} exclusivity stays until it ends or a broker releases it.`
    : ` ${self ? 'You stay the selected buyer until a broker releases you' : 'They stay the selected buyer until a broker releases them'}.`;
  const bound = person.nda_status === 'active' ? ' Your NDA goes on: you stay bound by its terms.' : '';
  const isAdvisor = person.role === 'advisor';
  const hasAdvisors = participants.some(({ advises, status }) => advises === person.id && status !== 'removed');
  const isActiveBroker = ({ role, status }: Participant) => role === 'broker' && status === 'active';
  const isOnlyBroker =
    deal.state !== 'closed' &&
    deal.state !== 'withdrawn' &&
    isActiveBroker(person) &&
    !participants.some((one) => one.id !== person.id && isActiveBroker(one));
  const isActiveSeller = ({ role, status }: Participant) => role === 'seller' && status === 'active';
  const isOnlySeller =
    deal.state !== 'closed' &&
    deal.state !== 'withdrawn' &&
    isActiveSeller(person) &&
    !participants.some((one) => one.id !== person.id && isActiveSeller(one));
  const takeOut = () =>
    confirm(
      {
        title: self ? 'Leave this deal?' : `Remove ${person.name}?`,
        body: (
          <>
            <p>
              {self
                ? `${
                    capacities.can_join
                      ? 'As an admin of the brokerage you still see the deal, but no longer its offers and questions.'
                      : 'You lose access to the deal at once, in connected clients too.'
                  }${isAdvisor ? '' : ' Your advisors leave with you.'} What you wrote, signed and offered is kept.${bound}${isHolder ? stays : ''} To return, you need a new invitation.`
                : `They lose access to the deal at once${isAdvisor ? '' : ', and their advisors leave with them'}. What they asked, signed and offered is kept. You can invite them again.${isHolder ? stays : ''}`}
            </p>
            {isOnlyBroker && (
              <p className="mt-3 font-medium text-ink">
                {self ? 'You are' : 'They are'} the only broker on this deal. Until an admin of the brokerage invites
                another, nobody can ask questions, and offers and NDAs have to wait.
              </p>
            )}
            {isOnlySeller && (
              <p className="mt-3 font-medium text-ink">
                {self ? 'You are' : 'They are'} the only seller on this deal. Questions that wait for an answer go back
                to the broker.
              </p>
            )}
          </>
        ),
        action: self ? 'Leave' : 'Remove',
        danger: true,
      },
      async () => {
        const page = await remove.mutateAsync(person.id);
        toast(self ? 'You left the deal' : `${person.name} is removed`);
        if (page) return;
        await navigate({ to: '/deals' });
        forget();
      },
    );
  const takeBack = () =>
    confirm(
      {
        title: `Withdraw ${person.name}’s invitation?`,
        body: `Their link stops working${hasAdvisors ? ', and their advisors leave the deal with them' : ''}.`,
        action: 'Withdraw',
        danger: true,
        done: 'Invitation withdrawn',
      },
      () => remove.mutateAsync(person.id),
    );
  return (
    <>
      {mayGrant && (
        <MenuItem icon={<HeartHandshake />} onSelect={() => onGrant(person)}>
          Grant exclusivity
        </MenuItem>
      )}
      {mayLink && (
        <MenuItem
          icon={<Link2 />}
          // The person's row moves to another list and is unmounted before the link is shown; the promise continues.
          onSelect={() => void inviteAgain.mutateAsync({ participant: person.id }).then(onInvited, toastError)}
        >
          Invite again
        </MenuItem>
      )}
      {mayRemove && (
        <>
          {(mayGrant || mayLink) && <MenuSeparator />}
          <MenuItem danger icon={<UserMinus />} onSelect={person.status === 'invited' ? takeBack : takeOut}>
            {person.status === 'invited' ? 'Withdraw invitation' : self ? 'Leave the deal' : 'Remove from deal'}
          </MenuItem>
        </>
      )}
    </>
  );
}

interface PersonRowProps extends PersonItemsProps {
  /** The name of the person whom an advisor advises, where it is known. */
  advised: string | undefined;
  isSelf: boolean;
  /** Whether this is the buyer whom a broker selected, and whether their exclusivity is in force. */
  standing: 'exclusive' | 'selected' | null;
}

/** One person. Its props stay the same when others on the deal change, so that only changed rows are rendered again. */
const PersonRow = memo(function PersonRow({ advised, isSelf, standing, ...items }: PersonRowProps) {
  const { person, mayGrant, mayLink, mayRemove } = items;
  const role = participantRoles[person.role];
  return (
    <li className="flex items-center gap-3.5 px-4 py-3 sm:px-5">
      <Avatar name={person.name} />
      <div className="flex min-w-0 flex-1 flex-col gap-1 sm:flex-row sm:items-center sm:gap-3.5">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="truncate font-medium">{person.name}</span>
            {isSelf && <span className="text-sm text-faint">(you)</span>}
            {person.role === 'advisor' && (
              <Badge tone={role.tone}>{advised === undefined ? role.label : `Advises ${advised}`}</Badge>
            )}
            {standing && <Badge tone="rare">{standing === 'exclusive' ? 'Exclusive' : 'Selected buyer'}</Badge>}
          </p>
          <p className="truncate text-sm text-faint">{person.email}</p>
        </div>
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1 empty:hidden">
          {person.nda_status && (
            <Badge tone={ndaStates[person.nda_status].tone} icon={<FileSignature className="size-3" aria-hidden />}>
              NDA: {ndaStates[person.nda_status].label.toLowerCase()}
            </Badge>
          )}
          {person.mail_trouble && <StatePill look={mailTroubles[person.mail_trouble]} />}
          {person.status === 'invited' && <InvitedPill until={person.link_until} />}
          {person.status === 'removed' && <StatePill look={participantStates.removed} />}
        </div>
      </div>
      {(mayGrant || mayLink || mayRemove) && (
        <Menu
          trigger={
            <IconButton size="sm" label={`Actions for ${person.name}`} icon={<Ellipsis className="size-4.5" />} />
          }
        >
          <PersonItems {...items} />
        </Menu>
      )}
    </li>
  );
});

/** The people on the deal whom this person may know of, by side; with inviting, removing, and granting exclusivity. */
export default function PeopleTab() {
  const page = useDeal();
  const { deal, participants, capacities, side: own } = page;
  const sellerHidden = own === 'buyer' && deal.needs_nda && participants.every((one) => one.nda_status !== 'active');
  const { user } = useMe();
  const isAdvising = useOwnPart(page)?.role === 'advisor';
  const isHeld = useIsHeld(deal);
  const names = new Map(participants.map(({ id, name }) => [id, name]));
  const allowed = ({ role, status, user_id }: Participant): Allowed => ({
    mayGrant:
      capacities.can_grant_exclusivity && role === 'buyer' && status === 'active' && !deal.exclusive_buyer_user_id,
    mayLink: capacities.can_invite && status !== 'active',
    // Everybody may leave; an invitation is declined on the home page.
    mayRemove:
      (capacities.can_remove_participants && status !== 'removed') || (user_id === user.id && status === 'active'),
  });
  const [inviting, setInviting] = useState(false);
  const [invited, setInvited] = useState<Invited | null>(null);
  const [granting, setGranting] = useState<Participant | null>(null);
  const shown = (Object.entries(sides) as [Side, string][])
    .map(([side, title]) => ({
      side,
      // A buyer does not know of other buyers.
      title: side === 'buyer' && own === 'buyer' ? 'Your side' : title,
      people: participants.filter((one) => one.side === side),
    }))
    .filter(({ people }) => people.length > 0);
  const invite = (
    <Button kind="primary" icon={<UserPlus className="size-4" />} onClick={() => setInviting(true)}>
      Invite
    </Button>
  );
  return (
    <TabPage title="People" actions={shown.length > 0 && capacities.can_invite && invite}>
      {shown.length === 0 && (
        <Card>
          <EmptyState icon={Users} title="No one yet" action={capacities.can_invite && invite}>
            Invite the seller first, then buyers as they come.
          </EmptyState>
        </Card>
      )}
      {sellerHidden && (
        <Notice>The seller is shown here once {isAdvising ? 'the buyer’s' : 'your'} NDA is active.</Notice>
      )}
      {shown.map(({ side, title, people }) => (
        <Card key={side} title={title} flush>
          <ul className="divide-y divide-line border-t border-line">
            {people.map((person) => (
              <PersonRow
                key={person.id}
                person={person}
                advised={person.advises === null ? undefined : names.get(person.advises)}
                isSelf={person.user_id === user.id}
                standing={person.user_id !== deal.exclusive_buyer_user_id ? null : isHeld ? 'exclusive' : 'selected'}
                {...allowed(person)}
                onInvited={setInvited}
                onGrant={setGranting}
              />
            ))}
          </ul>
        </Card>
      ))}
      {capacities.can_see_keys && <KeysCard />}
      {inviting && <InviteToDealDialog onClose={() => setInviting(false)} onInvited={setInvited} />}
      {invited && <InvitedToDealDialog invited={invited} onInvited={setInvited} onClose={() => setInvited(null)} />}
      {granting && <GrantExclusivityDialog page={page} buyer={granting} onClose={() => setGranting(null)} />}
    </TabPage>
  );
}
