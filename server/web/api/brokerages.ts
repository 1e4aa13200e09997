/** A brokerage and its members: renaming it, inviting members, changing their roles, removing them. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import { askBrokerageDeletion, cancelBrokerageDeletion } from '../../domain/people/brokerage-deletion.ts';
import { admitKeysByDefault } from '../../domain/clients/key-admission.ts';
import { resetSandbox, sandboxOf } from '../../domain/clients/sandboxes.ts';
import { brokerageOfCaller, renameBrokerage, requireSecondFactor } from '../../domain/people/brokerages.ts';
import { answerMemberInvitation, inviteMember, renewMemberInvitation } from '../../domain/people/invitations.ts';
import { resendMail, undeliveredMails } from '../../domain/outbox/undelivered.ts';
import { handOverDeals } from '../../domain/people/handovers.ts';
import {
  changeMemberRole,
  dealsRunAlone,
  endMemberSessions,
  integrationsOfMember,
  invitedMember,
  leftByMember,
  memberOf,
  membersOf,
  removeMember,
} from '../../domain/people/members.ts';
import { memberRoles } from '../../domain/people/member-roles.ts';
import type { NewLink } from '../../domain/accounts/secret-tokens.ts';
import { invitationUrl } from '../../http/links.ts';
import { mintLink } from '../../mail/secrets.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere, Problem } from '../../http/problem.ts';
import { body, delivery, emailAddress, id, optional, pathId, properName, query } from './input.ts';
import { orNotFound } from './problems.ts';

const role = z.enum(memberRoles, 'Choose a role.');
const Rename = z.strictObject({ name: properName });
const Role = z
  .strictObject({ role, successor_id: optional(id) })
  .refine((input) => input.successor_id === null || input.role === 'staff', {
    error: 'Only a member who becomes staff hands deals over.',
    path: ['successor_id'],
  });
const Invite = z.strictObject({
  email: z.string().trim().toLowerCase().pipe(emailAddress),
  name: properName,
  role,
  deliver: delivery,
});
const Renewal = z.strictObject({ deliver: delivery });
const Required = z.strictObject({ required: z.boolean('Send true or false.') });
const Admission = z.strictObject({ admitted: z.boolean() });
const Deletion = z.strictObject({ confirmation: z.string().trim().max(64) });
const Successor = z.object({ successor_id: optional(id) });

/** The problem when nothing was changed: 404 when the person sees no such brokerage or member, otherwise 403. */
const unchanged = (seen: unknown) => (seen ? notAllowed() : nothingThere());

/** The brokerage routes, below /api/web. */
export function brokerageRoutes(services: Services) {
  const { smtpUrl, baseUrl } = services.config;

  /**
   * Creates an invitation link and mails or returns it. A mailed link is never returned, so that using it proves access
   * to the mailbox.
   */
  const invite = async (
    c: Context,
    brokerageId: string,
    deliver: 'mail' | 'link' | undefined,
    change: (link: NewLink) => Statement<unknown>,
  ) => {
    const [known] = await asPerson(services, c, brokerageOfCaller(brokerageId));
    if (!known) throw nothingThere();
    const mailed = smtpUrl !== undefined && deliver !== 'link';
    const { token, link } = mintLink(services.secrets, mailed);
    const [changed, member] = await asPerson(services, c, change(link), invitedMember(brokerageId, link.token));
    if (!changed || !member) throw nothingThere();
    return { member, invitation_url: mailed ? null : invitationUrl(baseUrl, token), mailed };
  };

  /** Accepts or declines the person's own invitation. */
  const answer = async (c: Context, accepts: boolean) => {
    const [answered] = await asPerson(services, c, answerMemberInvitation(pathId(c), accepts, originOf(c)));
    if (!answered) throw nothingThere();
    return c.body(null, 204);
  };

  return new Hono()
    .get('/brokerages/:id', async (c) => {
      const [brokerage] = await asPerson(services, c, brokerageOfCaller(pathId(c)));
      return c.json(orNotFound(brokerage));
    })

    .patch('/brokerages/:id', body(Rename), async (c) => {
      const brokerageId = pathId(c);
      const { name } = c.req.valid('json');
      const [renamed, brokerage] = await asPerson(
        services,
        c,
        renameBrokerage(brokerageId, name, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      if (!renamed) throw unchanged(brokerage);
      return c.json(orNotFound(brokerage));
    })

    .get('/brokerages/:id/members', async (c) => {
      const brokerageId = pathId(c);
      const [brokerage, items] = await asPerson(services, c, brokerageOfCaller(brokerageId), membersOf(brokerageId));
      if (!brokerage) throw nothingThere();
      return c.json({ items });
    })

    .post('/brokerages/:id/members', body(Invite), async (c) => {
      const brokerageId = pathId(c);
      const { deliver, ...person } = c.req.valid('json');
      const change = (link: NewLink) => inviteMember({ brokerageId, ...person }, link, originOf(c));
      return c.json(await invite(c, brokerageId, deliver, change), 201);
    })

    .post('/brokerages/:id/members/:user_id/invitation', body(Renewal), async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      const { deliver } = c.req.valid('json');
      const change = (link: NewLink) => renewMemberInvitation(brokerageId, userId, link, originOf(c));
      return c.json(await invite(c, brokerageId, deliver, change));
    })

    .post('/brokerages/:id/invitation/accept', (c) => answer(c, true))

    .post('/brokerages/:id/invitation/decline', (c) => answer(c, false))

    .patch('/brokerages/:id/members/:user_id', body(Role), async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      const { role: wanted, successor_id } = c.req.valid('json');
      const change = changeMemberRole(brokerageId, userId, wanted, originOf(c));
      const after = memberOf(brokerageId, userId);
      // Staff run no deals: the successor gets those that would have no broker, before the member leaves them.
      const [changed, member] = successor_id
        ? await asPerson(
            services,
            c,
            handOverDeals(brokerageId, userId, successor_id, 'alone', false, originOf(c)),
            change,
            after,
          ).then(([_count, ...answers]) => answers)
        : await asPerson(services, c, change, after);
      if (!changed) throw unchanged(member);
      return c.json(orNotFound(member));
    })

    .get('/brokerages/:id/mails', async (c) => {
      const brokerageId = pathId(c);
      const [brokerage, items] = await asPerson(
        services,
        c,
        brokerageOfCaller(brokerageId),
        undeliveredMails(brokerageId),
      );
      if (!brokerage) throw nothingThere();
      if (brokerage.role !== 'admin') throw notAllowed();
      return c.json({ items });
    })

    .post('/brokerages/:id/mails/:mail_id/resend', async (c) => {
      const brokerageId = pathId(c);
      const { link } = mintLink(services.secrets, true);
      const [brokerage, resent] = await asPerson(
        services,
        c,
        brokerageOfCaller(brokerageId),
        resendMail(brokerageId, pathId(c, 'mail_id'), link, originOf(c)),
      );
      if (!resent) throw brokerage && brokerage.role !== 'admin' ? notAllowed() : nothingThere();
      return c.json({ resent });
    })

    .put('/brokerages/:id/second-factor', body(Required), async (c) => {
      const brokerageId = pathId(c);
      const { required } = c.req.valid('json');
      const [changed, brokerage] = await asPerson(
        services,
        c,
        requireSecondFactor(brokerageId, required, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      if (!changed) throw unchanged(brokerage);
      return c.json(orNotFound(brokerage));
    })

    .put('/brokerages/:id/key-admission', body(Admission), async (c) => {
      const brokerageId = pathId(c);
      const { admitted } = c.req.valid('json');
      const [changed, brokerage] = await asPerson(
        services,
        c,
        admitKeysByDefault(brokerageId, admitted, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      if (!changed) throw unchanged(brokerage);
      return c.json(orNotFound(brokerage));
    })

    .get('/brokerages/:id/sandbox', async (c) => {
      const brokerageId = pathId(c);
      const [sandbox, brokerage] = await asPerson(services, c, sandboxOf(brokerageId), brokerageOfCaller(brokerageId));
      orNotFound(brokerage);
      return c.json({ sandbox });
    })

    .post('/brokerages/:id/sandbox/reset', async (c) => {
      const brokerageId = pathId(c);
      const [done, sandbox, brokerage] = await asPerson(
        services,
        c,
        resetSandbox(brokerageId, originOf(c)),
        sandboxOf(brokerageId),
        brokerageOfCaller(brokerageId),
      );
      if (done === null) throw unchanged(brokerage);
      if (!done) throw nothingThere();
      return c.json({ sandbox });
    })

    .post('/brokerages/:id/deletion', body(Deletion), async (c) => {
      const brokerageId = pathId(c);
      const [before] = await asPerson(services, c, brokerageOfCaller(brokerageId));
      if (before?.role !== 'admin') throw unchanged(before);
      if (c.req.valid('json').confirmation !== before.slug)
        throw new Problem(400, 'validation_error', `Type ${before.slug} to confirm.`);
      const { brokerageDeletionDays } = services.config;
      const [due, brokerage] = await asPerson(
        services,
        c,
        askBrokerageDeletion(brokerageId, brokerageDeletionDays, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      if (due === null) throw unchanged(brokerage);
      return c.json(orNotFound(brokerage));
    })

    .delete('/brokerages/:id/deletion', async (c) => {
      const brokerageId = pathId(c);
      const [cancelled, brokerage] = await asPerson(
        services,
        c,
        cancelBrokerageDeletion(brokerageId, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      // Cancelling again is not an error.
      if (cancelled === false) throw unchanged(brokerage);
      return c.json(orNotFound(brokerage));
    })

    .post('/brokerages/:id/members/:user_id/sessions/end', async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      const [member, ended] = await asPerson(
        services,
        c,
        memberOf(brokerageId, userId),
        endMemberSessions(brokerageId, userId, originOf(c)),
      );
      if (ended === null) throw unchanged(member);
      return c.json({ ended });
    })

    .get('/brokerages/:id/members/:user_id/deals', async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      // The deals that would be left without a broker, and what else the person leaves, shown before they are removed.
      const [member, deals, left, integrations] = await asPerson(
        services,
        c,
        memberOf(brokerageId, userId),
        dealsRunAlone(brokerageId, userId),
        leftByMember(brokerageId, userId),
        integrationsOfMember(brokerageId, userId),
      );
      if (!member) throw nothingThere();
      return c.json({ ...deals, ...left, ...integrations });
    })

    .delete('/brokerages/:id/members/:user_id', query(Successor), async (c) => {
      const brokerageId = pathId(c);
      const userId = pathId(c, 'user_id');
      const { successor_id } = c.req.valid('query');
      const [before, removed] = await asPerson(
        services,
        c,
        memberOf(brokerageId, userId),
        removeMember(brokerageId, userId, successor_id, originOf(c)),
      );
      if (!removed) throw unchanged(before);
      return c.json(removed);
    });
}
