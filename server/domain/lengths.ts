/**
 * Maximum number of characters of texts that people and programs write, by table and column. The columns' constraints
 * (test/database/schema.test.ts) and the pages have the same limits.
 */

import { longestEmailAddress } from '../lib/email-address.ts';

/** Name of a person or a brokerage. */
const name = 200;
/** Label of a period of the books, also named by adjustments. */
const period_label = 64;
const document = { filename: 255, category: 64 } as const;

export const lengths = {
  accounting_snapshots: { source_name: 255, failure: 2000 },
  api_keys: { name: 100 },
  brokerages: { name },
  closing_conditions: { name: 200 },
  connected_clients: { name: 100, metadata_url: 1000 },
  contradiction_answers: { why: 2000 },
  customer_revenues: { customer_name: 200 },
  deals: { title: 200, industry: 120, location: 120, summary: 8000 },
  documents: document,
  financing_sources: { source_name: 256 },
  finding_comments: { body: 8000 },
  findings: { category: 64, title: 120, description: 8000, status_notes: 8000 },
  legal_holds: { reference: 200 },
  members: { invited_email: longestEmailAddress, invited_name: name },
  ndas: { signed_name: name, terms: 40_000 },
  normalizations: { period_label, rationale: 2000 },
  participants: { invited_email: longestEmailAddress, invited_name: name },
  passkeys: { name: 100 },
  pl_periods: { period_label },
  production_documents: { ...document, diligence_request: 500 },
  qoe_checklist: { category: 64, title: 200 },
  question_answers: { answer_text: 8000 },
  questions: { question_text: 4000, rejection_reason: 2000, distributed_response: 8000 },
  users: { name },
  webhook_deliveries: { answer: 4096 },
  webhook_endpoints: { url: 2000, description: 200 },
} as const;
