/** The scopes of API keys, grouped for selection, each with a sentence about the access it gives. */

import type { KeyScope } from '../api/shapes.ts';

type Group = 'Contacts' | 'Deals and people' | 'Offers and NDAs' | 'Diligence' | 'Documents' | 'Closing' | 'Changes';

const scopes: Record<KeyScope, readonly [group: Group, sentence: string]> = {
  'contacts:read': ['Contacts', 'Everyone in the brokerage’s contacts, with addresses and phone numbers.'],
  'contacts:write': ['Contacts', 'Add people and companies, and change existing ones.'],
  'deals:read': ['Deals and people', 'Titles, asking prices, the stage of each sale, and who has exclusivity.'],
  'deals:write': ['Deals and people', 'Open deals, edit them, and move them to the next stage.'],
  'participants:read': ['Deals and people', 'Names, roles and e-mail addresses of everyone on the deal.'],
  'participants:write': [
    'Deals and people',
    'Invite people in the name of the person who created or last rotated the key, within what that person may do.',
  ],
  'offers:read': ['Offers and NDAs', 'Every buyer’s offers, with revisions and decisions.'],
  'ndas:read': ['Offers and NDAs', 'Who was sent an NDA, who signed, and when it ends.'],
  'questions:read': [
    'Diligence',
    'Buyers’ questions and the seller’s answers, including those not sent to the buyer yet.',
  ],
  'qoe:read': ['Diligence', 'Checklist, monthly profit and loss, customers, and add-backs.'],
  'qoe:write': ['Diligence', 'Deliver periods and customers from an accounting system.'],
  'findings:read': ['Diligence', 'Findings of every side, with their comments.'],
  'financing:read': ['Diligence', 'Each buyer’s sources of financing.'],
  'documents:read': ['Documents', 'Names, sizes and confidentiality, but not the contents.'],
  'documents:content': ['Documents', 'The contents of documents. Each opening is recorded.'],
  'documents:write': ['Documents', 'Add documents to the data room.'],
  'conditions:read': ['Closing', 'What must be done before closing, by when and by whom.'],
  'conditions:write': ['Closing', 'Add closing conditions, and change them.'],
  'events:read': ['Changes', 'Follow changes to everything else the key can read.'],
  'webhooks:read': ['Changes', 'Where changes are sent, and whether they arrived.'],
  'webhooks:write': ['Changes', 'Set where changes are sent.'],
};

const groups = [...new Set(Object.values(scopes).map(([group]) => group))];

/** The groups in order, each with its scopes and their sentences. */
export const keyScopeGroups = groups.map((group) => ({
  group,
  scopes: (Object.keys(scopes) as KeyScope[])
    .filter((scope) => scopes[scope][0] === group)
    .map((scope) => ({ scope, sentence: scopes[scope][1] })),
}));
