import { createContext, useContext } from 'react';
import type { DealPage } from '../../api/shapes.ts';

export const DealContext = createContext<DealPage | null>(null);

/** The deal of the page and what the caller may do on it; throws outside the deal's frame. */
export function useDeal(): DealPage {
  const page = useContext(DealContext);
  if (!page) throw new Error('useDeal works inside the frame of a deal');
  return page;
}
