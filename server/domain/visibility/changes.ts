/** Who is notified of which announced changes. */

import type { Change } from '../../database/changes.ts';
import { rows, type Statement } from '../../database/statement.ts';

/** The subject of a change, as the triggers that announce it name it. */
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

/** A change that the caller may see. {topic: 'deal', deal_id: null} means that anything may have changed. */
export interface SeenChange {
  topic: Topic;
  deal_id: string | null;
}

/** Records of one table and one deal that were changed or deleted. */
export interface ChangedRecords extends Pick<Change, 'topic' | 'table' | 'deal_id' | 'gone'> {
  records: string[];
}

/** A change that the person of a session may see. */
export interface ListenerChange extends SeenChange {
  session_id: string;
}

const forListeners = rows<ListenerChange>(
  'listeners_told',
  'select session_id, topic, deal_id from app.listeners_told($1, $2)',
);

/**
 * The changes that the people of the listening sessions may see, under the same policies as when they read the records.
 * `presented` holds the first 16 bytes of the digest of each session, in ascending order.
 */
export const changesForListeners = (
  changes: readonly ChangedRecords[],
  presented: Buffer,
): Statement<ListenerChange[]> => forListeners(JSON.stringify(changes), presented);
