import { UserPlus } from 'lucide-react';
import { ButtonLink } from '../../components/button.tsx';
import { useDeal } from './context.ts';

/** Leads to where buyers are invited, as long as a deal has none and the person can invite: nothing comes before that. */
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
