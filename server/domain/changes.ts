/** Which of the announced changes a person may learn of. */

import type { Change } from '../database/changes.ts';
import { rows, type Statement } from '../database/statement.ts';

export interface SeenChange {
  topic: string;
  deal_id: string | null;
}

const seen = rows<SeenChange>(
  'seen_changes',
  `select distinct c.topic, c.deal_id
  from jsonb_to_recordset($1::jsonb) as c (topic text, "table" text, record uuid, deal_id uuid, gone boolean)
  where app.sees_change(c."table", c.record, c.deal_id, c.gone)`,
);

/** Topic and deal of those changes that the caller sees, each once. */
export const seenChanges = (changes: readonly Change[]): Statement<SeenChange[]> => seen(JSON.stringify(changes));
