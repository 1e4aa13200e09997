import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { dealQuery } from '../api/deals.ts';
import type { Id } from '../api/shapes.ts';
import { isMissing } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';

/**
 * Returns a function that navigates to a deal that the person has just joined; home from a deal that an advisor does not
 * see yet, because the person they advise has not joined. `replace` leaves the present page out of the history.
 */
export function useJoinedDeal(replace: boolean): (dealId: Id) => Promise<void> {
  const navigate = useNavigate();
  const client = useQueryClient();
  return async (dealId) => {
    const isHidden = await client.fetchQuery({ ...dealQuery(dealId), staleTime: 0 }).then(
      () => false,
      (error: Error) => isMissing(error),
    );
    if (!isHidden) return navigate({ to: '/deals/$dealId', params: { dealId }, replace });
    toast('You have joined. The deal shows here once the person whom you advise has joined as well.');
    return navigate({ to: '/', replace });
  };
}
