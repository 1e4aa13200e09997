/** Placeholders for the content of a view: loading, empty, failed. */
import type { UseQueryResult } from '@tanstack/react-query';
import { CloudOff, FileQuestion, RotateCw, type LucideIcon } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { cx } from '../lib/cx.ts';
import { formatCount } from '../lib/format.ts';
import { useTitle } from '../lib/use-title.ts';
import { Button, ButtonLink } from './button.tsx';
import { Card } from './card.tsx';

/** A grey placeholder: give it the size of the coming content, so that nothing moves when the content arrives. */
export function Skeleton({ className }: { className?: string }) {
  return (
    <span
      aria-hidden
      className={cx('block animate-[breathe_1.8s_ease-in-out_infinite] rounded-md bg-line/70', className)}
    />
  );
}

/** Grey lines of text. */
export function SkeletonText({ lines = 3 }: { lines?: number }) {
  return (
    <div className="flex flex-col gap-2.5">
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} className={cx('h-3.5', line === lines - 1 ? 'w-3/5' : 'w-full')} />
      ))}
    </div>
  );
}

/** Grey rows of a table or list, each `height` (a class such as "h-13") tall. */
export function SkeletonRows({ rows = 8, height = 'h-13' }: { rows?: number; height?: string }) {
  return (
    <div className="divide-y divide-line">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={cx('flex items-center gap-6 px-4', height)}>
          <Skeleton className="h-3.5 w-2/5" />
          <Skeleton className="h-3.5 w-1/5" />
          <Skeleton className="ml-auto h-3.5 w-16" />
        </div>
      ))}
    </div>
  );
}

/** {@link SkeletonRows} on a card. */
export function SkeletonCard(rows: { rows: number; height?: string }) {
  return (
    <Card flush>
      <SkeletonRows {...rows} />
    </Card>
  );
}

interface EmptyStateProps {
  icon?: LucideIcon;
  title: string;
  /** What to do next, or what will make content appear here. */
  children?: ReactNode;
  action?: ReactNode;
  /** The level of the title as a heading, if it is one; 1 when it is the only heading of the page. */
  level?: 1 | 2;
  className?: string;
}

/** Says that there is no content, and what to do next. */
export function EmptyState({ icon: Icon, title, children, action, level, className }: EmptyStateProps) {
  const Title = level === 1 ? 'h1' : level === 2 ? 'h2' : 'p';
  return (
    <div className={cx('mx-auto flex max-w-md flex-col items-center px-6 py-14 text-center', className)}>
      {Icon && (
        <span className="mb-4 grid size-12 place-items-center rounded-full bg-accent-wash text-accent-ink">
          <Icon className="size-5.5" strokeWidth={1.75} aria-hidden />
        </span>
      )}
      <Title className="font-serif text-lg font-semibold text-ink">{title}</Title>
      {children && <div className="mt-1.5 text-balance text-soft">{children}</div>}
      {action && <div className="mt-5 empty:hidden">{action}</div>}
    </div>
  );
}

function PageTitle({ title }: { title: string }) {
  useTitle(title);
  return null;
}

/**
 * Whether the error says that the resource does not exist or is not accessible to the user, or no longer (404 or 403).
 */
export const isMissing = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 403);

interface ErrorStateProps extends Pick<EmptyStateProps, 'level'> {
  error: Error;
  onRetry?: () => void;
}

/** Explains why content could not be shown, and offers to try again. */
export function ErrorState({ error, onRetry, level }: ErrorStateProps) {
  const missing = isMissing(error);
  return (
    <div role="alert">
      {level === 1 && <PageTitle title={missing ? 'Not found' : 'Not loaded'} />}
      <EmptyState
        icon={missing ? FileQuestion : CloudOff}
        {...(level && { level })}
        title={missing ? 'You cannot open this' : 'This could not be loaded'}
        action={
          missing
            ? level === 1 && (
                <ButtonLink to="/" kind="primary">
                  Go home
                </ButtonLink>
              )
            : onRetry && (
                <Button icon={<RotateCw className="size-4" />} onClick={onRetry}>
                  Try again
                </Button>
              )
        }
      >
        {missing
          ? 'It does not exist, or you do not have access to it. If you expected to see it, ask the person who sent you here.'
          : error instanceof ApiError
            ? error.message
            : 'Something unexpected happened. Reload the page. If it happens again, tell whoever runs Dealkeep what you were doing.'}
      </EmptyState>
    </div>
  );
}

/** Milliseconds of loading before screen readers are notified. */
const shortWaitMillis = 1000;

/** Shows the skeleton of content that is loading; screen readers are notified when that takes long. */
export function Loading({ children }: { children: ReactNode }) {
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    const wait = setTimeout(() => setIsLong(true), shortWaitMillis);
    return () => clearTimeout(wait);
  }, []);
  return (
    <>
      {/* Outside of the `aria-busy` element, whose content screen readers may not announce. */}
      <span className="sr-only" role="status">
        {isLong && 'Loading…'}
      </span>
      <div aria-busy="true">{children}</div>
    </>
  );
}

interface LoadedProps<T> {
  query: UseQueryResult<T, Error>;
  /** A placeholder in the same shape. */
  skeleton: ReactNode;
  /** For a page without a heading of its own until the data has loaded. */
  level?: 1 | 2;
  children: (data: T) => ReactNode;
}

/**
 * Shows a query's data, its skeleton while loading, or its error. Cached data is shown at once and stays when it cannot
 * be fetched again, unless the user may no longer see it.
 */
export function Loaded<T>({ query, skeleton, level, children }: LoadedProps<T>) {
  if (query.data !== undefined && !isMissing(query.error)) return children(query.data);
  if (query.error)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} {...(level && { level })} />;
  return <Loading>{skeleton}</Loading>;
}

/** The hint of a field whose choices may be incomplete: which of the items there are. Null when there are all. */
export const cutHint = (items: readonly unknown[], most: number, what: string): string | null =>
  items.length < most ? null : `You can choose among the first ${formatCount(most)} ${what}.`;

interface CutNoteProps {
  items: readonly unknown[];
  /** The limit of the service's list. */
  most: number;
  /** The text after the count: what the items are, and which of all. */
  children: ReactNode;
  className?: string;
}

/** A note below a list that may be incomplete: how many items it has, and which. */
export function CutNote({ items, most, children, className }: CutNoteProps) {
  if (items.length < most) return null;
  return (
    <p className={cx('text-sm text-faint', className)}>
      These are {formatCount(items.length)} {children}
    </p>
  );
}
