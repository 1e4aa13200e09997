/** The mails of these routes. */

import type { Services } from '../services.ts';
import { addressChangeUrl, resetUrl, securityPath } from '../http/links.ts';
import { deliver, deliverLink, greeting } from '../http/mails.ts';

/** The link by which somebody sets a new password. */
export function mailReset(services: Services, to: { email: string; name: string }, token: string): Promise<void> {
  const link = resetUrl(services.config.baseUrl, token);
  const text = `${greeting(to.name)}somebody, most likely you, asked for a new password at Dealkeep. Choose it here:

${link}

The link works once, for 30 minutes. If you did not ask for it, do nothing: your password stays as it is.
`;
  return deliverLink(
    services,
    { to: to.email, subject: 'Choose a new password', text },
    'link to a new password',
    link,
  );
}

/** The link by which somebody confirms their new address. */
export function mailAddressChange(
  services: Services,
  to: { email: string; name: string },
  token: string,
): Promise<void> {
  const link = addressChangeUrl(services.config.baseUrl, token);
  const text = `${greeting(to.name)}confirm that you want to sign in to Dealkeep with this address from now on:

${link}

The link works once, for 30 minutes, in the browser in which you are signed in.
`;
  return deliverLink(
    services,
    { to: to.email, subject: 'Confirm your new address', text },
    'link to a new address',
    link,
  );
}

/** Tells the old address that the account has left it. */
export function mailAddressChanged(
  services: Services,
  to: { email: string; name: string },
  newEmail: string,
): Promise<void> {
  const text = `${greeting(to.name)}you now sign in to Dealkeep with ${newEmail} and no longer with this address.
If that was not you, ask the admin of your brokerage for help at once.
`;
  return deliver(services, { to: to.email, subject: 'Your address has changed', text });
}

/** Tells somebody that a protection of their account was changed, in case it was not them. */
export function mailSecurityChange(
  services: Services,
  to: { email: string; name: string },
  what: string,
): Promise<void> {
  const text = `${greeting(to.name)}${what}

If that was not you, set a new password at once (Forgot password?) and look through ${services.config.baseUrl}${securityPath}.
`;
  return deliver(services, { to: to.email, subject: 'The security of your account has changed', text });
}
