import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, type ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import { useFound } from '../lib/use-found.ts';
import { Button } from './button.tsx';
import { Loaded } from './states.tsx';

interface Page<Item> {
  readonly items: readonly Item[];
}

type PagedQuery<P> = UseInfiniteQueryResult<InfiniteData<P, unknown>, Error>;

/** Returns the items of all fetched pages. */
export function itemsOf<Item>(data: InfiniteData<Page<Item>, unknown> | undefined): Item[] {
  return data?.pages.flatMap(({ items }) => items) ?? [];
}

interface PagedListProps<Item> {
  query: PagedQuery<Page<Item>>;
  /** The search and filters: when they change, screen readers announce the number of items found. */
  filter?: object;
  /** A placeholder in the same shape. */
  skeleton: ReactNode;
  /** Shown instead of an empty list. */
  empty: ReactNode;
  className?: string;
  /** Renders the list; the array stays the same until a page is added or changes. */
  children: (items: Item[]) => ReactNode;
}

/**
 * A paged list: shows its skeleton before the first page, or its error, and fetches the next page when its end nears
 * the screen. It is dimmed while it still shows the items of the previous search.
 */
export function PagedList<Item>({ query, filter = {}, skeleton, empty, className, children }: PagedListProps<Item>) {
  const items = useMemo(() => itemsOf(query.data), [query.data]);
  useFound(filter, query.data && !query.isPlaceholderData ? items.length : undefined, query.hasNextPage);
  return (
    <Loaded query={query} skeleton={skeleton}>
      {() =>
        items.length > 0 || query.hasNextPage ? (
          <div className={cx(className, query.isPlaceholderData && 'opacity-60')}>
            {children(items)}
            <More query={query} />
          </div>
        ) : (
          empty
        )
      }
    </Loaded>
  );
}

/**
 * The end of the list: fetches the next page when it nears the screen, or by its button; after a failure by the button
 * only.
 */
function More({ query }: { query: PagedQuery<unknown> }) {
  const { data, error, hasNextPage, isFetching, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A page requested while the list is being refetched may never arrive, and the end would not move to request it
    // again.
    if (!hasNextPage || isFetching || isFetchNextPageError || !end.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        // Several entries may arrive at once, latest last.
        if (entries.at(-1)?.isIntersecting) void fetchNextPage();
      },
      { rootMargin: '600px' },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
    // An observer reports the position of the end when it starts, so each fetched page gets a new observer.
  }, [hasNextPage, isFetching, isFetchNextPageError, fetchNextPage, data]);
  if (!hasNextPage) return null;
  return (
    <div ref={end} className="flex flex-wrap items-center justify-center gap-3 p-3">
      {isFetchNextPageError && (
        <span role="alert" className="text-sm text-soft">
          The rest could not be loaded. {error?.message}
        </span>
      )}
      <Button
        kind="quiet"
        size="sm"
        pending={isFetchingNextPage}
        // A list that cannot continue from its cursor, for instance after a rotation of secrets, is fetched again from
        // the start.
        onClick={() => void (isFetchNextPageError ? query.refetch() : fetchNextPage())}
      >
        {isFetchNextPageError ? 'Try again' : 'Show more'}
      </Button>
    </div>
  );
}
