import { useSyncExternalStore } from 'react';

let message = '';
const followers = new Set<() => void>();

/** Has screen readers say `text` when they are done with what they say. */
export function announce(text: string): void {
  // The same words again are no change to the page and would not be said.
  message = text === message ? `${text}\u00a0` : text;
  for (const follow of followers) follow();
}

/** The one place from which {@link announce} speaks. */
export function Announcer() {
  const spoken = useSyncExternalStore(
    (follow) => {
      followers.add(follow);
      return () => followers.delete(follow);
    },
    () => message,
  );
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {spoken}
    </div>
  );
}
