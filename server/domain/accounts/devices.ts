/** The browsers in which a person has signed in before, so that what others guess does not keep them out. */

import { mapped, row, type Statement } from '../../database/statement.ts';

/** How long a browser is known after the last sign-in in it, in seconds. */
export const deviceSeconds = 180 * 24 * 3600;

const knows = row<{ known: boolean }>('knows_device', 'select app.knows_device($1, $2) as known');

/** Whether the person at this address has signed in before in the browser with this device token's digest. */
export const knowsDevice = (email: string, device: Buffer): Statement<boolean> =>
  mapped(knows(email, device), (answer) => answer?.known ?? false);

const keep = row('keep_device', 'select app.keep_device($1, $2, $3)');

/**
 * Makes the browser known to the owner of the session, under a new token; what it was known by to this and other
 * accounts (`earlier`) is worth nothing any more. All are digests.
 */
export const keepDevice = (session: Buffer, earlier: Buffer | null, device: Buffer): Statement<unknown> =>
  keep(session, earlier, device);
