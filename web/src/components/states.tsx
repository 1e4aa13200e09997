/** What a view shows in place of its content: loading, empty, failed. */
import type { UseQueryResult } from '@tanstack/react-query';
import { CloudOff, FileQuestion, RotateCw, type LucideIcon } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { cx } from '../lib/cx.ts';
import { formatCount } from '../lib/format.ts';
import { useTitle } from '../lib/use-title.ts';
import { Button, ButtonLink } from './button.tsx';
import { Card } from './card.tsx';

/** A grey shape where something will be: give it that thing's size, so that nothing moves when it comes. */
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
  /** What to do next, or what will make something appear here. */
  children?: ReactNode;
  action?: ReactNode;
  /** The title's place among the page's headings, when it is one: 1 where it is all that the page says. */
  level?: 1 | 2;
  className?: string;
}

/** Says that there is nothing, and what to do next. */
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

/** Whether there is nothing for the person, or no longer. */
export const isMissing = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 403);

interface ErrorStateProps extends Pick<EmptyStateProps, 'level'> {
  error: Error;
  onRetry?: () => void;
}

/** Says why something could not be shown, and lets the person try again. */
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
          ? 'It does not exist, or you have no access to it. If you expected to see it, ask the person who sent you here.'
          : error instanceof ApiError
            ? error.message
            : 'Something unexpected happened. Reload the page. If it happens again, tell whoever runs Dealkeep what you were doing.'}
      </EmptyState>
    </div>
  );
}

/** How long something may take before it is said to be on its way. */
const shortWaitMillis = 1000;

/** The shape of what is on its way; where that takes long, screen readers say so. */
export function Loading({ children }: { children: ReactNode }) {
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    const wait = setTimeout(() => setIsLong(true), shortWaitMillis);
    return () => clearTimeout(wait);
  }, []);
  return (
    <>
      {/* Not within what is busy, of which nothing may be read until it is no longer. */}
      <span className="sr-only" role="status">
        {isLong && 'Loading…'}
      </span>
      <div aria-busy="true">{children}</div>
    </>
  );
}

interface LoadedProps<T> {
  query: UseQueryResult<T, Error>;
  /** The same shape in grey. */
  skeleton: ReactNode;
  /** Where the page has no heading of its own until the data is there. */
  level?: 1 | 2;
  children: (data: T) => ReactNode;
}

/**
 * A query's data once it is there; its skeleton before, its error instead. Data in the cache is shown at once, and stays
 * while it cannot be asked for again; what the person may not see any more does not.
 */
export function Loaded<T>({ query, skeleton, level, children }: LoadedProps<T>) {
  if (query.data !== undefined && !isMissing(query.error)) return children(query.data);
  if (query.error)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} {...(level && { level })} />;
  return <Loading>{skeleton}</Loading>;
}

interface CutNoteProps {
  items: readonly unknown[];
  /** How many the service lists. */
  most: number;
  /** What they are called, and which of all they are. */
  children: ReactNode;
  className?: string;
}

/** Below a list that may not be whole: how many are listed, and which. */
export function CutNote({ items, most, children, className }: CutNoteProps) {
  if (items.length < most) return null;
  return (
    <p className={cx('text-sm text-faint', className)}>
      These are {formatCount(items.length)} {children}
    </p>
  );
}
