/** Which of the announced changes a person may learn of. */

import type { Change } from '../../database/changes.ts';
import { rows, type Statement } from '../../database/statement.ts';

/** What a change is about, as the triggers that announce it call it. */
export type Topic =
  | 'deal'
  | 'participants'
  | 'ndas'
  | 'documents'
  | 'questions'
  | 'qoe'
  | 'offers'
  | 'conditions'
  | 'findings'
  | 'financing'
  | 'tools'
  | 'contacts'
  | 'settings';

/** Something changed that the caller may see. {topic: 'deal', deal_id: null} is anything. */
export interface SeenChange {
  topic: Topic;
  deal_id: string | null;
}

// A record of a deal is looked at only where the caller sees the deal: however much happens elsewhere, it costs little.
// A comment on a finding names no deal; an opt-in is its owner's on any.
const seen = rows<SeenChange>(
  'seen_changes',
  `with told as materialized (
    select distinct c.topic, c."table", c.record, c.deal_id, c.gone
    from jsonb_to_recordset($1::jsonb) as c (topic text, "table" text, record uuid, deal_id uuid, gone boolean)
  ), seen_deals as materialized (
    select d.id from deals d where d.id in (select deal_id from told)
  )
  select distinct c.topic, c.deal_id from told c
  where (c.deal_id is null or c."table" = 'deal_opt_ins' or c.deal_id in (select id from seen_deals))
    and app.sees_change(c."table", c.record, c.deal_id, c.gone)`,
);

/** Topic and deal of those changes that the caller sees, each once. */
export const seenChanges = (changes: readonly Change[]): Statement<SeenChange[]> => seen(JSON.stringify(changes));
