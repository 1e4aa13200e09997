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

/** The items of every page that was fetched. */
export function itemsOf<Item>(data: InfiniteData<Page<Item>, unknown> | undefined): Item[] {
  return data?.pages.flatMap(({ items }) => items) ?? [];
}

interface PagedListProps<Item> {
  query: PagedQuery<Page<Item>>;
  /** What it is searched for or filtered by: screen readers are told how much was found when that changes. */
  filter?: object;
  /** The same shape in grey. */
  skeleton: ReactNode;
  /** What stands in place of the list while there is nothing in it. */
  empty: ReactNode;
  className?: string;
  /** The list itself; the array stays the same until a page comes or changes. */
  children: (items: Item[]) => ReactNode;
}

/**
 * A list that comes in pages: its skeleton before the first, its error instead, and the next page as its end nears the
 * screen. While it shows what was asked for before, it is dimmed.
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

/** The end of the list: fetches the next page as it nears the screen, and by a button; by that alone after it could not be fetched. */
function More({ query }: { query: PagedQuery<unknown> }) {
  const { data, error, hasNextPage, isFetching, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A page that is asked for while the list is asked again may never come, and the end does not move then.
    if (!hasNextPage || isFetching || isFetchNextPageError || !end.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        // Several may come at once, the latest last.
        if (entries.at(-1)?.isIntersecting) void fetchNextPage();
      },
      { rootMargin: '600px' },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
    // An observer reports where the end is when it begins: a new one with each page that comes.
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
        // A list that cannot go on from its place, as after a rotation of secrets, begins anew.
        onClick={() => void (isFetchNextPageError ? query.refetch() : fetchNextPage())}
      >
        {isFetchNextPageError ? 'Try again' : 'Show more'}
      </Button>
    </div>
  );
}
