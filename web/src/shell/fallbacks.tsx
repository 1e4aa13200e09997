import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { useEffect, useEffectEvent } from 'react';
import { ButtonLink } from '../components/button.tsx';
import { useTitle } from '../lib/use-title.ts';
import { SignedOutLayout } from './signed-out-layout.tsx';
import { EmptyState, ErrorState, Skeleton, SkeletonText } from '../components/states.tsx';

/** Shown while the files of a page are loading. */
export function PagePending() {
  return (
    <div aria-busy="true" className="flex flex-col gap-6">
      <Skeleton className="h-8.5 w-64 max-w-full" />
      <div className="max-w-2xl">
        <SkeletonText lines={4} />
      </div>
    </div>
  );
}

/** Shown for a page that failed as a whole, which is tried again when there is a connection again. */
export function PageFault({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = async () => {
    // Only the router requests a file again that failed to load.
    await router.invalidate();
    reset();
  };
  const onOnline = useEffectEvent(() => void retry());
  useEffect(() => {
    const listener = () => onOnline();
    window.addEventListener('online', listener);
    return () => window.removeEventListener('online', listener);
  }, []);
  return (
    <ErrorState
      level={1}
      error={error instanceof Error ? error : new Error(String(error))}
      onRetry={() => void retry()}
    />
  );
}

/** {@link PageFault} without the layout of signed-in pages. */
export function LonePageFault(props: ErrorComponentProps) {
  return (
    <SignedOutLayout>
      <PageFault {...props} />
    </SignedOutLayout>
  );
}

/** Shown for an unknown address; `level` is 2 when the page already has a heading. */
export function NotFound({ level = 1 }: { level?: 1 | 2 }) {
  useTitle('Page not found');
  return (
    <EmptyState
      level={level}
      icon={Compass}
      title="There is no page at this address"
      action={
        <ButtonLink to="/" kind="primary">
          Go home
        </ButtonLink>
      }
    >
      The link may be out of date, or mistyped.
    </EmptyState>
  );
}

/** {@link NotFound} without the layout of signed-in pages. */
export function LoneNotFound() {
  return (
    <SignedOutLayout>
      <NotFound />
    </SignedOutLayout>
  );
}
