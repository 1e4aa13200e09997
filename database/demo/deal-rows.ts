/** Makes rows of a deal of the demo: the deal, its people, documents, questions, NDAs and offers. */

import type { DealAction } from '../../server/domain/audit/actions.ts';
import { audit } from './audit.ts';
import { bodyColumns } from './files.ts';
import type { RowCollector } from './row-collector.ts';
import type { Calendar, RelativeTime } from './relative-times.ts';
import { ndaTemplate } from '../../server/domain/deals/nda-template.ts';
import { brokerages, people, type BrokerageKey, type PersonKey } from './people.ts';
import type { DemoDeal, Document, Nda, Offers, DemoParticipant, Question } from './deal-types.ts';

export interface LoadContext {
  readonly collector: RowCollector;
  readonly calendar: Calendar;
  readonly userIds: Readonly<Record<PersonKey, string>>;
  readonly brokerageIds: Readonly<Record<BrokerageKey, string>>;
}

/** A deal whose rows are being made: its id and its people. */
export interface DealContext extends LoadContext {
  readonly deal: DemoDeal;
  readonly dealId: string;
  /** Returns the id of a person's own participation in the deal. */
  readonly partOf: (person: PersonKey) => string;
  /**
   * Returns the id of the participation through which a person sees the deal: for an advisor, that of the person whom
   * they advise.
   */
  readonly sideOf: (person: PersonKey) => string;
  readonly at: (time: RelativeTime) => Date;
  readonly atOrNull: (time: RelativeTime | undefined) => Date | null;
  /** Adds an audit record of what a person did on the deal. */
  readonly note: (
    time: RelativeTime,
    person: PersonKey,
    action: DealAction,
    subjectId: string,
    details?: Readonly<Record<string, unknown>>,
  ) => void;
}

/** Adds the deal and its participants. */
export function openDeal(context: LoadContext, deal: DemoDeal): DealContext {
  const { collector, calendar, userIds, brokerageIds } = context;
  const at = (time: RelativeTime) => calendar.at(time);
  const atOrNull = (time: RelativeTime | undefined) => (time ? calendar.at(time) : null);
  const dealId = collector.add('deals', at(deal.opened), {
    organization_id: brokerageIds[deal.brokerage],
    title: deal.title,
    state: deal.state,
    industry: deal.industry,
    location: deal.location,
    summary: deal.summary,
    asking_price: deal.askingPrice,
    currency: 'USD',
    closed_at: atOrNull(deal.closed),
    keys_admitted: deal.keysAdmitted !== undefined,
    created_by: userIds[deal.by],
    created_at: at(deal.opened),
    updated_at: at(deal.changed),
  });
  const note: DealContext['note'] = (time, person, action, subjectId, details) => {
    const done = { user_id: userIds[person], brokerage_id: brokerageIds[deal.brokerage], deal_id: dealId };
    audit(context, at(time), { ...done, action, subject_id: subjectId }, details);
  };
  note(deal.opened, deal.by, 'deal.open', dealId);
  if (deal.keysAdmitted) note(deal.keysAdmitted, deal.by, 'deal.admit_keys', dealId);
  const parts = new Map<PersonKey, { id: string; part: DemoParticipant }>();
  const find = (person: PersonKey) => {
    const found = parts.get(person);
    if (!found) throw new Error(`${person} takes no part in ${deal.key}`);
    return found;
  };
  for (const part of deal.parts) {
    const id = collector.add('participants', at(part.since), {
      deal_id: dealId,
      user_id: userIds[part.person],
      role: part.role,
      status: part.status ?? 'active',
      advises: part.advises ? find(part.advises).id : null,
      created_at: at(part.since),
      updated_at: at(part.until ?? part.since),
    });
    parts.set(part.person, { id, part });
    if (part.person !== deal.by && part.status !== 'invited') note(part.since, part.person, 'invitation.accept', id);
  }
  const partOf = (person: PersonKey) => find(person).id;
  const sideOf = (person: PersonKey) => partOf(find(person).part.advises ?? person);
  return { ...context, deal, dealId, partOf, sideOf, at, atOrNull, note };
}

function addNda({ collector, deal, dealId, userIds, partOf, at, atOrNull, note }: DealContext, nda: Nda): void {
  const id = collector.add('ndas', at(nda.sent), {
    deal_id: dealId,
    participant_id: partOf(nda.buyer),
    status: nda.status,
    terms: ndaTemplate(brokerages[deal.brokerage].name, deal.title),
    sent_by: userIds[nda.sentBy],
    sent_at: at(nda.sent),
    signed_at: atOrNull(nda.signed),
    signed_name: nda.signed ? people[nda.buyer].name : null,
    signed_address: nda.signed ? '203.0.113.24' : null,
    expires_at: at(nda.expires),
    revoked_at: atOrNull(nda.revoked),
  });
  note(nda.sent, nda.sentBy, 'nda.send', id);
  if (nda.signed) note(nda.signed, nda.buyer, 'nda.sign', id);
}

function addQuestion(
  { collector, dealId, userIds, sideOf, at, atOrNull, note }: DealContext,
  question: Question,
): void {
  const { answer, response } = question;
  const id = collector.add('questions', at(question.asked), {
    deal_id: dealId,
    category: question.category,
    status: question.status,
    question_text: question.text,
    asked_by: userIds[question.by],
    participant_id: sideOf(question.by),
    asked_at: at(question.asked),
    rejection_reason: question.rejection ?? null,
    distributed_response: response?.text ?? null,
    distributed_at: atOrNull(response?.at),
    updated_at: at(response?.at ?? question.moved ?? question.asked),
  });
  note(question.asked, question.by, 'question.ask', id);
  if (answer) {
    note(answer.at, answer.by, 'question.answer', id);
    collector.put('question_answers', {
      question_id: id,
      deal_id: dealId,
      answer_text: answer.text,
      answered_by: userIds[answer.by],
      answered_at: at(answer.at),
    });
  }
}

function addDocument({ collector, deal, dealId, userIds, at, atOrNull, note }: DealContext, document: Document): void {
  const row = {
    deal_id: dealId,
    filename: document.filename,
    category: document.category,
    confidentiality: document.confidentiality,
    ...bodyColumns(deal, document),
    uploaded_by: userIds[document.by],
    uploaded_at: at(document.at),
    removed_at: atOrNull(document.removed),
    // The demo has no files of removed documents.
    body_cleared_at: atOrNull(document.removed),
  };
  const id =
    document.request === undefined
      ? collector.add('documents', at(document.at), row)
      : collector.add('production_documents', at(document.at), { ...row, diligence_request: document.request });
  note(document.at, document.by, 'document.upload', id);
  for (const opening of document.openings ?? []) {
    collector.add('document_openings', at(opening.at), {
      deal_id: dealId,
      document_id: id,
      source: document.request === undefined ? 'simple' : 'production',
      user_id: userIds[opening.person],
      opened_at: at(opening.at),
    });
  }
}

/** Adds the revisions of one buyer's offer; returns the id of the current one. */
function addOffers(
  { collector, calendar, dealId, userIds, partOf, at, note }: DealContext,
  { buyer, revisions }: Offers,
): string | undefined {
  const ids = revisions.map((revision, index) => {
    const id = collector.add('offers', at(revision.at), {
      deal_id: dealId,
      participant_id: partOf(buyer),
      buyer_user_id: userIds[buyer],
      revision_number: index + 1,
      is_current: index === revisions.length - 1,
      submitted_at: at(revision.at),
      payload: {
        currency: 'USD',
        ...revision.terms,
        target_close_date: calendar.date(revision.close),
        expires_at: at(revision.open).toISOString(),
      },
    });
    note(revision.at, buyer, 'offer.submit', id, { revision: index + 1 });
    return id;
  });
  return ids.at(-1);
}

/** Adds what the people of a deal agreed, asked, showed and offered. */
export function addExchange(context: DealContext): void {
  const { collector, deal, dealId, userIds, partOf, at, note } = context;
  for (const nda of deal.ndas ?? []) addNda(context, nda);
  const current = new Map((deal.offers ?? []).map((offers) => [offers.buyer, addOffers(context, offers)]));
  if (deal.exclusivity) {
    const accepted = current.get(deal.exclusivity.buyer);
    const subject = accepted ?? partOf(deal.exclusivity.buyer);
    note(
      deal.exclusivity.granted,
      deal.exclusivity.grantedBy,
      accepted ? 'offer.accept' : 'exclusivity.grant',
      subject,
    );
    collector.add('exclusivities', at(deal.exclusivity.granted), {
      deal_id: dealId,
      participant_id: partOf(deal.exclusivity.buyer),
      buyer_user_id: userIds[deal.exclusivity.buyer],
      offer_id: accepted ?? null,
      granted_by: userIds[deal.exclusivity.grantedBy],
      granted_at: at(deal.exclusivity.granted),
      expires_at: at(deal.exclusivity.expires),
    });
  }
  for (const question of deal.questions ?? []) addQuestion(context, question);
  for (const document of deal.documents ?? []) addDocument(context, document);
}
