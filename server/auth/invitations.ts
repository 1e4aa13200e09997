/**
 * Accepting an invitation: by signing in with an existing account, or by choosing a name and a password for a new one.
 */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import {
  acceptFirstInvitation,
  acceptInvitation,
  findInvitation,
  type Invitation,
} from '../domain/people/invitations.ts';
import { enterWithSession } from '../domain/accounts/sessions.ts';
import { hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfGuard, originGuard } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { sessionDigest } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody } from './action.ts';
import { hashedFor } from './attempts.ts';
import { asCaller, freshSession, signedIn, signInOriginOf } from './signed-in.ts';

const over = () =>
  new Problem(410, 'link_expired', 'This invitation has been used or withdrawn, or has expired: ask for a new one.');

// The page behind the link says neither whose account it is nor at which address.
const notTheirs = () =>
  new Problem(
    409,
    'other_account',
    'This invitation was sent to another account: sign in with that account, or ask for a new invitation.',
  );

const hasAccount = () => new Problem(409, 'has_account', 'You already have an account: sign in to accept.');

/** Routes that show an invitation and accept it, with a new account or as the signed-in person. */
export function invitationRoutes(services: Services) {
  const { database, config } = services;

  const find = async (token: string): Promise<Invitation> => {
    const found = await database.run(findInvitation(tokenDigest(token)));
    if (found === null) throw over();
    return found;
  };

  const look = action(z.object({ token: fields.token }), async (c, { token }) => {
    const [reader, found] = await database.together(
      enterWithSession(sessionDigest(c), false),
      findInvitation(tokenDigest(token)),
    );
    if (found === null) throw over();
    const { email, name, role, brokerage_name, deal_title, has_password, moved } = found;
    const yours = reader && reader.user_id === found.user_id;
    const kind: 'brokerage' | 'deal' = deal_title === null ? 'brokerage' : 'deal';
    return { email, name, role, kind, brokerage_name, deal_title, has_password, moved, yours };
  });

  const accept = action(z.object({ token: fields.token }), async (c, { token }) => {
    const { user_id, deal_id } = await find(token);
    const statement = acceptInvitation(sessionDigest(c), tokenDigest(token), originOf(c));
    const [person, accepted] = await asCaller(services, c, statement);
    if (!accepted) throw person.user_id === user_id ? over() : notTheirs();
    return { accepted: true, deal_id };
  });

  const acceptFirst = action(
    z.object({ token: fields.token, name: fields.name, password: fields.password }),
    async (c, { token: link, name, password }) => {
      const invitation = await find(link);
      if (invitation.has_password) throw invitation.moved ? notTheirs() : hasAccount();
      const fault = await passwordFault(password, [invitation.email, name]);
      if (fault !== null) throw new Problem(400, 'password_refused', fault);
      const phc = await hashPassword(password, config.passwordParameters, hashedFor(c, invitation.email));
      const { token, session } = freshSession(c);
      const statement = acceptFirstInvitation(tokenDigest(link), name, phc, session, signInOriginOf(c));
      // A link that was passed on does not reveal until here that there is an account, to a person who was about to
      // create one.
      if (!(await database.run(statement))) throw invitation.has_password === null ? hasAccount() : over();
      const person = { id: invitation.user_id, email: invitation.email, name };
      return { ...(await signedIn(services, c, token, person)), deal_id: invitation.deal_id };
    },
  );

  return new Hono()
    .post('/invitation', smallBody, originGuard, look)

    .post('/invitation/join', smallBody, csrfGuard, accept)

    .post('/invitation/accept', smallBody, originGuard, acceptFirst);
}
