/** The home page: what waits for the caller on each deal, the states of their deals, and recent activity. */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import {
  actorColumns,
  actorJoins,
  objectName,
  activityOf,
  type Activity,
  type Found as FoundActivity,
} from '../audit/activity.ts';
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
  /** The time at which the earliest due date has ended in every time zone; null when nothing is due. */
  due_at: string | null;
  /** The earliest due date; null when nothing is due. */
  due_on: string | null;
  /** Since when the oldest has been waiting; null when something is due. */
  waiting_since: string | null;
}

interface RunningExclusivity {
  deal_id: string;
  deal_title: string;
  expires_at: string;
}

export interface Home {
  /** What waits for the caller: what is due or has waited longest comes first; findings only if that feature is on. */
  queue: QueueEntry[];
  /** Number of deals in each state. */
  deals_by_state: { state: DealState; count: number }[];
  /** The current exclusivities that the caller may know of, the first to end first, at most 20. */
  exclusivities: RunningExclusivity[];
  /** Recent activity on all deals that the caller sees, as far as they may see it, latest first. */
  activity: Activity[];
}

type Found =
  | ({ part: 'queue' } & QueueEntry)
  | { part: 'state'; kind: DealState; count: number }
  | { part: 'exclusivity'; deal_id: string; deal_title: string; due_at: string }
  | ({ part: 'activity' } & FoundActivity);

const found = rows<Found, [withFindings: boolean]>(
  'home',
  `select h.part, h.kind, h.deal_id, h.deal_title, h.count, h.due_at, h.due_on, h.waiting_since, h.id, h.at,
     ${actorColumns('h')}, h.action, h.outcome, h.details,
     case when h.part = 'activity' then ${objectName('h')} end as object_name
   from app.home($1) with ordinality h
   ${actorJoins('h')}
   order by h.ordinality`,
);

/** The contents of the caller's home page. */
export const home = (withFindings: boolean): Statement<Home> =>
  mapped(found(withFindings), (all) => {
    const page: Home = { queue: [], deals_by_state: [], exclusivities: [], activity: [] };
    for (const row of all) {
      if (row.part === 'queue') {
        const { kind, deal_id, deal_title, count, due_at, due_on, waiting_since } = row;
        page.queue.push({ kind, deal_id, deal_title, count, due_at, due_on, waiting_since });
      } else if (row.part === 'state') page.deals_by_state.push({ state: row.kind, count: row.count });
      else if (row.part === 'exclusivity')
        page.exclusivities.push({ deal_id: row.deal_id, deal_title: row.deal_title, expires_at: row.due_at });
      else {
        const {
          id,
          at,
          user_id,
          user_name,
          actor,
          client_name,
          deal_id,
          deal_title,
          action,
          outcome,
          details,
          object_name,
        } = row;
        page.activity.push(
          activityOf({
            id,
            at,
            user_id,
            user_name,
            actor,
            client_name,
            deal_id,
            deal_title,
            action,
            outcome,
            details,
            object_name,
          }),
        );
      }
    }
    return page;
  });
