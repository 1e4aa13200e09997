import { UserPlus } from 'lucide-react';
import { ButtonLink } from '../../components/button.tsx';
import { useDeal } from './context.ts';

/**
 * A link to the page for inviting buyers, for a person who may invite, while the deal has no buyer: nothing else can
 * happen before that.
 */
export function InviteBuyerLink() {
  const { deal, participants, capacities } = useDeal();
  const some = participants.some(({ role, status }) => role === 'buyer' && status !== 'removed');
  if (some || !capacities.can_invite) return null;
  return (
    <ButtonLink
      kind="primary"
      to="/deals/$dealId/people"
      params={{ dealId: deal.id }}
      icon={<UserPlus className="size-4" />}
    >
      Invite a buyer
    </ButtonLink>
  );
}
