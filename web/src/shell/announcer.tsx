import { useSyncExternalStore } from 'react';
import { announced, followAnnounced } from '../lib/announce.ts';

/** The live region for the messages of `announce`. */
export function Announcer() {
  const spoken = useSyncExternalStore(followAnnounced, announced);
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {spoken}
    </div>
  );
}
