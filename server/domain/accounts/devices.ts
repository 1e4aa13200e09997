/** The browsers in which a person has signed in before, so that other people's guesses do not lock the person out. */

import { mapped, row, type Statement } from '../../database/statement.ts';

/** How long a browser stays known after the last sign-in, in seconds. */
export const deviceSeconds = 180 * 24 * 3600;

const knows = row<{ known: boolean }>('knows_device', 'select app.knows_device($1, $2) as known');

/** Whether the person with this e-mail address has signed in before in the browser with this device token's digest. */
export const knowsDevice = (email: string, device: Buffer): Statement<boolean> =>
  mapped(knows(email, device), (answer) => answer?.known ?? false);

const keep = row('keep_device', 'select app.keep_device($1, $2, $3, $4)');

/**
 * Makes the browser known to the owner of the session under a new token; its previous token (`earlier`) becomes invalid
 * for this and other accounts. The first parameters are digests; `continues` is whether the session goes on under a new
 * token, so that nobody has signed in.
 */
export const keepDevice = (
  session: Buffer,
  earlier: Buffer | null,
  device: Buffer,
  continues = false,
): Statement<unknown> => keep(session, earlier, device, continues);
