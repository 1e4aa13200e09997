/** The person's role on the deal; an admin who is not a participant can join. */
import { UserPlus } from 'lucide-react';
import { useDealActions } from '../../api/deals.ts';
import { useMe } from '../../api/me.ts';
import type { DealPage } from '../../api/shapes.ts';
import { Badge } from '../../components/badge.tsx';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm-dialog.tsx';
import { callerRoles, memberRoles, participantRoles } from '../../lib/states.ts';

/** The caller as a participant of the deal; undefined for an admin of the brokerage who looks on. */
export function useOwnPart({ participants }: DealPage) {
  const { user } = useMe();
  return participants.find(({ user_id, status }) => user_id === user.id && status === 'active');
}

/** The person's role on the deal. */
export function OwnRoleBadge({ page }: { page: DealPage }) {
  const own = useOwnPart(page);
  const exclusive = page.caller_role === 'exclusive_buyer';
  const { label, tone } = exclusive
    ? callerRoles.exclusive_buyer
    : own
      ? participantRoles[own.role]
      : memberRoles.admin;
  return <Badge tone={tone}>You: {label.toLowerCase()}</Badge>;
}

/** Explains to an admin who is not a participant what they see, and lets them join. */
export function JoinBanner({ page }: { page: DealPage }) {
  const { deal, capacities } = page;
  const { user } = useMe();
  const own = useOwnPart(page);
  const confirm = useConfirm();
  const { join } = useDealActions(deal.id);
  if (own || !capacities.can_join) return null;
  const ask = () =>
    confirm(
      {
        title: 'Join this deal?',
        body: 'You become one of its brokers and see its NDAs, questions, offers and figures. Everyone on the deal sees you among its people.',
        action: 'Join deal',
        done: 'You are now a broker on this deal',
      },
      () => join.mutateAsync(user),
    );
  return (
    <Banner
      label="Your role in the deal"
      icon={UserPlus}
      tone="info"
      says={
        <>
          <span className="font-medium text-ink">You are not on this deal.</span> As an admin of{' '}
          {deal.organization_name} you see what a viewer sees.
        </>
      }
    >
      <Button size="sm" onClick={ask}>
        Join this deal
      </Button>
    </Banner>
  );
}
