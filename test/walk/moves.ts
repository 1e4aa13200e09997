/** What people may do, and what it changes: each step of the walk as the pages say it, and as the server sends it. */

import { createHash } from 'node:crypto';
import type { Statement } from '../../server/database/statement.ts';
import { changeMemberRole, removeMember } from '../../server/domain/people/members.ts';
import { createClient, deleteClient, shareClient } from '../../server/domain/clients/connected-clients.ts';
import { addCondition, removeCondition } from '../../server/domain/deals/conditions.ts';
import {
  editDeal,
  extendExclusivity,
  grantExclusivity,
  moveDeal,
  openDeal,
  releaseExclusivity,
} from '../../server/domain/deals/deals.ts';
import { optInDeal, optOutDeal, stopDealTools } from '../../server/domain/clients/deal-opt-ins.ts';
import { submitOffer } from '../../server/domain/offers/offers.ts';
import { answerInvitation, inviteToDeal, removeFromDeal } from '../../server/domain/deals/participants.ts';
import {
  addDocument,
  changeDocument,
  openDocument,
  removeDocument,
  restoreDocument,
} from '../../server/domain/documents/documents.ts';
import { addSource } from '../../server/domain/offers/financing.ts';
import { addFinding, setFindingStatus } from '../../server/domain/diligence/findings.ts';
import { acceptInvitation, inviteMember } from '../../server/domain/people/invitations.ts';
import { revokeNda, sendNda, signNda } from '../../server/domain/deals/ndas.ts';
import { addChecklistRow } from '../../server/domain/diligence/checklist.ts';
import { addNormalization, removeNormalization } from '../../server/domain/diligence/normalizations.ts';
import {
  answerContradiction,
  releaseContradiction,
  unanswerContradiction,
  withdrawContradiction,
} from '../../server/domain/diligence/contradiction-answers.ts';
import { admitToQoe, dismissFromQoe } from '../../server/domain/diligence/workspace.ts';
import {
  answerQuestion,
  askQuestion,
  distributeQuestion,
  rejectQuestion,
  releaseQuestion,
  withdrawQuestion,
} from '../../server/domain/diligence/questions.ts';
import { grantTool, withdrawTool } from '../../server/domain/clients/tool-grants.ts';
import {
  actsAs,
  editsQoe,
  isAdminOf,
  isInDiligence,
  isMember,
  isUnderNda,
  partIn,
  principal,
  readsQoe,
  runningExclusivity,
  seesAs,
  seesClient,
  seesDeal,
  seesDocument,
  seesOfSide,
  seesPart,
  seesQuestion,
  stateNow,
} from './rules.ts';
import type { Confidentiality, Deal, Id, Member, Part, Role, State, World } from './world.ts';

/** Who did it, on which deal, and three numbers that choose the rest: the same step means the same in a shorter walk. */
export interface Step {
  /** One of {@link makers} or of {@link ofTime}. */
  readonly kind: string;
  readonly who: number;
  /** Whether, in the place of `who`, the next person does it who may, if anybody may. */
  readonly able: boolean;
  readonly deal: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  /** Who looks afterwards. */
  readonly looks: number;
}

/** A step in a world: what is sent, whether it may happen, and what is different then. */
export interface Move {
  /** For people: what is done to what. */
  readonly says: string;
  readonly sends: readonly Statement<unknown>[];
  readonly may: boolean;
  /** Whether it is no change of the record, and so stays possible when the deal is closed. */
  readonly afterClosing?: boolean;
  /** The tables in which it makes a row, whose ids `happens` is given. */
  readonly makes?: readonly string[];
  happens(...ids: Id[]): void;
}

const day = 86_400_000;
const hour = 3_600_000;
const origin = { address: null, requestId: null };

/** The digest under which an answer to one of a few contradictions is kept, and the figures that it had. */
const keyOf = (n: number): string => String(n).repeat(32);

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];

const roles: readonly Role[] = ['broker', 'seller', 'buyer', 'buyer', 'buyer', 'advisor', 'viewer'];
const memberRoles: readonly Member['role'][] = ['admin', 'broker', 'staff'];
const levels: readonly Confidentiality[] = ['public', 'nda_gated', 'selected_buyer_only'];
// Those that go on come up more often than those that end a sale.
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

/** The name of somebody in the walk: how they appear in what is printed. */
export const nameOf = (w: World, person: Id): string => `p${w.people.indexOf(person)}`;
const dealName = (w: World, deal: Deal): string => `d${w.deals.indexOf(deal)}`;

/** Somebody leaves a deal: their place in the QoE workspace and their opt-in end with it. */
function leaves(w: World, part: Part): void {
  part.status = 'removed';
  w.workspace = w.workspace.filter((place) => place.part !== part);
  w.optIns = w.optIns.filter((optIn) => optIn.deal !== part.deal || optIn.person !== part.person);
}

/** What ends for a member who leaves a brokerage, or is made staff, who run no deals. */
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
  // Opt-ins for deals that they saw as an admin.
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

/** The exclusivity that nobody has ended, which may have lapsed. */
const openExclusivity = (w: World, deal: Deal) => w.exclusivities.find((x) => x.part.deal === deal && !x.ended) ?? null;

function endExclusivity(w: World, deal: Deal): void {
  for (const x of w.exclusivities) if (x.part.deal === deal) x.ended = true;
}

/** Writes down what time has done. */
function sweep(w: World): void {
  for (const deal of w.deals)
    if (deal.state === 'exclusivity' && stateNow(w, deal) === 'listed') {
      deal.state = 'listed';
      endExclusivity(w, deal);
    }
  for (const nda of w.ndas)
    if ((nda.status === 'sent' || nda.status === 'active') && nda.expires !== null && nda.expires <= w.now)
      nda.status = 'expired';
}

const liveNda = (w: World, part: Part): boolean =>
  w.ndas.some(
    (nda) =>
      nda.part === part &&
      (nda.status === 'sent' || nda.status === 'active') &&
      (nda.expires === null || nda.expires > w.now),
  );

const worksFor = (w: World, client: World['clients'][number], person: Id): boolean => seesClient(w, person, client);

const at = (w: World, millis: number): string => new Date(w.now + millis).toISOString();

type Make = (w: World, step: Step, me: Id) => Move | null;
type OnDeal = (w: World, step: Step, me: Id, deal: Deal) => Move | null;

/** A step on one of the deals; none while there is none. */
const withDeal =
  (make: OnDeal): Make =>
  (w, step, me) => {
    const deal = pick(w.deals, step.deal);
    const move = deal ? make(w, step, me, deal) : null;
    // A closed deal takes no more changes.
    return move && deal?.state === 'closed' && !move.afterClosing ? { ...move, may: false } : move;
  };

const partOf = (w: World, step: Step, deal: Deal): Part | undefined =>
  pick(
    w.parts.filter((part) => part.deal === deal),
    step.a,
  );

const tokenOf = (w: World, step: Step): Buffer =>
  createHash('sha256')
    .update(`${w.members.length} ${w.parts.length} ${w.now} ${JSON.stringify(step)}`)
    .digest();

const nothing = () => {};

export const makers: Readonly<Record<string, Make>> = {
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
        w.parts.push({ id: part!, deal, person: me, role: 'broker', status: 'active', joined: true, advises: null });
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
      // An advisor advises a broker, seller, buyer or viewer, not an advisor and not themself; the advised advises nobody.
      may:
        (actsAs(w, me, deal, 'broker') || isAdminOf(w, me, deal)) &&
        there?.status !== 'active' &&
        (!advises || (advises.role !== 'advisor' && advises !== there && !hasAdvisors)),
      ...(there ? {} : { makes: ['participants'] }),
      happens(id) {
        if (there) Object.assign(there, { role, advises, status: 'invited' });
        else w.parts.push({ id: id!, deal, person, role, advises, status: 'invited', joined: false });
      },
    };
  }),

  answerInvitation: withDeal((w, step, me, deal) => {
    const waiting = w.parts.filter((part) => part.deal === deal && part.status === 'invited');
    // Most answer their own, now and then somebody tries another's.
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
    const linkUntil = w.now + 14 * day;
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
      may: isMember(w, me, brokerageId, 'admin') && there?.status !== 'active',
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
      may: actsAs(w, me, deal, 'broker') && part.role === 'buyer' && part.status !== 'removed' && !liveNda(w, part),
      makes: ['ndas'],
      happens: (id) => void w.ndas.push({ id: id!, part, status: 'sent', expires }),
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
      happens: () => void (nda.status = 'active'),
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
      happens: () => void (nda.status = 'revoked'),
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

  submitOffer: withDeal((w, _step, me, deal) => {
    const part = partIn(w, me, deal);
    return {
      says: `submits an offer on ${dealName(w, deal)}`,
      sends: [submitOffer(deal.id, { currency: 'USD', purchase_price: '1000000' }, origin)],
      may: actsAs(w, me, deal, 'buyer') && !['draft', 'closed', 'withdrawn'].includes(stateNow(w, deal)),
      makes: ['offers'],
      happens: (id) => void w.offers.push({ id: id!, part: part! }),
    };
  }),

  ask: withDeal((w, _step, me, deal) => ({
    says: `asks a question on ${dealName(w, deal)}`,
    sends: [askQuestion(deal.id, 'tax', 'Which years are open?', origin)],
    may:
      seesAs(w, me, deal, 'buyer') &&
      isUnderNda(w, me, deal) &&
      w.parts.some((part) => part.deal === deal && part.role === 'broker' && part.status === 'active') &&
      deal.state !== 'closed' &&
      deal.state !== 'withdrawn',
    makes: ['questions'],
    happens: (id) =>
      void w.questions.push({
        id: id!,
        part: principal(partIn(w, me, deal)!),
        asker: me,
        status: 'pending_broker_review',
        answered: false,
      }),
  })),

  moveQuestion: withDeal((w, step, me, deal) => {
    const question = pick(
      w.questions.filter(({ part }) => part.deal === deal),
      step.a,
    );
    if (!question) return null;
    const { id, status } = question;
    const broker = actsAs(w, me, deal, 'broker');
    const kinds = [
      {
        to: 'with_seller',
        sends: [releaseQuestion(id, origin)],
        may: broker && ['pending_broker_review', 'with_seller'].includes(status),
      },
      {
        to: 'rejected',
        sends: [rejectQuestion(id, 'Elsewhere.', origin)],
        may: broker && status === 'pending_broker_review',
      },
      {
        to: 'withdrawn',
        sends: [withdrawQuestion(id, origin)],
        may: question.asker === me && status === 'pending_broker_review' && seesQuestion(w, me, question),
      },
      // Answering again, while it waits for the broker, corrects the answer.
      {
        to: 'answered',
        sends: answerQuestion(id, 'Three.', origin),
        may: actsAs(w, me, deal, 'seller') && (status === 'with_seller' || status === 'answered'),
      },
      { to: 'distributed', sends: [distributeQuestion(id, 'Three.', origin)], may: broker && status === 'answered' },
    ] as const;
    const { to, sends, may } = pick([...kinds, kinds[0], kinds[3], kinds[4]], step.b)!;
    return {
      says: `moves question ${w.questions.indexOf(question)} of ${dealName(w, deal)} to ${to}`,
      sends,
      may,
      happens() {
        question.status = to;
        if (to === 'answered') question.answered = true;
      },
    };
  }),

  upload: withDeal((w, step, me, deal) => {
    const confidentiality = pick(levels, step.a)!;
    const source = step.b % 3 === 0 ? 'production' : 'simple';
    const document = {
      filename: 'a.pdf',
      category: 'tax',
      confidentiality,
      size: 1,
      mediaType: 'application/pdf',
      sha256: Buffer.alloc(32),
      storageKey: `walk-${w.documents.length}-${w.now}-${step.c}`,
    };
    return {
      says: `uploads a ${confidentiality} document to ${dealName(w, deal)}`,
      sends: [addDocument(deal.id, document, source === 'production' ? 'Tax returns' : null, origin)],
      may: actsAs(w, me, deal, 'broker', 'seller'),
      makes: [source === 'production' ? 'production_documents' : 'documents'],
      happens: (id) => void w.documents.push({ id: id!, deal, source, confidentiality, removed: null }),
    };
  }),

  changeDocument: withDeal((w, step, me, deal) => {
    const document = pick(
      w.documents.filter((one) => one.deal === deal),
      step.a,
    );
    if (!document) return null;
    const { id, source, removed } = document;
    const which = `document ${w.documents.indexOf(document)} of ${dealName(w, deal)}`;
    const side = actsAs(w, me, deal, 'broker', 'seller');
    switch (step.b % 4) {
      case 0: {
        const confidentiality = pick(levels, step.c)!;
        return {
          says: `makes ${which} ${confidentiality}`,
          sends: [changeDocument(source, id, { confidentiality }, origin)],
          may: side && removed === null,
          happens: () => void (document.confidentiality = confidentiality),
        };
      }
      case 1:
        return {
          says: `takes out ${which}`,
          sends: [removeDocument(source, id, origin)],
          may: side && removed === null,
          happens: () => void (document.removed = w.now),
        };
      case 2:
        return {
          says: `puts back ${which}`,
          sends: [restoreDocument(source, id, origin)],
          may: side && removed !== null && removed > w.now - hour,
          happens: () => void (document.removed = null),
        };
      default:
        return {
          afterClosing: true,
          says: `opens ${which}`,
          sends: [openDocument(source, id, false)],
          may: seesDocument(w, me, document),
          makes: ['document_openings'],
          happens: (opening) => void w.openings.push({ id: opening!, deal, person: me }),
        };
    }
  }),

  admitToQoe: withDeal((w, step, me, deal) => {
    const part = partOf(w, step, deal);
    if (!part) return null;
    const role = step.b % 2 === 0 ? 'editor' : 'reader';
    const side = principal(part);
    return {
      says: `lets ${nameOf(w, part.person)} into the QoE of ${dealName(w, deal)} as ${role}`,
      sends: [admitToQoe(deal.id, part.id, role, origin)],
      may:
        actsAs(w, me, deal, 'broker') &&
        part.status === 'active' &&
        part.role !== 'broker' &&
        part.role !== 'seller' &&
        (side.role !== 'buyer' ||
          w.ndas.some(
            (nda) => nda.part === side && nda.status === 'active' && (nda.expires === null || nda.expires > w.now),
          )),
      happens() {
        w.workspace = [...w.workspace.filter((place) => place.part !== part), { part, role }];
      },
    };
  }),

  dismissFromQoe: withDeal((w, step, me, deal) => {
    const place = pick(
      w.workspace.filter(({ part }) => part.deal === deal),
      step.a,
    );
    if (!place) return null;
    return {
      afterClosing: true,
      says: `takes ${nameOf(w, place.part.person)} out of the QoE of ${dealName(w, deal)}`,
      sends: [dismissFromQoe(deal.id, place.part.id, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens: () => void (w.workspace = w.workspace.filter((other) => other !== place)),
    };
  }),

  addToChecklist: withDeal((w, _step, me, deal) => ({
    says: `adds to the checklist of ${dealName(w, deal)}`,
    sends: [addChecklistRow(deal.id, 'tax', 'Returns', origin)],
    may: editsQoe(w, me, deal),
    makes: ['qoe_checklist'],
    happens: (id) => void w.checklist.push({ id: id!, deal }),
  })),

  addNormalization: withDeal((w, _step, me, deal) => ({
    says: `adds a normalization to ${dealName(w, deal)}`,
    sends: [
      addNormalization(
        deal.id,
        { period_label: 'FY2025', adjustment_category: 'other', adjustment_amount: '1', rationale: null },
        origin,
      ),
    ],
    may: editsQoe(w, me, deal),
    makes: ['normalizations'],
    happens: (id) => void w.normalizations.push({ id: id!, deal }),
  })),

  removeNormalization: withDeal((w, step, me, deal) => {
    const normalization = pick(
      w.normalizations.filter((one) => one.deal === deal),
      step.a,
    );
    if (!normalization) return null;
    return {
      says: `removes a normalization from ${dealName(w, deal)}`,
      sends: [removeNormalization(normalization.id, origin)],
      may: editsQoe(w, me, deal) && readsQoe(w, me, deal),
      happens: () => void (w.normalizations = w.normalizations.filter((other) => other !== normalization)),
    };
  }),

  answerContradiction: withDeal((w, step, me, deal) => {
    const [key, figures] = [keyOf(step.a % 3), keyOf(step.b % 3)];
    const there = w.contradictionAnswers.find((one) => one.deal === deal && one.key === key);
    return {
      says: `answers contradiction ${step.a % 3} of ${dealName(w, deal)}, with figures ${step.b % 3}`,
      sends: [answerContradiction(deal.id, { key, figures }, { status: 'explained', why: 'So.' }, origin)],
      may: actsAs(w, me, deal, 'broker'),
      ...(there ? {} : { makes: ['contradiction_answers'] }),
      happens(id) {
        if (!there) {
          w.contradictionAnswers.push({ id: id!, deal, key, figures, answeredAt: w.now, released: false });
          return;
        }
        // The same again changes nothing of it.
        if (there.figures === figures) return;
        Object.assign(there, { figures, answeredAt: w.now, released: false });
      },
    };
  }),

  moveContradictionAnswer: withDeal((w, step, me, deal) => {
    const key = keyOf(step.a % 3);
    const there = w.contradictionAnswers.find((one) => one.deal === deal && one.key === key);
    const isBroker = actsAs(w, me, deal, 'broker');
    const about = `contradiction ${step.a % 3} of ${dealName(w, deal)}`;
    if (step.b % 6 === 0)
      return {
        says: `takes the answer to ${about} back`,
        sends: [unanswerContradiction(deal.id, key, origin)],
        may: isBroker && there !== undefined,
        happens: () => void (w.contradictionAnswers = w.contradictionAnswers.filter((one) => one !== there)),
      };
    if (step.b % 3 === 1)
      return {
        says: `withdraws ${about}`,
        sends: [withdrawContradiction(deal.id, key, origin)],
        may: isBroker && there?.released === true,
        happens: () => void (there!.released = false),
      };
    // What somebody releases is what they saw: at times figures that are no longer there.
    const figures = step.c % 4 === 0 ? keyOf(step.c % 3) : (there?.figures ?? key);
    return {
      says: `releases ${about}`,
      sends: [releaseContradiction(deal.id, { key, figures }, new Date(there?.answeredAt ?? 0).toISOString(), origin)],
      may: isBroker && there?.figures === figures,
      happens: () => void (there!.released = true),
    };
  }),

  addFinding: withDeal((w, step, me, deal) => {
    const owner = step.a % 2 === 0 ? null : partOf(w, { ...step, a: step.b }, deal);
    return {
      says: `records a finding on ${dealName(w, deal)}${owner ? ` for ${nameOf(w, owner.person)} to see to` : ''}`,
      sends: [
        addFinding(
          deal.id,
          {
            category: 'tax',
            title: 'Late',
            description: null,
            severity: 'minor',
            owner_user_id: owner?.person ?? null,
          },
          origin,
        ),
      ],
      // The owner is an active participant, of whom the caller may know.
      may: isInDiligence(w, me, deal) && (!owner || (owner.status === 'active' && seesPart(w, me, owner))),
      makes: ['findings'],
      happens: (id) => void w.findings.push({ id: id!, part: principal(partIn(w, me, deal)!) }),
    };
  }),

  moveFinding: withDeal((w, step, me, deal) => {
    const finding = pick(
      w.findings.filter(({ part }) => part.deal === deal),
      step.a,
    );
    if (!finding) return null;
    return {
      says: `resolves finding ${w.findings.indexOf(finding)} of ${dealName(w, deal)}`,
      sends: [setFindingStatus(finding.id, 'resolved', null, origin)],
      may: isInDiligence(w, me, deal) && seesOfSide(w, me, finding),
      happens: nothing,
    };
  }),

  addSource: withDeal((w, _step, me, deal) => ({
    says: `records a financing source on ${dealName(w, deal)}`,
    sends: [
      addSource(
        deal.id,
        { source_type: 'sba_7a', source_name: 'Bank', commitment_amount: '1', commitment_status: 'identified' },
        origin,
      ),
    ],
    may: isInDiligence(w, me, deal),
    makes: ['financing_sources'],
    happens: (id) => void w.sources.push({ id: id!, part: principal(partIn(w, me, deal)!) }),
  })),

  addCondition: withDeal((w, _step, me, deal) => ({
    says: `adds a closing condition to ${dealName(w, deal)}`,
    sends: [addCondition(deal.id, { name: 'Lease', owner_user_id: null, deadline: null }, origin)],
    may: actsAs(w, me, deal, 'broker'),
    makes: ['closing_conditions'],
    happens: (id) => void w.conditions.push({ id: id!, deal }),
  })),

  removeCondition: withDeal((w, step, me, deal) => {
    const condition = pick(
      w.conditions.filter((one) => one.deal === deal),
      step.a,
    );
    if (!condition) return null;
    return {
      says: `takes a closing condition out of ${dealName(w, deal)}`,
      sends: [removeCondition(condition.id, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens: () => void (w.conditions = w.conditions.filter((other) => other !== condition)),
    };
  }),

  connectClient: (w, step, me) => {
    if (w.clients.filter(({ creator }) => creator === me).length >= 3) return null;
    return {
      says: 'makes a client',
      sends: [createClient({ name: `Client ${step.a}`, redirectUris: ['https://client.example/callback'] }, origin)],
      may: true,
      makes: ['connected_clients'],
      happens: (id) => void w.clients.push({ id: id!, creator: me, brokerage: null, deleted: false }),
    };
  },

  shareClient: (w, step, me) => {
    const client = pick(w.clients, step.a);
    if (!client) return null;
    const brokerage = step.b % 3 === 0 ? null : pick(w.brokerages, step.b)!;
    const admins = (of: Id | null) => of !== null && isMember(w, me, of, 'admin');
    // It belongs to who made it; shared, it is managed by the brokerage's admins.
    const manages = client.brokerage === null ? client.creator === me : admins(client.brokerage);
    return {
      says: `shares client ${w.clients.indexOf(client)} with ${brokerage ? `b${w.brokerages.indexOf(brokerage)}` : 'nobody'}`,
      sends: [shareClient(client.id, brokerage, origin)],
      may: !client.deleted && manages && (brokerage === null ? client.creator === me : admins(brokerage)),
      happens() {
        // No longer shared: what everybody gave ends, but for its creator.
        if (client.brokerage !== null && client.brokerage !== brokerage)
          w.grants = w.grants.filter((grant) => grant.client !== client || grant.person === client.creator);
        client.brokerage = brokerage;
      },
    };
  },

  deleteClient: (w, step, me) => {
    const client = pick(w.clients, step.a);
    if (!client) return null;
    return {
      says: `deletes client ${w.clients.indexOf(client)}`,
      sends: [deleteClient(client.id, origin)],
      may:
        !client.deleted &&
        (client.brokerage === null ? client.creator === me : isMember(w, me, client.brokerage, 'admin')),
      happens() {
        client.deleted = true;
        w.grants = w.grants.filter((grant) => grant.client !== client);
      },
    };
  },

  grantTool: (w, step, me) => {
    const client = pick(w.clients, step.a);
    if (!client) return null;
    const given = w.grants.some((grant) => grant.client === client && grant.person === me);
    const takes = step.b % 4 === 0;
    const which = `asking questions with client ${w.clients.indexOf(client)}`;
    return takes
      ? {
          says: `turns off ${which}`,
          sends: [withdrawTool(client.id, 'svc_questions_create', origin)],
          may: given,
          happens: () => void (w.grants = w.grants.filter((grant) => grant.client !== client || grant.person !== me)),
        }
      : {
          says: `turns on ${which}`,
          sends: [grantTool(client.id, 'svc_questions_create', null, origin)],
          may: worksFor(w, client, me),
          happens: () => void (given || w.grants.push({ person: me, client })),
        };
  },

  optIn: withDeal((w, step, me, deal) => {
    const opted = w.optIns.some((optIn) => optIn.deal === deal && optIn.person === me);
    return step.b % 4 === 0
      ? {
          afterClosing: true,
          says: `opts out of writing through tools on ${dealName(w, deal)}`,
          sends: [optOutDeal(deal.id, origin)],
          may: opted,
          happens: () => void (w.optIns = w.optIns.filter((optIn) => optIn.deal !== deal || optIn.person !== me)),
        }
      : {
          afterClosing: true,
          says: `opts in to writing through tools on ${dealName(w, deal)}`,
          sends: [optInDeal(deal.id, null, origin)],
          may: seesDeal(w, me, deal),
          happens: () => void (opted || w.optIns.push({ person: me, deal })),
        };
  }),

  stopTools: withDeal((w, step, me, deal) => {
    const stopped = step.b % 2 === 0;
    return {
      afterClosing: true,
      says: `${stopped ? 'stops' : 'allows'} writing through tools on ${dealName(w, deal)}`,
      sends: [stopDealTools(deal.id, stopped, origin)],
      may: actsAs(w, me, deal, 'broker'),
      happens() {
        w.stops = w.stops.filter((other) => other !== deal);
        if (stopped) w.stops.push(deal);
      },
    };
  }),

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

/** Steps that nobody takes: time passes, and the server writes down what it has done. */
export const ofTime = ['wait', 'sweep'];

/** How often each kind of step is taken, beside the others. */
export const weights: Readonly<Record<string, number>> = {
  invite: 4,
  answerInvitation: 6,
  sendNda: 3,
  signNda: 5,
  grantExclusivity: 3,
  moveDeal: 4,
  ask: 3,
  moveQuestion: 6,
  answerContradiction: 3,
  moveContradictionAnswer: 4,
  upload: 3,
  changeDocument: 4,
  openDeal: 2,
  wait: 2,
};

/** The digest of somebody's session: the same in every walk, as everything is. */
export const sessionOf = (person: Id): Buffer => createHash('sha256').update(`session of ${person}`).digest();

export { sweep };
