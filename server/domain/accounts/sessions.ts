/**
 * Sessions of signed-in people: entering with a session, listing and ending sessions. Their rules are in
 * 013_sign_in.sql.
 */

import { entering, mapped, presenting, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { DealScope } from '../visibility/deal-scope.ts';

/** The person behind a live session. */
export interface SessionCaller {
  user_id: string;
  email: string;
  name: string;
  session_id: string;
  /**
   * Whether the person signed in within the last ten minutes, as changes to the address, the second factor and keys
   * require.
   */
  recently_authenticated: boolean;
  /** Whether signing in requires a code of an authenticator. */
  second_factor: boolean;
}

const enter = row<SessionCaller>(
  'enter_with_session',
  `select user_id, email, name, session_id, recently_authenticated, second_factor
  from app.enter_with_session($1, $2, $3, $4)`,
);

/**
 * Enters as the person whose session token has this digest: sent before every query of a signed-in person, in the same
 * transaction. Null, and nobody has entered, when the session is unknown, ended, idle for 12 hours or 30 days old, or
 * the person is suspended. `attended` is false for requests that a page sends by itself, which do not count as use of
 * the session. `within` narrows the transaction to one of the person's deals.
 */
export const enterWithSession = (
  digest: Buffer | null,
  attended = true,
  within: DealScope | null = null,
): Statement<SessionCaller | null> => entering(digest, enter(digest, attended, within?.table, within?.id), attended);

/** Refuses, which rolls back the whole transaction, unless somebody has entered: sent before every change. */
export const requirePerson: () => Statement<unknown> = row('require_person', 'select app.require_person()');

const alive = rows<{ id: string }>('sessions_alive', 'select app.sessions_alive($1) as id');

/** Returns those of the given session ids that are alive. */
export const sessionsAlive = (ids: readonly string[]): Statement<Set<string>> =>
  mapped(alive(ids), (found) => new Set(found.map(({ id }) => id)));

/**
 * Refuses with reason `recent_sign_in_required`, which rolls back the whole transaction, unless the person signed in
 * within the last ten minutes. Sent between `enterWithSession` and the change that requires a recent sign-in.
 */
export const requireRecentSignIn: (digest: Buffer | null) => Statement<unknown> = row(
  'require_recent_sign_in',
  'select app.require_recent_sign_in($1)',
);

const signOutStatement = row('sign_out', 'select app.sign_out($1, $2, $3)');

/** Ends the session, if there is one. */
export const signOut = (digest: Buffer | null, { address, requestId }: Origin): Statement<unknown> =>
  presenting(digest, signOutStatement(digest, address, requestId));

const everywhere = row<{ done: boolean }>('sign_out_everywhere', 'select app.sign_out_everywhere($1, $2, $3) as done');

/** Ends every session of the person and every connection of their clients; false when the session is not alive. */
export const signOutEverywhere = (digest: Buffer | null, { address, requestId }: Origin): Statement<boolean> =>
  mapped(everywhere(digest, address, requestId), (answer) => answer?.done ?? false);

export interface OwnSession {
  id: string;
  is_this: boolean;
  created_at: string;
  last_seen_at: string;
  address: string | null;
  user_agent: string | null;
}

/** Returns the live sessions of the session's owner: the current session first, then the most recently used. */
export const listSessions: (digest: Buffer | null) => Statement<OwnSession[]> = rows(
  'list_sessions',
  'select id, is_this, created_at, last_seen_at, host(address) as address, user_agent from app.own_sessions($1)',
);

const end = row<{ ended: number }>('end_session', 'select app.end_session($1, $2, $3, $4) as ended');

/** Ends another session of the same person, or all others when `otherId` is null; returns how many it ended. */
export const endSession = (
  digest: Buffer | null,
  otherId: string | null,
  { address, requestId }: Origin,
): Statement<number> => mapped(end(digest, otherId, address, requestId), (answer) => answer?.ended ?? 0);
