/** The first page: what waits for the caller on each deal, and how their deals stand. */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import type { DealState } from './deals.ts';

export type QueueKind =
  | 'questions_to_review'
  | 'questions_to_answer'
  | 'answers_to_distribute'
  | 'answers_to_read'
  | 'ndas_to_sign'
  | 'ndas_unsigned'
  | 'offers_to_consider'
  | 'offer_changes_to_decide'
  | 'offer_changes_with_broker'
  | 'conditions_due'
  | 'findings_open';

export interface QueueEntry {
  kind: QueueKind;
  deal_id: string;
  deal_title: string;
  count: number;
  /** When the first is due; null where nothing is due. */
  due_at: string | null;
  /** Since when the oldest waits; null where something is due. */
  waiting_since: string | null;
}

/** What waits for the caller, what is due or has waited longest first; findings only where that feature is on. */
export const queue = rows<QueueEntry, [withFindings: boolean]>(
  'home_queue',
  'select kind, deal_id, deal_title, count, due_at, waiting_since from app.home_queue($1)',
);

export interface RunningExclusivity {
  deal_id: string;
  deal_title: string;
  expires_at: string;
}

/** How the caller's deals stand. */
export interface DealsNow {
  /** How many there are in each state. */
  deals_by_state: { state: DealState; count: number }[];
  /** The exclusivities that run and that the caller knows of, the first to end first, at most 20. */
  exclusivities: RunningExclusivity[];
}

type Found =
  | { state: DealState; count: number; deal_id: null; deal_title: null; expires_at: null }
  | ({ state: null; count: null } & RunningExclusivity);

const standing = rows<Found, []>(
  'home_deals',
  'select state, count, deal_id, deal_title, expires_at from app.home_deals()',
);

/** How the deals that the caller sees stand. */
export const dealsNow = (): Statement<DealsNow> =>
  mapped(standing(), (found) => ({
    deals_by_state: found.flatMap(({ state, count }) => (state === null ? [] : [{ state, count }])),
    exclusivities: found.flatMap(({ deal_id, deal_title, expires_at }) =>
      deal_id === null ? [] : [{ deal_id, deal_title, expires_at }],
    ),
  }));
