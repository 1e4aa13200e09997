/** Changing the e-mail address of an account, confirmed by a mailed link. */

import { mapped, row, takingLong, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import { queueMail } from '../outbox/mails.ts';
import type { NewLink } from './secret-tokens.ts';

const ask = row<{ done: boolean }>(
  'ask_address_change',
  `select done, ${queueMail('address_change', {
    to: 'case when done then $2 end',
    facts: `jsonb_build_object('name', (select name from users where id = app.user_id()))`,
    secret: '$6',
    link: '$3',
  })}
   from app.ask_address_change($1, $2, $3, $4, $5) as done`,
);

/**
 * Mails a link, valid for 30 minutes, that changes the address of the session's owner to `email`. Needs a recent
 * sign-in.
 */
export const askAddressChange = (
  session: Buffer | null,
  email: string,
  { token, secret }: NewLink,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(ask(session, email, token, address, requestId, secret), (answer) => answer?.done ?? false);

const asked = row<{ email: string | null }>('asked_address', 'select app.asked_address($1, $2) as email');

/**
 * Returns the address to which a mailed link changes the account of the session's owner; null when the link is not the
 * owner's or has expired.
 */
export const askedAddress = (session: Buffer | null, token: Buffer): Statement<string | null> =>
  mapped(asked(session, token), (found) => found?.email ?? null);

const change = row<{ old_email: string; new_email: string }>(
  'change_address',
  'select old_email, new_email from app.change_address($1, $2, $3, $4)',
);

/**
 * Changes the address of the session's owner to the one that the link was mailed to; null when the link is not the
 * owner's or has expired.
 */
export const changeAddress = (
  session: Buffer | null,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<{ old_email: string; new_email: string } | null> => takingLong(change(session, token, address, requestId));
