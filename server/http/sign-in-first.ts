import type { Context } from 'hono';

/** Whether the request is a person's browser going to a page, rather than a script or program calling an interface. */
export function wantsPage(c: Context): boolean {
  const destination = c.req.header('sec-fetch-dest');
  if (destination !== undefined) return destination === 'document' || destination === 'iframe';
  return (c.req.header('accept') ?? '').includes('text/html');
}

/** The path and query of this request, unchanged: where to return to after signing in. */
export function thisPath(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  return pathname + search;
}

/**
 * The answer to a request without a live session. A page sends the person to sign in and back to the same request
 * (303); anything else gets 401 with code `not_signed_in`.
 */
export function signInFirst(c: Context): Response {
  if (wantsPage(c)) {
    // A form that was sent is not sent again after signing in: the person returns to the start.
    const back = c.req.method === 'GET' || c.req.method === 'HEAD' ? thisPath(c) : '/';
    return c.redirect(`/sign-in?${new URLSearchParams({ return_to: back })}`, 303);
  }
  return c.json(
    { error: { code: 'not_signed_in', message: 'Sign in first: the session is missing or has ended.' } },
    401,
  );
}
