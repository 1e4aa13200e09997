/** Who may learn of which of the announced changes. */

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
  | 'settings'
  | 'notifications';

/** Something changed that the caller may see. {topic: 'deal', deal_id: null} is anything. */
export interface SeenChange {
  topic: Topic;
  deal_id: string | null;
}

/** Records of one table and one deal that have changed, or are gone. */
export interface ChangedRecords extends Pick<Change, 'topic' | 'table' | 'deal_id' | 'gone'> {
  records: string[];
}

/** What the person of a session may learn. */
export interface ListenerChange extends SeenChange {
  session_id: string;
}

const forListeners = rows<ListenerChange>(
  'listeners_told',
  'select session_id, topic, deal_id from app.listeners_told($1, $2)',
);

/**
 * Which of the changes the people of the listening sessions may learn of, by the same policies as when they ask for
 * the records. `presented` holds the first 16 bytes of the digest of each session, in ascending order.
 */
export const changesForListeners = (
  changes: readonly ChangedRecords[],
  presented: Buffer,
): Statement<ListenerChange[]> => forListeners(JSON.stringify(changes), presented);
