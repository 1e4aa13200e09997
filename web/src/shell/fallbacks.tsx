import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { ButtonLink } from '../components/button.tsx';
import { useTitle } from '../lib/use-title.ts';
import { SignedOutLayout } from './signed-out-layout.tsx';
import { EmptyState, ErrorState, Skeleton, SkeletonText } from '../components/states.tsx';

/** A page whose files are still on their way. */
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

/** A page that failed as a whole. */
export function PageFault({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = async () => {
    // A file that could not be fetched is asked for again by the router alone.
    await router.invalidate();
    reset();
  };
  return (
    <ErrorState
      level={1}
      error={error instanceof Error ? error : new Error(String(error))}
      onRetry={() => void retry()}
    />
  );
}

/** The same where nothing stands around the page yet. */
export function LonePageFault(props: ErrorComponentProps) {
  return (
    <SignedOutLayout>
      <PageFault {...props} />
    </SignedOutLayout>
  );
}

/** An address that leads nowhere; `level` 2 where the page has a heading already. */
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

/** The same for a page without a frame. */
export function LoneNotFound() {
  return (
    <SignedOutLayout>
      <NotFound />
    </SignedOutLayout>
  );
}
