import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';

interface PaginationProps {
  shown: number;
  /** Whether there is more to fetch, whether it is being fetched, and how to: as an infinite query gives them. */
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** The end of a list that comes in pages: fetches the next as it nears the screen, and by a button. */
export function Pagination({ shown, hasNextPage, isFetchingNextPage, fetchNextPage }: PaginationProps) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!hasNextPage || isFetchingNextPage || !end.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        // Several may come at once, the latest last.
        if (entries.at(-1)?.isIntersecting) void fetchNextPage();
      },
      { rootMargin: '600px' },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, shown]);
  if (!hasNextPage) return null;
  return (
    <div ref={end} className="flex justify-center p-3">
      <Button kind="quiet" size="sm" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
