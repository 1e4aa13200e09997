/** The SQL that adds each row of "What each may add" in docs/visibility.md, as the server sends it. */

import type { Scene } from './scene.ts';

type Addition = (scene: Scene) => { text: string; values: unknown[] };

const month = `'2026-02-01', '2026-02-28', 'USD'`;

/** For each kind of record, the insert that adds one to the scene. */
export const additions: Record<string, Addition> = {
  'a logo of the brokerage': ({ brokerage }) => ({
    text: `insert into brokerage_logos (brokerage_id, media_type, width, height, picture) values ($1, 'image/png', 1, 1, '\\x00')
      on conflict (brokerage_id) do update set picture = excluded.picture`,
    values: [brokerage],
  }),
  'a contact': ({ brokerage }) => ({
    text: `insert into contacts (brokerage_id, type, display_name) values ($1, 'person', 'New')`,
    values: [brokerage],
  }),
  'a deal, as its broker': ({ brokerage }) => ({
    text: `select app.open_deal($1, 'New deal', null, null, null, null, null)`,
    values: [brokerage],
  }),
  'an invitation to the deal': ({ deal }) => ({
    text: `select * from app.invite_to_deal($1, 'new@example.test', 'New', 'buyer', null)`,
    values: [deal],
  }),
  'an NDA for the new buyer': ({ deal, participants }) => ({
    text: `insert into ndas (deal_id, participant_id, terms) values ($1, $2, 'Keep it to yourself.')`,
    values: [deal, participants['new buyer']],
  }),
  'exclusivity, when none runs': ({ idle, idleBuyer }) => ({
    text: `insert into exclusivities (deal_id, participant_id, expires_at) values ($1, $2, now() + interval '30 days')`,
    values: [idle, idleBuyer],
  }),
  'a place in the QoE workspace': ({ deal, participants }) => ({
    text: `insert into qoe_workspace_members (deal_id, participant_id) values ($1, $2)`,
    values: [deal, participants['other buyer']],
  }),
  'a checklist row': ({ deal }) => ({
    text: `insert into qoe_checklist (deal_id, category, title) values ($1, 'tax', 'Returns filed')`,
    values: [deal],
  }),
  'an accounting snapshot': ({ deal }) => ({
    text: `insert into accounting_snapshots (deal_id, snapshot_type) values ($1, 'full')`,
    values: [deal],
  }),
  'a month of profit and loss': ({ deal, records }) => ({
    text: `insert into pl_periods
      (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue)
      values ($1, $2, '2026-02', ${month}, 1)`,
    values: [deal, records['accounting_snapshots/a snapshot']],
  }),
  'a customer and its revenue': ({ deal, records }) => ({
    text: `insert into customer_revenues
      (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
      values ($1, $2, 'Hotel', ${month}, 1)`,
    values: [deal, records['accounting_snapshots/a snapshot']],
  }),
  'an add-back': ({ deal }) => ({
    text: `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount)
      values ($1, 'FY2025', 'one_time', '-12.5')`,
    values: [deal],
  }),
  'an answer to a contradiction': ({ deal }) => ({
    text: `insert into contradiction_answers (deal_id, contradiction, figures, status, why)
      values ($1, repeat('c', 32), repeat('c', 32), 'explained', 'The rent was prepaid.')`,
    values: [deal],
  }),
  'a question': ({ deal }) => ({
    text: `insert into questions (deal_id, category, question_text) values ($1, 'tax', 'Which years are open?')`,
    values: [deal],
  }),
  'a note that answers are read': ({ deal }) => ({
    text: `insert into answer_readings (deal_id) values ($1) on conflict (deal_id, user_id) do update set read_until = now()`,
    values: [deal],
  }),
  'the answer to a question': ({ deal, unanswered }) => ({
    text: `insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, 'Three.')`,
    values: [unanswered, deal],
  }),
  'a document': ({ deal }) => ({
    text: `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key)
      values ($1, 'a.pdf', 'tax', 'public', 1, 'application/pdf', 'new')`,
    values: [deal],
  }),
  'a produced document': ({ deal }) => ({
    text: `insert into production_documents
      (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, diligence_request)
      values ($1, 'a.pdf', 'tax', 'public', 1, 'application/pdf', 'new', 'Tax returns')`,
    values: [deal],
  }),
  'an offer': ({ deal }) => ({
    text: `insert into offers (deal_id, payload) values ($1, '{"currency": "USD", "purchase_price": "1000000"}')`,
    values: [deal],
  }),
  'a closing condition': ({ deal }) => ({
    text: `insert into closing_conditions (deal_id, name) values ($1, 'Licence transferred')`,
    values: [deal],
  }),
  'a finding': ({ deal }) => ({
    text: `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'Late filings', 'major')`,
    values: [deal],
  }),
  "a comment on the exclusive buyer's finding": ({ records }) => ({
    text: `insert into finding_comments (finding_id, body) values ($1, 'Seen.')`,
    values: [records["findings/the exclusive buyer's"]],
  }),
  'a financing source': ({ deal }) => ({
    text: `insert into financing_sources (deal_id, source_type, source_name, commitment_amount)
      values ($1, 'sba_7a', 'First Bank', 1000000)`,
    values: [deal],
  }),
  'a deal opt-in of their own': ({ deal }) => ({
    text: `select 1 where app.opt_in_deal($1, null, null, null)`,
    values: [deal],
  }),
  'that it is open to API keys': ({ deal }) => ({
    text: `select 1 where app.admit_keys($1, true, null, null)`,
    values: [deal],
  }),
  'that new deals are open to API keys': ({ brokerage }) => ({
    text: `select 1 where app.admit_keys_by_default($1, true, null, null)`,
    values: [brokerage],
  }),
  'a stop of writing through tools': ({ deal }) => ({
    text: `select 1 where app.stop_deal_tools($1, true, null, null)`,
    values: [deal],
  }),
};
