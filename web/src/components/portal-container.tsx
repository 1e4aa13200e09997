import { createContext, useContext } from 'react';

/**
 * The container of menus, popovers and tooltips: the open dialog, otherwise the page's main element. There they belong
 * to a landmark, scroll with a dialog that locks the page, and are not hidden with the content behind it.
 */
export const PortalContainerContext = createContext<HTMLElement | null>(null);

/** Returns the element for a Radix portal's `container`. */
export function usePortalContainer(): HTMLElement | null {
  return useContext(PortalContainerContext);
}
