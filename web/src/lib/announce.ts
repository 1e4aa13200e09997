/** Announcements for screen readers that are not in the visible page. */

let message = '';
const followers = new Set<() => void>();

/** Makes screen readers say `text` once they have finished speaking. */
export function announce(text: string): void {
  // Repeating the same text would not change the page, and would not be spoken.
  message = text === message ? `${text}\u00a0` : text;
  for (const follow of followers) follow();
}

/** Returns the last announcement. */
export const announced = (): string => message;

/** Calls `follower` when the announcement changes, until the returned function is called. */
export function followAnnounced(follower: () => void): () => void {
  followers.add(follower);
  return () => followers.delete(follower);
}
