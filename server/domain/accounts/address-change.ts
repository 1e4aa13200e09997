/** Moving an account to another e-mail address, which a mailed link confirms. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const ask = row<{ done: boolean }>('ask_address_change', 'select app.ask_address_change($1, $2, $3, $4, $5) as done');

/** Keeps a link for 30 minutes by which the session's owner moves to `email`. Needs a recent sign-in. */
export const askAddressChange = (
  session: Buffer | null,
  email: string,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(ask(session, email, token, address, requestId), (answer) => answer?.done ?? false);

const change = row<{ old_email: string; new_email: string }>(
  'change_address',
  'select old_email, new_email from app.change_address($1, $2, $3, $4)',
);

/** Moves the session's owner to the address that the link was mailed to; null when it is not theirs or too old. */
export const changeAddress = (
  session: Buffer | null,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<{ old_email: string; new_email: string } | null> => change(session, token, address, requestId);
