/** The sandbox of a brokerage, on which its test keys work: demo data with fictitious people, which can be reset. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

export interface Sandbox {
  /** When the sandbox was created or last reset; since then only test keys have changed it. */
  reset_at: string;
  contacts: number;
  deals: number;
}

/**
 * The sandbox of a brokerage, for its admins; null when there is none because the brokerage has never had a test key.
 */
export const sandboxOf = row<Sandbox, [brokerageId: string]>(
  'sandbox_of',
  'select reset_at, contacts::int, deals::int from app.sandbox_of($1)',
);

const reset = row<{ done: boolean | null }>('reset_sandbox', 'select app.reset_sandbox($1, $2, $3) as done');

/**
 * Resets the sandbox of a brokerage; false when there is none, null when the caller is not an admin of the brokerage.
 * Rejected with `sandbox_just_reset` within ten seconds of the last reset.
 */
export const resetSandbox = (brokerageId: string, { address, requestId }: Origin): Statement<boolean | null> =>
  mapped(reset(brokerageId, address, requestId), (answer) => answer?.done ?? null);

const resetOfKey = row<{ done: boolean; at: string }>(
  'reset_sandbox_with_key',
  'select app.reset_sandbox_with_key($1, $2) as done, app.now() as at',
);

/** The same for the calling test key; returns the time of the reset, or null for any other key. */
export const resetOwnSandbox = ({ address, requestId }: Origin): Statement<string | null> =>
  mapped(resetOfKey(address, requestId), (answer) => (answer?.done ? answer.at : null));
