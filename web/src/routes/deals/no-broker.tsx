/** What an admin is told of a deal that no member of the brokerage runs. */
import { UserX } from 'lucide-react';
import type { DealPage } from '../../api/shapes.ts';
import { Banner } from '../../components/banner.tsx';
import { ButtonLink } from '../../components/button.tsx';

/** Says that no member of the brokerage runs the deal, and leads to inviting one; renders nothing when one does. */
export function NoBrokerBanner({ page: { deal, without_broker: isWithout } }: { page: DealPage }) {
  if (!isWithout) return null;
  return (
    <Banner
      label="Broker of the deal"
      icon={UserX}
      tone="rare"
      says={
        <>
          <span className="font-medium text-ink">This deal has no broker of the brokerage.</span> No member of{' '}
          {deal.organization_name} runs it.
        </>
      }
    >
      <ButtonLink size="sm" to="/deals/$dealId/people" params={{ dealId: deal.id }}>
        Invite a broker
      </ButtonLink>
    </Banner>
  );
}
