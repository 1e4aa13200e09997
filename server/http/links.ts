/**
 * Links with a one-time token that people are given outside the browser: in a mail, or by the command line. The token is in
 * the fragment, which a browser sends to nobody: no log, proxy or Referer sees it. The application's page takes it from
 * there and sends it in the body of a request.
 */

function link(path: string) {
  return (baseUrl: string, token: string): string => `${baseUrl}${path}#${new URLSearchParams({ token })}`;
}

/** Creates the first brokerage and its admin. */
export const setUpUrl = link('/set-up');

/** Accepts an invitation to a brokerage or a deal. */
export const invitationUrl = link('/accept-invitation');

/** Sets a new password. */
export const resetUrl = link('/reset/new');

/** Moves an account to the address that the link was mailed to. */
export const addressChangeUrl = link('/confirm-address');
