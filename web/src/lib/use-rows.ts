import { useWindowVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { useLayoutEffect, useState } from 'react';

/** The measured rows of the lists shown last. Signing out loads the page anew and so forgets them. */
const measured = new Map<string, VirtualItem[]>();
const mostLists = 10;

type Options = Omit<
  Parameters<typeof useWindowVirtualizer<HTMLElement>>[0],
  'initialMeasurementsCache' | 'measureElement'
>;

/**
 * Renders the rows of a list near the viewport, in the scrolling page. `name` is the list's among those of its address:
 * when the person comes back to it, its rows have the heights that were measured before, so that the same rows are in
 * view.
 */
export function useRows(name: string, options: Options) {
  const [address] = useState(() => `${name} ${window.location.pathname}`);
  const [initialMeasurementsCache] = useState(() => measured.get(`${address} ${window.innerWidth}`) ?? []);
  const rows = useWindowVirtualizer<HTMLElement>({ ...options, initialMeasurementsCache });
  useLayoutEffect(
    () => () => {
      const heights = rows.takeSnapshot();
      if (heights.length === 0) return;
      const list = `${address} ${window.innerWidth}`;
      measured.delete(list);
      measured.set(list, heights);
      if (measured.size > mostLists) measured.delete(measured.keys().next().value!);
    },
    [rows, address],
  );
  return rows;
}
