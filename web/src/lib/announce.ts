/** What screen readers are told that nothing else on the page says. */

let message = '';
const followers = new Set<() => void>();

/** Has screen readers say `text` when they are done with what they say. */
export function announce(text: string): void {
  // The same words again are no change to the page and would not be said.
  message = text === message ? `${text}\u00a0` : text;
  for (const follow of followers) follow();
}

/** What was announced last. */
export const announced = (): string => message;

/** Calls `follower` when that changes, until the returned function is called. */
export function followAnnounced(follower: () => void): () => void {
  followers.add(follower);
  return () => followers.delete(follower);
}
