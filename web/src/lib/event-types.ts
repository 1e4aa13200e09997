/** The event types of webhooks, grouped for selection, with labels. */

import type { EventType } from '../api/shapes.ts';

type Subject = EventType extends infer T ? (T extends `${infer Of}.${string}` ? Of : never) : never;
type Change = EventType extends infer T ? (T extends `${string}.${infer Named}` ? Named : never) : never;

const subjects: Record<Subject, string> = {
  contact: 'Contacts',
  deal: 'Deals',
  participant: 'People on deals',
  nda: 'NDAs',
  offer: 'Offers',
  question: 'Questions',
  document: 'Documents',
  production_document: 'Documents produced for requests',
  qoe_checklist_item: 'QoE checklist',
  accounting_snapshot: 'Uploaded financials',
  normalization: 'Add-backs',
  closing_condition: 'Closing conditions',
  finding: 'Findings',
  financing_source: 'Financing',
};

const changes: Record<Change, string> = {
  created: 'Added',
  updated: 'Changed',
  admitted: 'Opened to API keys',
  archived: 'Archived',
  restored: 'Restored',
  removed: 'Removed',
};

/** Every type: the server's closed list. */
const types: Record<EventType, true> = {
  'contact.created': true,
  'contact.updated': true,
  'contact.archived': true,
  'contact.restored': true,
  'contact.removed': true,
  'deal.created': true,
  'deal.updated': true,
  'deal.admitted': true,
  'deal.removed': true,
  'participant.created': true,
  'participant.updated': true,
  'participant.removed': true,
  'nda.created': true,
  'nda.updated': true,
  'nda.removed': true,
  'offer.created': true,
  'offer.updated': true,
  'offer.removed': true,
  'question.created': true,
  'question.updated': true,
  'question.removed': true,
  'document.created': true,
  'document.updated': true,
  'document.removed': true,
  'production_document.created': true,
  'production_document.updated': true,
  'production_document.removed': true,
  'qoe_checklist_item.created': true,
  'qoe_checklist_item.updated': true,
  'qoe_checklist_item.removed': true,
  'accounting_snapshot.created': true,
  'accounting_snapshot.updated': true,
  'accounting_snapshot.removed': true,
  'normalization.created': true,
  'normalization.removed': true,
  'closing_condition.created': true,
  'closing_condition.updated': true,
  'closing_condition.removed': true,
  'finding.created': true,
  'finding.updated': true,
  'finding.removed': true,
  'financing_source.created': true,
  'financing_source.updated': true,
  'financing_source.removed': true,
};
const all = Object.keys(types) as EventType[];
const partsOf = (type: string) => type.split('.') as [Subject, Change];

/** The events of each kind of record, with their labels. */
export const eventTypeGroups = (Object.keys(subjects) as Subject[]).map((subject) => ({
  group: subjects[subject],
  types: all.filter((type) => partsOf(type)[0] === subject).map((type) => ({ type, label: changes[partsOf(type)[1]] })),
}));

const inSentence = (words: string): string => `${words.charAt(0).toLowerCase()}${words.slice(1)}`;

/** Returns a type's label, "Contacts: added"; for a type of a newer release, its name. */
export function eventWords(type: string): string {
  if (type === 'webhook.test') return 'Test event';
  const [subject, change] = partsOf(type);
  return Object.hasOwn(subjects, subject) && Object.hasOwn(changes, change)
    ? `${subjects[subject]}: ${inSentence(changes[change])}`
    : type;
}

/** Describes the selected types of a webhook, with each kind of record once. */
export function chosenWords(chosen: readonly EventType[] | null): string {
  if (chosen === null) return 'Everything its key can read';
  return eventTypeGroups
    .map(({ group, types: those }) => ({
      group,
      of: those.length,
      some: those.filter(({ type }) => chosen.includes(type)),
    }))
    .filter(({ some }) => some.length > 0)
    .map(({ group, of, some }) =>
      some.length === of ? group : `${group} (${some.map(({ label }) => inSentence(label)).join(', ')})`,
    )
    .join(', ');
}
