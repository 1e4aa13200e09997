/** Accepting an invitation: with an account by signing in, without one by choosing a name and a password. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import {
  acceptFirstInvitation,
  acceptInvitation,
  findInvitation,
  type Invitation,
} from '../domain/people/invitations.ts';
import { hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfField, csrfGuard, originGuard } from '../http/csrf.ts';
import { html, type Html } from '../http/html.ts';
import { originOf } from '../http/origin.ts';
import { sessionDigest, sessionToken } from '../http/session.ts';
import { thisPath } from '../http/sign-in-first.ts';
import { action, Fault, fields, smallBody, view } from './action.ts';
import { hashedFor } from './attempts.ts';
import { cardPage, field, hidden, newPasswordHint } from './forms.ts';
import { asCaller, freshSession, isSignedIn, signedIn, signInOriginOf } from './signed-in.ts';

const over = () =>
  new Fault(410, 'link_expired', 'This invitation is used up, taken back or too old: ask for a new one.');

const hasAccount = () => new Fault(409, 'has_account', 'You have an account already: sign in to accept.');

const roles: Readonly<Record<string, string>> = {
  admin: 'an admin',
  broker: 'a broker',
  staff: 'a member of staff',
  seller: 'a seller',
  buyer: 'a buyer',
  advisor: 'an advisor',
  viewer: 'a viewer',
};

function invites({ brokerage_name, deal_title, role }: Invitation): Html {
  const what = deal_title === null ? 'join them' : html`take part in the deal <strong>${deal_title}</strong>`;
  return html`<strong>${brokerage_name}</strong> invites you to ${what} as ${roles[role] ?? role}.`;
}

function firstPage(c: Context, token: string, invitation: Invitation, name: string, fault?: Fault) {
  // Who was handed the link is not told whether there is an account at its address: it may be whoever made it.
  const signIn = `/sign-in?${new URLSearchParams({ return_to: `/accept-invitation?${new URLSearchParams({ token })}` })}`;
  const known = html`<p>
      If you have an account as ${invitation.email}, <a href="${signIn}">sign in</a> with it to accept.
    </p>
    <h2>If you have none yet</h2>`;
  return cardPage(c, {
    title: 'You are invited',
    lead: invites(invitation),
    fault,
    body: html`${invitation.has_password === null && known}
      <form method="post" action="/accept-invitation/new">
        ${hidden('token', token)}
        <input type="hidden" name="email" autocomplete="username" value="${invitation.email}" />
        ${field({ label: 'Your name', name: 'name', autocomplete: 'name', value: name })}
        ${field({ label: `Password for ${invitation.email}`, name: 'password', type: 'password', autocomplete: 'new-password', hint: newPasswordHint, autofocus: true })}
        <p><button class="full">Accept</button></p>
      </form>`,
  });
}

function acceptPage(c: Context, token: string, invitation: Invitation) {
  return cardPage(c, {
    title: 'You are invited',
    lead: invites(invitation),
    body: html`<form method="post" action="/accept-invitation">
      ${csrfField(sessionToken(c) ?? '')} ${hidden('token', token)}
      <p><button class="full">Accept</button></p>
    </form>`,
  });
}

const whereTo = ({ deal_id }: Invitation): string => (deal_id === null ? '/' : `/deals/${deal_id}`);

/** GET and POST of /accept-invitation, and the same for programs under /api/auth/invitation. */
export function invitationRoutes(services: Services): Hono {
  const { database } = services;
  const app = new Hono();

  const find = async (token: string | undefined): Promise<Invitation> => {
    const parsed = fields.token.safeParse(token);
    const found = parsed.success ? await database.run(findInvitation(tokenDigest(parsed.data))) : null;
    if (found === null) throw over();
    return found;
  };

  const show = async (c: Context) => {
    const token = c.req.query('token') ?? '';
    const invitation = await find(token);
    const open = () => firstPage(c, token, invitation, invitation.name);
    if (invitation.has_password === false) return open();
    if (!(await isSignedIn(services, c))) {
      if (invitation.has_password === null) return open();
      return c.redirect(`/sign-in?${new URLSearchParams({ return_to: thisPath(c) })}`, 303);
    }
    const [caller] = await asCaller(services, c);
    if (caller.user_id !== invitation.user_id) {
      if (invitation.has_password === null) return open();
      throw new Fault(403, 'other_account', `This invitation is for ${invitation.email}: sign out, and open it again.`);
    }
    return acceptPage(c, token, invitation);
  };
  app.get('/accept-invitation', view(show));
  const look = action(
    z.object({ token: fields.token }),
    async (_c, { token }) => {
      const { email, name, role, brokerage_name, deal_title, has_password } = await find(token);
      const kind = deal_title === null ? 'brokerage' : 'deal';
      return { json: { email, name, role, kind, brokerage_name, deal_title, has_password }, go: '/accept-invitation' };
    },
    (c, fault) => cardPage(c, { title: 'You are invited', fault, body: html`<p><a href="/">Go on</a></p>` }),
  );
  app.post('/api/auth/invitation', smallBody, originGuard, look);

  const accept = action(
    z.object({ token: fields.token }),
    async (c, { token }) => {
      const invitation = await find(token);
      const [, accepted] = await asCaller(
        services,
        c,
        acceptInvitation(sessionDigest(c), tokenDigest(token), originOf(c)),
      );
      if (!accepted) throw over();
      return { json: { accepted: true, deal_id: invitation.deal_id }, go: whereTo(invitation) };
    },
    (c, fault) => cardPage(c, { title: 'You are invited', fault, body: html`<p><a href="/">Go on</a></p>` }),
  );
  app.post('/accept-invitation', smallBody, csrfGuard, accept);
  app.post('/api/auth/invitation/join', smallBody, csrfGuard, accept);

  const acceptFirst = action(
    z.object({ token: fields.token, name: fields.name, password: fields.password }),
    async (c, { token: link, name, password }) => {
      const invitation = await find(link);
      if (invitation.has_password) throw hasAccount();
      const fault = await passwordFault(password, [invitation.email, name]);
      if (fault !== null) throw new Fault(400, 'password_refused', fault);
      const phc = await hashPassword(password, hashedFor(c, invitation.email));
      const { token, session } = freshSession(c);
      const statement = acceptFirstInvitation(tokenDigest(link), name, phc, session, signInOriginOf(c));
      // Of a link that was passed on it shows only here, to whoever would have opened an account, that there is one.
      if (!(await database.run(statement))) throw invitation.has_password === null ? hasAccount() : over();
      const person = { id: invitation.user_id, email: invitation.email, name };
      const done = await signedIn(services, c, token, person, whereTo(invitation));
      return { ...done, json: { ...done.json, deal_id: invitation.deal_id } };
    },
    async (c, fault, entered) => {
      const token = entered['token'] ?? '';
      const invitation = await find(token).catch(() => null);
      if (invitation === null || invitation.has_password) {
        return cardPage(c, { title: 'You are invited', fault, body: html`<p><a href="/sign-in">Sign in</a></p>` });
      }
      return firstPage(c, token, invitation, entered['name'] ?? '', fault);
    },
  );
  app.post('/accept-invitation/new', smallBody, originGuard, acceptFirst);
  app.post('/api/auth/invitation/accept', smallBody, originGuard, acceptFirst);
  return app;
}
