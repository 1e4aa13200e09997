/** Keeps paged lists up to date without refetching every page after each change. */
import type { InfiniteData, QueryClient, QueryKey } from '@tanstack/react-query';
import type { Id, Items } from './shapes.ts';

/** Lists that are being refetched, or were just now; whether something has changed since that began. */
const resting = new Map<string, boolean>();

/**
 * Refetches lists whose items may have changed anywhere. Their pages are fetched one after the other: a refetch in
 * progress is never restarted, and changes in quick succession share one refetch.
 */
export async function refreshList(client: QueryClient, queryKey: QueryKey): Promise<void> {
  const name = JSON.stringify(queryKey);
  if (resting.has(name)) {
    resting.set(name, true);
    return;
  }
  resting.set(name, false);
  const began = performance.now();
  await client.invalidateQueries({ queryKey });
  const took = performance.now() - began;
  setTimeout(
    () => {
      const changed = resting.get(name);
      resting.delete(name);
      if (changed) void refreshList(client, queryKey);
    },
    Math.max(250, took),
  );
}

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

/** Refetches a list that only grows at its head: only that head when several pages are shown. */
export async function refreshHead<Item extends { id: Id }>(
  client: QueryClient,
  queryKey: QueryKey,
  askHead: () => Promise<Items<Item>>,
): Promise<void> {
  const shown = client.getQueryData<Pages<Item>>(queryKey);
  const several = shown !== undefined && shown.pages.length > 1;
  if (several && client.getQueryCache().find({ queryKey, exact: true })?.isActive()) {
    try {
      const head = await askHead();
      client.setQueryData<Pages<Item>>(queryKey, (now) => now && joined(now, head));
      return;
    } catch {
      // Refetched the usual way below, which reports the error.
    }
  } else if (several) {
    // The list is not shown: the person who comes back begins at its head.
    client.setQueryData<Pages<Item>>(queryKey, { pages: shown.pages.slice(0, 1), pageParams: [null] });
  }
  await client.invalidateQueries({ queryKey, exact: true });
}
