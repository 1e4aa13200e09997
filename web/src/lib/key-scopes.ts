/** What API keys may do, in the groups in which it is chosen, each with a sentence of what it opens. */

import type { KeyScope } from '../api/shapes.ts';

type Group = 'Contacts' | 'Deals and people' | 'Offers and NDAs' | 'Diligence' | 'Documents' | 'Closing' | 'Changes';

const scopes: Record<KeyScope, readonly [group: Group, sentence: string]> = {
  'contacts:read': ['Contacts', 'Everyone in the brokerage’s contacts, with addresses and phone numbers.'],
  'contacts:write': ['Contacts', 'Add people and companies, and change those that are there.'],
  'deals:read': ['Deals and people', 'Titles, asking prices, how far each sale is, and who has exclusivity.'],
  'deals:write': ['Deals and people', 'Open deals, change what they say, and move them on.'],
  'participants:read': ['Deals and people', 'Names, roles and e-mail addresses of everyone on the deal.'],
  'participants:write': [
    'Deals and people',
    'Invite people, in the name of whoever made the key and as far as they may.',
  ],
  'offers:read': ['Offers and NDAs', 'Every buyer’s offers with their revisions and what was decided.'],
  'ndas:read': ['Offers and NDAs', 'Who was sent an NDA, who signed, and until when it holds.'],
  'questions:read': ['Diligence', 'Buyers’ questions and the seller’s answers, also before they are sent on.'],
  'qoe:read': ['Diligence', 'Checklist, months of profit and loss, customers, and add-backs.'],
  'qoe:write': ['Diligence', 'Deliver periods and customers from an accounting system.'],
  'findings:read': ['Diligence', 'Findings of every side, with their comments.'],
  'financing:read': ['Diligence', 'Each buyer’s sources of financing.'],
  'documents:read': ['Documents', 'Names, sizes and confidentiality; not what is in them.'],
  'documents:content': ['Documents', 'What is in the documents. Each opening is recorded.'],
  'documents:write': ['Documents', 'Add documents to the data room.'],
  'conditions:read': ['Closing', 'What must happen before closing, by when and by whom.'],
  'conditions:write': ['Closing', 'Add closing conditions, change them, and take them out.'],
  'events:read': ['Changes', 'Hear what changed of whatever else the key may read.'],
  'webhooks:read': ['Changes', 'Where changes are sent to, and whether they arrived.'],
  'webhooks:write': ['Changes', 'Say where changes are sent to.'],
};

const groups = [...new Set(Object.values(scopes).map(([group]) => group))];

/** The groups in order, each with its scopes and their sentences. */
export const keyScopeGroups = groups.map((group) => ({
  group,
  scopes: (Object.keys(scopes) as KeyScope[])
    .filter((scope) => scopes[scope][0] === group)
    .map((scope) => ({ scope, sentence: scopes[scope][1] })),
}));
