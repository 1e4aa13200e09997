/** Maximum lengths of input, in characters. A number that differs from the server's is a type error. */

import type { SharedBounds } from '../api/shapes.ts';

type Lengths = SharedBounds['lengths'];

/** By table and column. */
export const lengths = {
  api_keys: { name: 100 },
  brokerages: { name: 200 },
  closing_conditions: { name: 200 },
  connected_clients: { name: 100 },
  contradiction_answers: { why: 2000 },
  deals: { title: 200, industry: 120, location: 120, summary: 8000 },
  documents: { filename: 255 },
  financing_sources: { source_name: 256 },
  finding_comments: { body: 8000 },
  findings: { category: 64, title: 120, description: 8000, status_notes: 8000 },
  ndas: { signed_name: 200, terms: 40_000 },
  normalizations: { period_label: 64, rationale: 2000 },
  participants: { invited_name: 200 },
  passkeys: { name: 100 },
  production_documents: { diligence_request: 500 },
  qoe_checklist: { category: 64, title: 200 },
  question_answers: { answer_text: 8000 },
  questions: { question_text: 4000, rejection_reason: 2000, distributed_response: 8000 },
  users: { name: 200 },
  webhook_endpoints: { url: 2000, description: 200 },
} as const satisfies { [Table in keyof Lengths]?: Partial<Lengths[Table]> };

export const longestEmailAddress: SharedBounds['longestEmailAddress'] = 254;

/** Minimum length of a password, in code points. */
export const shortestPassword: SharedBounds['passwordLength']['least'] = 8;

/** Maximum length of an offer's free-text terms, in characters. */
export const longestTerms: SharedBounds['longestTerms'] = 20_000;
