import { createContext, useContext } from 'react';
import type { DealPage, Id } from '../../api/shapes.ts';

export const DealContext = createContext<DealPage | null>(null);

/** The deal of the page and what the caller may do on it; throws outside the deal's frame. */
export function useDeal(): DealPage {
  const page = useContext(DealContext);
  if (!page) throw new Error('useDeal works inside the frame of a deal');
  return page;
}

/** Returns a function that gives the name of a record's owner, and says of one who has left the deal that they have. */
export function useOwnerName(): (record: { owner_user_id: Id | null; owner_name: string | null }) => string | null {
  const { participants } = useDeal();
  return ({ owner_user_id: id, owner_name: name }) =>
    name !== null && participants.some((one) => one.user_id === id && one.status === 'removed')
      ? `${name} (left the deal)`
      : name;
}
