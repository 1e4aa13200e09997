import { useSyncExternalStore } from 'react';
import { announced, followAnnounced } from '../lib/announce.ts';

/** The one place from which `announce` speaks. */
export function Announcer() {
  const spoken = useSyncExternalStore(followAnnounced, announced);
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {spoken}
    </div>
  );
}
