/** Settings, People: the members of one's brokerages, inviting them, and links for people invited to deals. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { inviteMember, linkDealInvitation } from '../domain/people/invitations.ts';
import {
  dealsRunAlone,
  endMemberSessions,
  listMembers,
  removeMember,
  type DealRunAlone,
  type Member,
} from '../domain/people/members.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfField, csrfGuard } from '../http/csrf.ts';
import { html, type Html } from '../http/html.ts';
import { invitationUrl } from '../http/links.ts';
import { mailInvitation } from '../http/mails.ts';
import { originOf } from '../http/origin.ts';
import { page } from '../http/pages.ts';
import { sessionToken } from '../http/session.ts';
import { action, Fault, fields, smallBody, view, type Done } from './action.ts';
import { cardPage, faultNotice, field, hidden } from './forms.ts';
import { asCaller, barPerson } from './signed-in.ts';

const delivery = z.enum(['mail', 'link'], { error: 'Choose mail or link.' }).default('mail');
const memberInput = z.object({
  brokerage_id: fields.id,
  email: fields.email,
  name: fields.name,
  role: z.enum(['admin', 'broker', 'staff'], { error: 'Choose a role: admin, broker or staff.' }),
  deliver: delivery,
});
const removing = z.object({
  brokerage_id: fields.id,
  user_id: fields.id,
  successor_id: z.union([fields.id, z.literal('')]).optional(),
});
type Removing = z.infer<typeof removing>;
const participantInput = z.object({ participant_id: fields.id, deliver: delivery });

function memberRow(member: Member, csrf: Html): Html {
  const { brokerage_id, user_id, name, email, role, status, caller_is_admin } = member;
  return html`<li>
    <span class="grow">${name}<br /><small>${email}, ${role}${status === 'invited' && ', invited'}</small></span>
    ${
      caller_is_admin &&
      html`<form method="post" action="/settings/people/remove">
        ${csrf} ${hidden('brokerage_id', brokerage_id)} ${hidden('user_id', user_id)}
        <button class="danger small">${status === 'invited' ? 'Take back' : 'Remove'}</button>
      </form>`
    }
    ${
      caller_is_admin &&
      status === 'active' &&
      html`<form method="post" action="/settings/people/end-sessions">
        ${csrf} ${hidden('brokerage_id', brokerage_id)} ${hidden('user_id', user_id)}
        <button class="second small">End sessions</button>
      </form>`
    }
  </li>`;
}

function inviteForm(
  brokerageId: string,
  entered: Readonly<Record<string, string>>,
  csrf: Html,
  canMail: boolean,
): Html {
  const chosen = entered['role'] ?? 'broker';
  return html`<h3>Invite somebody</h3>
    <form method="post" action="/settings/people/invite">
      ${csrf} ${hidden('brokerage_id', brokerageId)}
      ${field({ label: 'Name', name: 'name', autocomplete: 'off', value: entered['name'] })}
      ${field({ label: 'E-mail address', name: 'email', type: 'email', autocomplete: 'off', value: entered['email'] })}
      <label for="role">Role</label>
      <select id="role" name="role">
        ${['admin', 'broker', 'staff'].map((role) => html`<option${role === chosen && html` selected`}>${role}</option>`)}
      </select>
      <p class="actions">
        ${canMail && html`<button name="deliver" value="mail">Mail the invitation</button>`}
        <button name="deliver" value="link" class="second">Make a link</button>
      </p>
    </form>`;
}

/** The page of one's brokerages, with why the last change was not made. */
async function peoplePage(
  services: Services,
  c: Context,
  fault?: Fault,
  entered: Readonly<Record<string, string>> = {},
) {
  const [caller, members] = await asCaller(services, c, listMembers());
  const csrf = csrfField(sessionToken(c) ?? '');
  const brokerages = [...Map.groupBy(members, ({ brokerage_id }) => brokerage_id)];
  return page(c, {
    title: 'People',
    person: barPerson(c, caller),
    wide: true,
    ...(fault ? { status: fault.status } : {}),
    body: html`<h1>People</h1>
      ${faultNotice(fault)} ${brokerages.length === 0 && html`<p>You are not a member of a brokerage.</p>`}
      ${brokerages.map(
        ([id, people]) =>
          html`<section class="card">
            <h2>${people[0]?.brokerage_name}</h2>
            <ul class="rows">
              ${people.map((member) => memberRow(member, csrf))}
            </ul>
            ${
              people[0]?.caller_is_admin &&
              inviteForm(id, entered['brokerage_id'] === id ? entered : {}, csrf, services.config.smtpUrl !== undefined)
            }
          </section>`,
      )}`,
  });
}

/** Whose deals these will be, asked before their only broker is removed. */
function successorPage(
  c: Context,
  { brokerage_id, user_id }: Removing,
  deals: readonly DealRunAlone[],
  members: readonly Member[],
) {
  const people = members.filter((member) => member.brokerage_id === brokerage_id);
  const name = people.find((member) => member.user_id === user_id)?.name ?? 'This person';
  const successors = people.filter(
    (member) => member.user_id !== user_id && member.status === 'active' && member.role !== 'staff',
  );
  return cardPage(c, {
    title: `Remove ${name}?`,
    lead: `${name} leaves every deal of the brokerage. Nobody else is the broker of ${deals.length === 1 ? 'this one' : 'these'}:`,
    body: html`<ul>
        ${deals.map(({ title }) => html`<li>${title}</li>`)}
      </ul>
      <form method="post" action="/settings/people/remove">
        ${csrfField(sessionToken(c) ?? '')} ${hidden('brokerage_id', brokerage_id)} ${hidden('user_id', user_id)}
        <label for="successor">Their broker from now on</label>
        <select id="successor" name="successor_id">
          ${successors.map((member) => html`<option value="${member.user_id}">${member.name}</option>`)}
          <option value="">Nobody for now</option>
        </select>
        <p class="actions">
          <button class="danger">Remove</button> <a class="button second" href="/settings/people">Cancel</a>
        </p>
      </form>`,
  });
}

function linkPage(c: Context, email: string, link: string) {
  return cardPage(c, {
    title: 'The invitation',
    lead: `Give this link to ${email}. It works once, for 14 days, and is not shown again.`,
    body: html`<pre class="code">${link}</pre>
      <p><a class="button" href="/settings/people">Done</a></p>`,
  });
}

/** /settings/people, and inviting and removing for programs under /api/auth. */
export function peopleRoutes(services: Services): Hono {
  const app = new Hono();
  const again = (c: Context, fault: Fault, entered: Readonly<Record<string, string>>) =>
    peoplePage(services, c, fault, entered);
  app.get(
    '/settings/people',
    view((c) => peoplePage(services, c)),
  );

  /** What the inviter is told: the link only when they asked for it, so that a mailed one proves the mailbox. */
  const told = (c: Context, deliver: 'mail' | 'link', email: string, token: string) => {
    const link = invitationUrl(services.config.baseUrl, token);
    return deliver === 'link'
      ? { json: { invited: email, link }, go: () => linkPage(c, email, link) }
      : { json: { invited: email }, go: '/settings/people' };
  };

  const invite = action(
    memberInput,
    async (c, { brokerage_id: brokerageId, email, name, role, deliver }) => {
      const token = mintToken();
      const statement = inviteMember(
        { brokerageId, email, name, role },
        tokenDigest(token),
        deliver === 'mail',
        originOf(c),
      );
      const [caller, , members] = await asCaller(services, c, statement, listMembers());
      if (deliver === 'mail') {
        const toWhat = members.find((member) => member.brokerage_id === brokerageId)?.brokerage_name ?? 'a brokerage';
        void mailInvitation(services, { email, name }, { by: caller.name, toWhat }, token);
      }
      return told(c, deliver, email, token);
    },
    again,
    '/settings/people',
  );
  app.post('/settings/people/invite', smallBody, csrfGuard, invite);
  app.post('/api/auth/invitations', smallBody, csrfGuard, invite);

  const endSessions = action(
    z.object({ brokerage_id: fields.id, user_id: fields.id }),
    async (c, { brokerage_id, user_id }) => {
      const [, ended] = await asCaller(services, c, endMemberSessions(brokerage_id, user_id, originOf(c)));
      if (ended === null) throw new Fault(404, 'not_found', 'This person is no member whose sessions you can end.');
      return { json: { ended }, go: '/settings/people' };
    },
    again,
    '/settings/people',
  );
  app.post('/settings/people/end-sessions', smallBody, csrfGuard, endSessions);
  app.post('/api/auth/members/end-sessions', smallBody, csrfGuard, endSessions);

  const inviteToDeal = action(
    participantInput,
    async (c, { participant_id, deliver }) => {
      const token = mintToken();
      const [caller, invited] = await asCaller(
        services,
        c,
        linkDealInvitation(participant_id, tokenDigest(token), deliver === 'mail'),
      );
      if (invited === null) throw new Fault(404, 'not_found', 'Nobody is invited under this id.');
      const toWhat = `the deal ${invited.deal_title} of ${invited.brokerage_name}`;
      if (deliver === 'mail') void mailInvitation(services, invited, { by: caller.name, toWhat }, token);
      return told(c, deliver, invited.email, token);
    },
    again,
  );
  app.post('/api/auth/invitations/deal', smallBody, csrfGuard, inviteToDeal);

  const remove = async (c: Context, { brokerage_id, user_id, successor_id }: Removing): Promise<Done> => {
    const successor = successor_id === undefined || successor_id === '' ? null : successor_id;
    const [, removed] = await asCaller(services, c, removeMember(brokerage_id, user_id, successor, originOf(c)));
    if (!removed) throw new Fault(404, 'not_found', 'This person is no member that you can remove.');
    return { json: { removed: true, ...removed }, go: '/settings/people' };
  };
  app.post('/api/auth/members/remove', smallBody, csrfGuard, action(removing, remove, again, '/settings/people'));
  // In the form, whose deals these will be is asked before somebody leaves them without a broker.
  const removeInForm = action(
    removing,
    async (c, input) => {
      const [, deals, members] = await asCaller(
        services,
        c,
        dealsRunAlone(input.brokerage_id, input.user_id),
        listMembers(),
      );
      if (input.successor_id !== undefined || deals.length === 0) return remove(c, input);
      return { json: {}, go: () => successorPage(c, input, deals, members) };
    },
    again,
    '/settings/people',
  );
  app.post('/settings/people/remove', smallBody, csrfGuard, removeInForm);
  return app;
}
