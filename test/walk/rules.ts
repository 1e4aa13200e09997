/** Who sees what, one function per rule, written from docs/visibility.md and docs/decisions.md and not from the SQL. */

import type {
  Client,
  ContradictionAnswer,
  Deal,
  Document,
  Exclusivity,
  Id,
  Member,
  Nda,
  OfDeal,
  OfSide,
  Part,
  Question,
  Role,
  State,
  World,
} from './world.ts';
import { emptyWorld } from './world.ts';

// Brokerages ------------------------------------------------------------------------------------------------------------

/** Whether a person is an active member of a brokerage; with roles given, in one of these roles. */
export const isMember = (w: World, person: Id, brokerage: Id | null, ...roles: Member['role'][]): boolean =>
  w.members.some(
    (m) =>
      m.person === person &&
      m.brokerage === brokerage &&
      m.status === 'active' &&
      (roles.length === 0 || roles.includes(m.role)),
  );

/**
 * Whether a person is an admin of the deal's brokerage: an admin who does not participate in a deal sees it as a viewer
 * does.
 */
export const isAdminOf = (w: World, person: Id, deal: Deal): boolean => isMember(w, person, deal.brokerage, 'admin');

/** Members see their brokerage; other people see the brokerage of each deal that they see. */
const seesBrokerage = (w: World, person: Id, brokerage: Id): boolean =>
  isMember(w, person, brokerage) || w.deals.some((deal) => deal.brokerage === brokerage && seesDeal(w, person, deal));

/** Members see all members of their brokerage, including those who are invited or have left. */
const seesMember = (w: World, person: Id, member: Member): boolean => isMember(w, person, member.brokerage);

// Taking part in a deal -----------------------------------------------------------------------------------------------------

/**
 * Returns a person's active participation in a deal; when the advised participant leaves, their advisors lose theirs
 * too.
 */
export const partIn = (w: World, person: Id, deal: Deal): Part | null =>
  w.parts.find(
    (part) =>
      part.person === person &&
      part.deal === deal &&
      part.status === 'active' &&
      (part.advises === null || part.advises.status === 'active'),
  ) ?? null;

/**
 * Returns the participation through which a person sees a deal: that of the advised participant for an advisor,
 * otherwise their own.
 */
export const principal = (part: Part): Part => part.advises ?? part;

const sideIn = (w: World, person: Id, deal: Deal): Part | null => {
  const part = partIn(w, person, deal);
  return part && principal(part);
};

/** Whether a person sees the deal in one of these roles, themself or as an advisor. */
export const seesAs = (w: World, person: Id, deal: Deal, ...roles: Role[]): boolean => {
  const side = sideIn(w, person, deal);
  return side !== null && roles.includes(side.role);
};

/** Whether a person has one of these roles themself: an advisor does not act for the advised participant. */
export const actsAs = (w: World, person: Id, deal: Deal, ...roles: Role[]): boolean => {
  const part = partIn(w, person, deal);
  return part !== null && roles.includes(part.role);
};

/** Whether a participation is on this person's side of the deal. */
const isOwnSide = (w: World, person: Id, part: Part): boolean => sideIn(w, person, part.deal) === principal(part);

/**
 * Whether a record of this participation is the person's side's: the record stays with it, even when the participant
 * becomes an advisor.
 */
const isOfOwnSide = (w: World, person: Id, part: Part): boolean => sideIn(w, person, part.deal) === part;

// NDAs and exclusivity ------------------------------------------------------------------------------------------------------

/** Whether an NDA is signed and has not ended. */
export const isActiveNda = (w: World, nda: Nda): boolean =>
  nda.status === 'active' && (nda.expires === null || nda.expires > w.now);

/**
 * Whether a person is on a buyer's side of the deal that has an active NDA. An NDA signed by a participant who has
 * another role now does not count.
 */
export const isUnderNda = (w: World, person: Id, deal: Deal): boolean => {
  const side = sideIn(w, person, deal);
  return side?.role === 'buyer' && w.ndas.some((nda) => nda.part === side && isActiveNda(w, nda));
};

/** Returns the exclusivity of a deal that is in force; null when there is none. */
export const runningExclusivity = (w: World, deal: Deal): Exclusivity | null =>
  w.exclusivities.find((x) => x.part.deal === deal && !x.ended && x.expires > w.now) ?? null;

/** Whether a person's side has the exclusivity that is in force. */
const holdsExclusively = (w: World, person: Id, deal: Deal): boolean => {
  const running = runningExclusivity(w, deal);
  return running !== null && running.part.role === 'buyer' && sideIn(w, person, deal) === running.part;
};

/** Returns the current state of a deal: a deal whose exclusivity has expired is listed again. */
export const stateNow = (w: World, deal: Deal): State =>
  deal.state === 'exclusivity' && !runningExclusivity(w, deal) ? 'listed' : deal.state;

/** Whether a person's side is the selected buyer; from diligence on, it still is after the exclusivity has expired. */
const isSelectedBuyer = (w: World, person: Id, deal: Deal): boolean => {
  const side = sideIn(w, person, deal);
  return (
    side !== null &&
    side.role === 'buyer' &&
    w.exclusivities.some((x) => x.part === side && !x.ended && (x.expires > w.now || deal.state !== 'exclusivity'))
  );
};

// Deals ----------------------------------------------------------------------------------------------------------------------

/** A deal's active participants see it, and so do the admins of its brokerage. */
export const seesDeal = (w: World, person: Id, deal: Deal): boolean =>
  partIn(w, person, deal) !== null || isAdminOf(w, person, deal);

/** Whether a person may know which buyer was selected: other buyers may not. */
const knowsWhereItGoes = (w: World, person: Id, deal: Deal): boolean =>
  seesAs(w, person, deal, 'broker', 'seller', 'viewer') ||
  isAdminOf(w, person, deal) ||
  isSelectedBuyer(w, person, deal);

/** Returns the state of a deal that this person is shown: "under offer" if they may not know of the exclusivity. */
function stateShown(w: World, person: Id, deal: Deal): State {
  const state = stateNow(w, deal);
  const secret = state === 'exclusivity' || state === 'diligence' || state === 'closing';
  return secret && !knowsWhereItGoes(w, person, deal) ? 'under_offer' : state;
}

/** Whether a buyer's side sees the sellers: only once its NDA is active, unless the deal needs none. */
const knowsWhoSells = (w: World, person: Id, deal: Deal): boolean =>
  seesAs(w, person, deal, 'buyer') && (!deal.needsNda || isUnderNda(w, person, deal));

/**
 * A buyer sees brokers, possibly sellers, and their own side, never another buyer; everybody else on the deal sees all
 * participants.
 */
export const seesPart = (w: World, person: Id, part: Part): boolean =>
  seesAs(w, person, part.deal, 'broker', 'seller', 'viewer') ||
  isAdminOf(w, person, part.deal) ||
  isOwnSide(w, person, part) ||
  (part.status === 'active' && part.role === 'broker' && seesAs(w, person, part.deal, 'buyer')) ||
  (part.status === 'active' && part.role === 'seller' && knowsWhoSells(w, person, part.deal));

/**
 * People see themselves, their colleagues and the people of their deals; invited people are seen only after they have
 * joined.
 */
const seesPerson = (w: World, person: Id, other: Id): boolean =>
  person === other ||
  w.members.some((member) => member.person === other && member.joined && seesMember(w, person, member)) ||
  w.parts.some((part) => part.person === other && part.joined && seesPart(w, person, part));

// Records of a deal -------------------------------------------------------------------------------------------------------------

const seesBothSides = (w: World, person: Id, deal: Deal): boolean => seesAs(w, person, deal, 'broker', 'seller');

/**
 * Brokers and sellers see the NDAs, offers, findings and financing sources of every side; other people see those of
 * their own side.
 */
export const seesOfSide = (w: World, person: Id, { part }: OfSide): boolean =>
  seesBothSides(w, person, part.deal) || isOfOwnSide(w, person, part);

/** Buyers do not see an exclusivity that is another buyer's. */
const seesExclusivity = (w: World, person: Id, { part }: Exclusivity): boolean =>
  seesAs(w, person, part.deal, 'broker', 'seller', 'viewer') ||
  isAdminOf(w, person, part.deal) ||
  isOfOwnSide(w, person, part);

/**
 * Conditions are hidden from the buyers who were not selected: they would reveal that the sale goes to somebody else.
 */
const seesCondition = (w: World, person: Id, { deal }: OfDeal): boolean => knowsWhereItGoes(w, person, deal);

/** A question is seen by the asker's side, by the broker, and by the seller once it is released to them. */
export const seesQuestion = (w: World, person: Id, { part, status }: Question): boolean =>
  seesAs(w, person, part.deal, 'broker') ||
  (seesAs(w, person, part.deal, 'seller') && ['with_seller', 'answered', 'distributed'].includes(status)) ||
  isOfOwnSide(w, person, part);

/** The asker sees the answer that the broker distributes, never the seller's original words. */
const seesAnswer = (w: World, person: Id, { part, answered }: Question): boolean =>
  answered && seesBothSides(w, person, part.deal);

const mayRead = (w: World, person: Id, { deal, confidentiality }: Document): boolean =>
  seesBothSides(w, person, deal) ||
  (confidentiality === 'public' && seesDeal(w, person, deal)) ||
  (confidentiality === 'nda_gated' && isUnderNda(w, person, deal)) ||
  (confidentiality === 'selected_buyer_only' && holdsExclusively(w, person, deal));

/** A removed document is hidden from everybody. */
export const seesDocument = (w: World, person: Id, document: Document): boolean =>
  document.removed === null && mayRead(w, person, document);

/** Brokers and sellers see who opened which document; other people see only their own openings. */
const seesOpening = (w: World, person: Id, opening: World['openings'][number]): boolean =>
  seesBothSides(w, person, opening.deal) || opening.person === person;

/**
 * Brokers and sellers read the QoE workspace; other people need admission by a broker, and a buyer's side also an
 * active NDA. An advisor reads with the advised participant.
 */
export function readsQoe(w: World, person: Id, deal: Deal): boolean {
  const part = partIn(w, person, deal);
  if (!part) return false;
  if (seesBothSides(w, person, deal)) return true;
  return (
    w.workspace.some((place) => place.part === part || place.part === principal(part)) &&
    (principal(part).role !== 'buyer' || isUnderNda(w, person, deal))
  );
}

/**
 * Brokers and sellers edit the QoE workspace, but not their advisors; other people need to be admitted as an editor
 * themselves.
 */
export function editsQoe(w: World, person: Id, deal: Deal): boolean {
  const part = partIn(w, person, deal);
  if (!part) return false;
  if (part.role === 'broker' || part.role === 'seller') return true;
  return (
    w.workspace.some((place) => place.part === part && place.role === 'editor') &&
    (principal(part).role !== 'buyer' || isUnderNda(w, person, deal))
  );
}

/**
 * Brokers and sellers read every answer to a contradiction; other people in the workspace read the released answers.
 */
const seesContradictionAnswer = (w: World, person: Id, { deal, released }: ContradictionAnswer): boolean =>
  seesBothSides(w, person, deal) || (released && readsQoe(w, person, deal));

/** Whether a person records findings and financing: brokers, sellers, and buyers' sides under an NDA do. */
export const isInDiligence = (w: World, person: Id, deal: Deal): boolean =>
  actsAs(w, person, deal, 'broker', 'seller') || (seesAs(w, person, deal, 'buyer') && isUnderNda(w, person, deal));

// Writing through tools -------------------------------------------------------------------------------------------------------------

/**
 * A client is seen by its creator; once it is shared, by the members of the brokerage, so not by a creator who has
 * left.
 */
export const seesClient = (w: World, person: Id, client: Client): boolean =>
  !client.deleted && (client.brokerage === null ? client.creator === person : isMember(w, person, client.brokerage));

// Everything --------------------------------------------------------------------------------------------------------------------------

/**
 * Returns, for each table, the ids that a person sees, in order; and for each deal also the state that they are shown.
 */
export function everythingSeen(w: World, person: Id): Record<string, string[]> {
  const ids = <T extends { id: Id }>(all: readonly T[], sees: (w: World, person: Id, one: T) => boolean): string[] =>
    all.filter((one) => sees(w, person, one)).map(({ id }) => id);
  const seen: Record<string, string[]> = {
    brokerages: w.brokerages.filter((brokerage) => seesBrokerage(w, person, brokerage)),
    members: w.members
      .filter((member) => seesMember(w, person, member))
      .map(({ brokerage, person: who, role, status }) => `${brokerage} ${who} ${role} ${status}`),
    users: w.people.filter((other) => seesPerson(w, person, other)),
    deals: w.deals
      .filter((deal) => seesDeal(w, person, deal))
      .map((deal) => `${deal.id} ${stateShown(w, person, deal)}`),
    participants: w.parts
      .filter((part) => seesPart(w, person, part))
      .map(({ id, role, status, advises }) => `${id} ${role} ${status} ${advises?.id ?? '-'}`),
    ndas: w.ndas.filter((nda) => seesOfSide(w, person, nda)).map(({ id, status }) => `${id} ${status}`),
    exclusivities: ids(w.exclusivities, seesExclusivity),
    qoe_workspace_members: w.workspace
      .filter(({ part }) => seesBothSides(w, person, part.deal) || isOfOwnSide(w, person, part))
      .map(({ part, role }) => `${part.id} ${role}`),
    qoe_checklist: ids(w.checklist, (_w, _person, { deal }) => readsQoe(w, person, deal)),
    normalizations: ids(w.normalizations, (_w, _person, { deal }) => readsQoe(w, person, deal)),
    contradiction_answers: w.contradictionAnswers
      .filter((one) => seesContradictionAnswer(w, person, one))
      .map(({ id, figures, released }) => `${id} ${figures} ${released}`),
    questions: w.questions.filter((one) => seesQuestion(w, person, one)).map(({ id, status }) => `${id} ${status}`),
    question_answers: ids(w.questions, seesAnswer),
    documents: ids(
      w.documents.filter(({ source }) => source === 'simple'),
      seesDocument,
    ),
    production_documents: ids(
      w.documents.filter(({ source }) => source === 'production'),
      seesDocument,
    ),
    document_openings: ids(w.openings, seesOpening),
    offers: ids(w.offers, seesOfSide),
    closing_conditions: ids(w.conditions, seesCondition),
    findings: ids(w.findings, seesOfSide),
    financing_sources: ids(w.sources, seesOfSide),
    connected_clients: ids(w.clients, seesClient),
    tool_grants: w.grants.filter((grant) => grant.person === person).map(({ client }) => client.id),
    deal_opt_ins: w.optIns.filter((o) => o.person === person && seesDeal(w, person, o.deal)).map(({ deal }) => deal.id),
    deal_tool_stops: w.stops.filter((deal) => seesDeal(w, person, deal)).map(({ id }) => id),
  };
  for (const list of Object.values(seen)) list.sort();
  return seen;
}

const fields: Record<string, string> = {
  members: `concat_ws(' ', brokerage_id, user_id, role, status)`,
  deals: `id || ' ' || app.state_shown(id)`,
  participants: `concat_ws(' ', id, role, status, coalesce(advises::text, '-'))`,
  ndas: `id || ' ' || status`,
  qoe_workspace_members: `participant_id || ' ' || role`,
  contradiction_answers: `concat_ws(' ', id, figures, case when released_at is null then 'false' else 'true' end)`,
  questions: `id || ' ' || status`,
  question_answers: 'question_id',
  tool_grants: 'client_id',
  deal_opt_ins: 'deal_id',
  deal_tool_stops: 'deal_id',
};

/** SQL that selects the same for the signed-in caller: one row with a column for each table. */
export const everythingSeenSql = `select ${Object.keys(everythingSeen(emptyWorld(0), ''))
  .map(
    (table) =>
      `(select coalesce(array_agg(seen::text order by seen::text collate "C"), '{}') from (select ${fields[table] ?? 'id'} as seen from ${table}) s) as ${table}`,
  )
  .join(',\n')}`;
