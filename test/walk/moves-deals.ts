/** Moves on deals and people: for each, the rule from the documentation, and the statements that the server sends. */

import { createHash } from 'node:crypto';
import { changeMemberRole, removeMember } from '../../server/domain/people/members.ts';
import { editDeal, moveDeal, openDeal } from '../../server/domain/deals/deals.ts';
import { extendExclusivity, grantExclusivity, releaseExclusivity } from '../../server/domain/deals/exclusivity.ts';
import { answerInvitation, inviteToDeal, removeFromDeal } from '../../server/domain/deals/participants.ts';
import { acceptInvitation, inviteMember } from '../../server/domain/people/invitations.ts';
import { revokeNda, sendNda, signNda } from '../../server/domain/deals/ndas.ts';
import {
  actsAs,
  isActiveNda,
  isAdminOf,
  isMember,
  partIn,
  principal,
  runningExclusivity,
  seesOfSide,
  stateNow,
} from './rules.ts';
import type { Deal, Member, Part, Role, State, World } from './world.ts';
import { type Step, type Make, day, origin, pick, nameOf, dealName, at, withDeal, partOf, sessionOf } from './step.ts';

/** How long the link of an invitation works, in milliseconds. */
const linkMillis = 14 * day;

const roles: readonly Role[] = ['broker', 'seller', 'buyer', 'buyer', 'buyer', 'advisor', 'viewer'];
const memberRoles: readonly Member['role'][] = ['admin', 'broker', 'staff'];
// States that continue a sale come up more often than those that end it.
const targets: readonly State[] = [
  'listed',
  'listed',
  'listed',
  'under_offer',
  'under_offer',
  'exclusivity',
  'diligence',
  'diligence',
  'diligence',
  'closing',
  'closing',
  'draft',
  'closed',
  'withdrawn',
];
const forward: Record<State, readonly State[]> = {
  draft: ['listed', 'withdrawn'],
  listed: ['under_offer', 'withdrawn'],
  under_offer: ['withdrawn'],
  exclusivity: ['diligence', 'withdrawn'],
  diligence: ['closing', 'withdrawn'],
  closing: ['closed', 'withdrawn'],
  closed: [],
  withdrawn: [],
};

/** Removes a buyer's side from the QoE workspace when it has no active NDA any more. */
function losePlaces(w: World, side: Part): void {
  if (side.role === 'buyer' && !w.ndas.some((nda) => nda.part === side && isActiveNda(w, nda)))
    w.workspace = w.workspace.filter((place) => principal(place.part) !== side);
}

/** Removes the advisors of a participant who leaves the deal or gets another role on it. */
function advisorsLeave(w: World, advised: Part): void {
  for (const part of w.parts) if (part.advises === advised && part.status !== 'removed') leaves(w, part);
}

/**
 * Removes a participant from a deal, together with their place in the QoE workspace, their opt-in, and their advisors.
 */
function leaves(w: World, part: Part): void {
  const answers = (one: Part) => one.deal === part.deal && one.role === 'seller' && one.status === 'active';
  const answered = answers(part);
  part.status = 'removed';
  // Questions that wait for the seller come back to the broker with the last seller.
  if (answered && part.deal.state !== 'closed' && !w.parts.some(answers))
    for (const question of w.questions)
      if (question.part.deal === part.deal && question.status === 'with_seller')
        question.status = 'pending_broker_review';
  w.workspace = w.workspace.filter((place) => place.part !== part);
  w.optIns = w.optIns.filter((optIn) => optIn.deal !== part.deal || optIn.person !== part.person);
  advisorsLeave(w, part);
}

/** Ends what a member loses who leaves a brokerage or becomes staff; staff do not run deals. */
function losesMembership(w: World, member: Member, left: boolean): void {
  for (const part of w.parts) {
    if (part.deal.brokerage !== member.brokerage || part.person !== member.person || part.status === 'removed')
      continue;
    if (part.role === 'broker' && (left || member.role === 'staff')) leaves(w, part);
    if (left && (part.role === 'advisor' || part.role === 'viewer')) leaves(w, part);
  }
  if (left)
    w.grants = w.grants.filter(
      ({ person, client }) => person !== member.person || client.brokerage !== member.brokerage,
    );
  // Opt-ins for deals that the member saw only as an admin.
  w.optIns = w.optIns.filter(
    ({ person, deal }) =>
      person !== member.person ||
      deal.brokerage !== member.brokerage ||
      w.parts.some((part) => part.person === person && part.deal === deal && part.status === 'active'),
  );
}

const isLastAdmin = (w: World, member: Member): boolean =>
  member.role === 'admin' &&
  member.status === 'active' &&
  !w.members.some(
    (other) =>
      other !== member && other.brokerage === member.brokerage && other.role === 'admin' && other.status === 'active',
  );

/** Returns the exclusivity that nobody has ended; it may have expired. */
const openExclusivity = (w: World, deal: Deal) => w.exclusivities.find((x) => x.part.deal === deal && !x.ended) ?? null;

function endExclusivity(w: World, deal: Deal): void {
  for (const x of w.exclusivities) if (x.part.deal === deal) x.ended = true;
}

/** Stores what has expired, as the server's sweep does. */
export function sweep(w: World): void {
  for (const deal of w.deals)
    if (deal.state === 'exclusivity' && stateNow(w, deal) === 'listed') {
      deal.state = 'listed';
      endExclusivity(w, deal);
    }
  for (const nda of w.ndas)
    if ((nda.status === 'sent' || nda.status === 'active') && nda.expires !== null && nda.expires <= w.now) {
      nda.status = 'expired';
      losePlaces(w, nda.part);
    }
}

/** Whether no further NDA can be sent to a buyer now: one waits, or one without an end is active. */
const hasLastNda = (w: World, part: Part): boolean =>
  w.ndas.some(
    (nda) =>
      nda.part === part &&
      (nda.status === 'sent'
        ? nda.expires === null || nda.expires > w.now
        : nda.status === 'active' && nda.expires === null),
  );

const tokenOf = (w: World, step: Step): Buffer =>
  createHash('sha256')
    .update(`${w.members.length} ${w.parts.length} ${w.now} ${JSON.stringify(step)}`)
    .digest();

/** Moves on deals themselves, their participants, NDAs and exclusivities, and the members of brokerages. */
export const ofDeals: Readonly<Record<string, Make>> = {
  openDeal: (w, step, me) => {
    if (w.deals.length >= 4) return null;
    const brokerage = pick(w.brokerages, step.a)!;
    const input = {
      title: `Deal ${w.deals.length}`,
      industry: null,
      location: null,
      summary: null,
      asking_price: null,
      currency: 'USD',
      needs_nda: true,
    };
    return {
      says: `opens d${w.deals.length} in b${w.brokerages.indexOf(brokerage)}`,
      sends: [openDeal(brokerage, input, origin)],
      may: isMember(w, me, brokerage, 'admin', 'broker'),
      makes: ['deals', 'participants'],
      happens(id, part) {
        const deal: Deal = { id: id!, brokerage, state: 'draft', needsNda: true };
        w.deals.push(deal);
        w.parts.push({
          id: part!,
          deal,
          person: me,
          role: 'broker',
          status: 'active',
          joined: true,
          advises: null,
          linkUntil: 0,
        });
      },
    };
  },

  invite: withDeal((w, step, me, deal) => {
    const person = pick(w.people, step.a)!;
    const role = pick(roles, step.b)!;
    const advises =
      role === 'advisor'
        ? (pick(
            w.parts.filter((part) => part.deal === deal),
            step.c,
          ) ?? null)
        : null;
    if (role === 'advisor' && !advises) return null;
    const there = w.parts.find((part) => part.deal === deal && part.person === person);
    const linkUntil = w.now + linkMillis;
    const hasAdvisors =
      there !== undefined && w.parts.some((part) => part.advises === there && part.status !== 'removed');
    return {
      afterClosing: role === 'broker',
      says: `invites ${nameOf(w, person)} to ${dealName(w, deal)} as ${role}${advises ? ` of ${nameOf(w, advises.person)}` : ''}`,
      sends: [
        inviteToDeal(
          deal.id,
          { email: `p${w.people.indexOf(person)}@example.test`, name: 'Somebody', role, advises: advises?.id ?? null },
          { token: tokenOf(w, step), secret: 'sealed' },
          origin,
        ),
      ],
      // An invitation that waits keeps its role. An advisor may not advise themself or another advisor, only an invited
      // or active broker, seller, buyer or viewer; a participant who has advisors may not become one.
      may:
        (actsAs(w, me, deal, 'broker') || isAdminOf(w, me, deal)) &&
        there?.status !== 'active' &&
        !(
          there?.status === 'invited' &&
          there.linkUntil > w.now &&
          (there.role !== role || there.advises !== advises)
        ) &&
        (!advises || (advises.role !== 'advisor' && advises.status !== 'removed' && advises !== there && !hasAdvisors)),
      ...(there ? {} : { makes: ['participants'] }),
      happens(id) {
        if (there) {
          if (there.role !== role) advisorsLeave(w, there);
          Object.assign(there, { role, advises, status: 'invited', linkUntil });
        } else w.parts.push({ id: id!, deal, person, role, advises, status: 'invited', joined: false, linkUntil });
      },
    };
  }),

  answerInvitation: withDeal((w, step, me, deal) => {
    const waiting = w.parts.filter((part) => part.deal === deal && part.status === 'invited');
    // People answer their own invitation if they have one, and otherwise try another person's.
    const own = waiting.filter((part) => part.person === me);
    const part = pick(own.length > 0 ? own : waiting, step.a);
    if (!part) return null;
    const accepts = step.b % 6 !== 0;
    return {
      afterClosing: true,
      says: `${accepts ? 'accepts' : 'declines'} the invitation of ${nameOf(w, part.person)} to ${dealName(w, deal)}`,
      sends: [answerInvitation(part.id, accepts, origin)],
      may: part.person === me,
      happens() {
        if (!accepts) return leaves(w, part);
        part.status = 'active';
        part.joined = true;
      },
    };
  }),

  removePart: withDeal((w, step, me, deal) => {
    const part = partOf(w, step, deal);
    if (!part) return null;
    return {
      afterClosing: true,
      says: `removes ${nameOf(w, part.person)} from ${dealName(w, deal)}`,
      sends: [removeFromDeal(deal.id, part.id, origin)],
      may: part.status !== 'removed' && (actsAs(w, me, deal, 'broker') || isAdminOf(w, me, deal)),
      happens: () => leaves(w, part),
    };
  }),

  inviteMember: (w, step, me) => {
    const brokerageId = pick(w.brokerages, step.a)!;
    const person = pick(w.people, step.b)!;
    const role = pick(memberRoles, step.c)!;
    const link = tokenOf(w, step);
    const linkUntil = w.now + linkMillis;
    const there = w.members.find((member) => member.brokerage === brokerageId && member.person === person);
    return {
      says: `invites ${nameOf(w, person)} to b${w.brokerages.indexOf(brokerageId)} as ${role}`,
      sends: [
        inviteMember(
          { brokerageId, email: `p${w.people.indexOf(person)}@example.test`, name: 'Somebody', role },
          { token: link, secret: 'sealed' },
          origin,
        ),
      ],
      may: isMember(w, me, brokerageId, 'admin') && (!there || there.status === 'removed'),
      happens() {
        if (there) Object.assign(there, { role, status: 'invited', link, linkUntil });
        else
          w.members.push({
            brokerage: brokerageId,
            person,
            goesBy: person,
            role,
            status: 'invited',
            joined: false,
            link,
            linkUntil,
          });
      },
    };
  },

  joinBrokerage: (w, step, me) => {
    const waiting = w.members.filter((member) => member.status === 'invited');
    const own = waiting.filter((member) => member.person === me);
    const member = pick(own.length > 0 ? own : waiting, step.a);
    if (!member?.link) return null;
    const session = sessionOf(me);
    return {
      says: `accepts the invitation of ${nameOf(w, member.person)} to b${w.brokerages.indexOf(member.brokerage)}`,
      sends: [acceptInvitation(session, member.link, origin)],
      may: member.person === me && member.linkUntil > w.now,
      happens() {
        member.status = 'active';
        member.joined = true;
        member.link = null;
      },
    };
  },

  changeMember: (w, step, me) => {
    const member = pick(w.members, step.a);
    if (!member) return null;
    const role = pick(memberRoles, step.b)!;
    return {
      says: `makes ${nameOf(w, member.person)} ${role} of b${w.brokerages.indexOf(member.brokerage)}`,
      sends: [changeMemberRole(member.brokerage, member.goesBy, role, origin)],
      may:
        isMember(w, me, member.brokerage, 'admin') &&
        member.status !== 'removed' &&
        (role === 'admin' || !isLastAdmin(w, member)),
      happens() {
        const changed = member.role !== role;
        member.role = role;
        if (member.status === 'active' && changed) losesMembership(w, member, false);
      },
    };
  },

  removeMember: (w, step, me) => {
    const member = pick(w.members, step.a);
    if (!member) return null;
    return {
      says: `removes ${nameOf(w, member.person)} from b${w.brokerages.indexOf(member.brokerage)}`,
      sends: [removeMember(member.brokerage, member.goesBy, null, origin)],
      may: isMember(w, me, member.brokerage, 'admin') && member.status !== 'removed' && !isLastAdmin(w, member),
      happens() {
        const wasActive = member.status === 'active';
        member.status = 'removed';
        member.link = null;
        if (wasActive) losesMembership(w, member, true);
      },
    };
  },

  sendNda: withDeal((w, step, me, deal) => {
    const part = partOf(w, step, deal);
    if (!part) return null;
    const days = step.b % 3 === 0 ? null : (step.b % 20) + 1;
    const expires = days === null ? null : w.now + days * day;
    return {
      says: `sends ${nameOf(w, part.person)} an NDA on ${dealName(w, deal)}${days === null ? '' : ` for ${days} days`}`,
      sends: [
        sendNda(
          deal.id,
          {
            participant_id: part.id,
            terms: 'Keep it to yourself.',
            expires_at: expires === null ? null : at(w, expires - w.now),
          },
          origin,
        ),
      ],
      may: actsAs(w, me, deal, 'broker') && part.role === 'buyer' && part.status !== 'removed' && !hasLastNda(w, part),
      makes: ['ndas'],
      happens: (id) => {
        w.ndas.push({ id: id!, part, status: 'sent', expires });
        losePlaces(w, part);
      },
    };
  }),

  signNda: withDeal((w, step, me, deal) => {
    const sent = w.ndas.filter((nda) => nda.part.deal === deal && nda.status === 'sent');
    const own = sent.filter((nda) => nda.part.person === me);
    const nda = pick(own.length > 0 ? own : sent, step.a);
    if (!nda) return null;
    return {
      says: `signs the NDA of ${nameOf(w, nda.part.person)} on ${dealName(w, deal)}`,
      sends: [signNda(nda.id, 'My name', origin)],
      may:
        nda.part.person === me &&
        partIn(w, me, deal) !== null &&
        seesOfSide(w, me, nda) &&
        (nda.expires === null || nda.expires > w.now),
      happens() {
        // What has ended ended with the places in the workspace; what is in force is replaced.
        losePlaces(w, nda.part);
        for (const one of w.ndas) if (one.part === nda.part && one.status === 'active') one.status = 'expired';
        nda.status = 'active';
      },
    };
  }),

  revokeNda: withDeal((w, step, me, deal) => {
    const nda = pick(
      w.ndas.filter((one) => one.part.deal === deal),
      step.a,
    );
    if (!nda) return null;
    return {
      afterClosing: true,
      says: `revokes the NDA of ${nameOf(w, nda.part.person)} on ${dealName(w, deal)}`,
      sends: [revokeNda(nda.id, origin)],
      may: actsAs(w, me, deal, 'broker') && (nda.status === 'sent' || nda.status === 'active'),
      happens: () => {
        nda.status = 'revoked';
        losePlaces(w, nda.part);
      },
    };
  }),

  grantExclusivity: withDeal((w, step, me, deal) => {
    const part = partOf(w, step, deal);
    if (!part) return null;
    const days = (step.b % 20) + 1;
    const state = stateNow(w, deal);
    return {
      says: `grants ${nameOf(w, part.person)} exclusivity on ${dealName(w, deal)} for ${days} days`,
      sends: [grantExclusivity(deal.id, { participant_id: part.id, expires_at: at(w, days * day) }, origin)],
      may:
        actsAs(w, me, deal, 'broker') &&
        part.role === 'buyer' &&
        part.status === 'active' &&
        !runningExclusivity(w, deal) &&
        ['listed', 'under_offer', 'diligence', 'closing'].includes(state),
      makes: ['exclusivities'],
      happens(id) {
        endExclusivity(w, deal);
        if (state === 'listed' || state === 'under_offer') deal.state = 'exclusivity';
        w.exclusivities.push({ id: id!, part, person: part.person, expires: w.now + days * day, ended: false });
      },
    };
  }),

  extendExclusivity: withDeal((w, step, me, deal) => {
    const open = openExclusivity(w, deal);
    const expires = w.now + ((step.b % 20) + 1) * day;
    return {
      says: `extends the exclusivity on ${dealName(w, deal)}`,
      sends: [extendExclusivity(deal.id, at(w, expires - w.now), origin)],
      may:
        actsAs(w, me, deal, 'broker') &&
        open !== null &&
        deal.state !== 'closed' &&
        (open.expires > w.now || deal.state !== 'exclusivity'),
      happens: () => void (open!.expires = expires),
    };
  }),

  releaseExclusivity: withDeal((w, _step, me, deal) => ({
    says: `releases the exclusivity on ${dealName(w, deal)}`,
    sends: [releaseExclusivity(deal.id, origin)],
    may: actsAs(w, me, deal, 'broker') && openExclusivity(w, deal) !== null && deal.state !== 'closed',
    happens() {
      endExclusivity(w, deal);
      if (deal.state === 'exclusivity') deal.state = 'listed';
    },
  })),

  moveDeal: withDeal((w, step, me, deal) => {
    const to = pick(targets, step.a)!;
    const from = stateNow(w, deal);
    return {
      says: `moves ${dealName(w, deal)} to ${to}`,
      sends: [moveDeal(deal.id, to, true, origin)],
      may: actsAs(w, me, deal, 'broker') && (to === deal.state || to === from || forward[from].includes(to)),
      happens() {
        if (to === deal.state) return;
        deal.state = to;
        if (['draft', 'listed', 'under_offer', 'withdrawn'].includes(to)) endExclusivity(w, deal);
      },
    };
  }),
};

/** Apart from `ofDeals` in order to come last in `makers`: steps choose their kind by its position. */
export const editsDeal: Readonly<Record<string, Make>> = {
  editDeal: withDeal((w, step, me, deal) => {
    const needsNda = step.a % 2 === 0;
    return {
      says: `says that ${dealName(w, deal)} needs ${needsNda ? 'an' : 'no'} NDA`,
      sends: [editDeal(deal.id, { needs_nda: needsNda }, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens: () => void (deal.needsNda = needsNda),
    };
  }),
};
