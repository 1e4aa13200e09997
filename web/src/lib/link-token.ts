/**
 * The one-time token of a mailed or copied link, in the fragment of its URL. It is removed from the address
 * immediately, so that it is not copied or shared with it, and kept for this tab across reloads and signing in.
 */

const key = (path: string) => `dealkeep.link ${path}`;
const taken = new Map<string, string>();

function take(): boolean {
  const { pathname, search, hash } = window.location;
  const token = new URLSearchParams(hash.slice(1)).get('token');
  if (token === null) return false;
  taken.set(pathname, token);
  try {
    sessionStorage.setItem(key(pathname), token);
  } catch {
    // Without storage, the page has the token until it is left.
  }
  window.history.replaceState(window.history.state, '', pathname + search);
  return true;
}

/** Returns the token of the link that led to this page, or undefined. */
export function linkToken(): string | undefined {
  const { pathname } = window.location;
  try {
    return taken.get(pathname) ?? sessionStorage.getItem(key(pathname)) ?? undefined;
  } catch {
    return taken.get(pathname);
  }
}

// Before the router reads the address.
take();
// Another link to the same page was opened.
window.addEventListener('hashchange', () => take() && window.location.reload());
