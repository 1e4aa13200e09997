/** Links with a one-time token that people are given outside the browser: in a mail, or by the command line. */

function link(path: string) {
  return (baseUrl: string, token: string): string => `${baseUrl}${path}?${new URLSearchParams({ token })}`;
}

/** Creates the first brokerage and its admin. */
export const setUpUrl = link('/set-up');

/** Accepts an invitation to a brokerage or a deal. */
export const invitationUrl = link('/accept-invitation');

/** Sets a new password. */
export const resetUrl = link('/reset/new');

/** Moves an account to the address that the link was mailed to. */
export const addressChangeUrl = link('/confirm-address');
