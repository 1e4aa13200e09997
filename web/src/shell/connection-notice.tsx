import { Hourglass, WifiOff } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { followWaits, waitsFor } from '../api/retry-state.ts';

function follow(changed: () => void): () => void {
  for (const event of ['online', 'offline']) window.addEventListener(event, changed);
  return () => {
    for (const event of ['online', 'offline']) window.removeEventListener(event, changed);
  };
}

/**
 * Says that there is no connection, so that data is neither refreshed nor sent, or that the server asked the page to
 * retry later.
 */
export function ConnectionNotice() {
  const online = useSyncExternalStore(follow, () => navigator.onLine);
  const waiting = useSyncExternalStore(followWaits, waitsFor);
  return (
    <div
      role="status"
      // An open dialog hides elements without `aria-live` from screen readers.
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-[calc(4.5rem+env(safe-area-inset-bottom))] z-30 flex justify-center lg:bottom-5 lg:left-60"
    >
      {!online && (
        <p
          data-notice
          className="flex items-center gap-2.5 rounded-full bg-warn-wash px-4 py-2 font-medium text-warn shadow-2"
        >
          <WifiOff className="size-4 shrink-0" aria-hidden />
          You are offline. What you see may be out of date.
        </p>
      )}
      {online && waiting !== null && (
        <p
          data-notice
          className="flex items-center gap-2.5 rounded-full bg-warn-wash px-4 py-2 font-medium text-warn shadow-2"
        >
          <Hourglass className="size-4 shrink-0" aria-hidden />
          {waiting === 'down'
            ? 'Dealkeep is busy or restarting. This page will try again automatically.'
            : 'Too many requests. This page will continue on its own within a minute.'}
        </p>
      )}
    </div>
  );
}
