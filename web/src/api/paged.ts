/** Keeps a list in pages up to date without refetching every page after each change. */
import type { InfiniteData, QueryClient, QueryKey } from '@tanstack/react-query';
import { refresh } from './refresh.ts';
import type { Id, Items } from './shapes.ts';

type Pages<Item> = InfiniteData<Items<Item>, string | null>;

/**
 * Adds the new items of `head` to the cached pages; returns `head` alone when there may be further items between the
 * two.
 */
function joined<Item extends { id: Id }>({ pages, pageParams }: Pages<Item>, head: Items<Item>): Pages<Item> {
  const known = new Set(pages.flatMap(({ items }) => items.map(({ id }) => id)));
  const fresh = head.items.filter(({ id }) => !known.has(id));
  const [first, ...rest] = pages;
  if (!first || (fresh.length === head.items.length && head.next_cursor)) return { pages: [head], pageParams: [null] };
  return { pages: [{ ...first, items: [...fresh, ...first.items] }, ...rest], pageParams };
}

/**
 * Refreshes a list that only grows at its head: only that head when several pages are shown. `askHead` requests it.
 */
export function refreshHead<Item extends { id: Id }>(
  client: QueryClient,
  queryKey: QueryKey,
  askHead: () => Promise<Items<Item>>,
): Promise<void> {
  const severalPages = () => {
    const shown = client.getQueryData<Pages<Item>>(queryKey);
    return shown !== undefined && shown.pages.length > 1 ? shown.pages : null;
  };
  const cached = severalPages();
  if (cached && !client.getQueryCache().find({ queryKey, exact: true })?.isActive()) {
    // The list is not shown: the person who comes back begins at its head.
    client.setQueryData<Pages<Item>>(queryKey, { pages: cached.slice(0, 1), pageParams: [null] });
  }
  return refresh(client, { queryKey, exact: true }, async (query) => {
    if (severalPages()) {
      try {
        const head = await askHead();
        client.setQueryData<Pages<Item>>(queryKey, (now) => now && joined(now, head));
        return;
      } catch {
        // Refetched the usual way below, which reports the error.
      }
    }
    await query.fetch();
  });
}
