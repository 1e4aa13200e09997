import { createContext, useContext } from 'react';

/**
 * Where menus, popovers and tooltips are put: inside the dialog that is open, else inside the page's main part. There
 * they belong to a landmark, scroll with a dialog that holds the page still, and are not hidden with what lies behind it.
 */
export const PortalContainerContext = createContext<HTMLElement | null>(null);

/** The element for a Radix portal's `container`. */
export function usePortalContainer(): HTMLElement | null {
  return useContext(PortalContainerContext);
}
