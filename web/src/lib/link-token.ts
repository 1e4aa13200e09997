/**
 * The one-time token of a mailed or copied link, which stands in its fragment. It is taken out of the address at once, so
 * that it is neither copied nor sent on with it, and kept for this tab: over a reload, and over signing in on the way.
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
    // Without storage the page has it until it is left.
  }
  window.history.replaceState(window.history.state, '', pathname + search);
  return true;
}

/** The token of the link that led to this page, or undefined. */
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
// Another link to the page that is open.
window.addEventListener('hashchange', () => take() && window.location.reload());
