/** The sandbox of a brokerage, on which its test keys work: demo data with fictive people, which can be reset. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

export interface Sandbox {
  /** Since when it is as it was made, but for what test keys have changed. */
  reset_at: string;
  contacts: number;
  deals: number;
}

/** The sandbox of a brokerage, for its admins; null when there is none, since it has never had a test key. */
export const sandboxOf = row<Sandbox, [brokerageId: string]>(
  'sandbox_of',
  'select reset_at, contacts::int, deals::int from app.sandbox_of($1)',
);

const reset = row<{ done: boolean | null }>('reset_sandbox', 'select app.reset_sandbox($1, $2, $3) as done');

/**
 * Puts the sandbox of a brokerage back to how it was made; false when there is none, null when the caller is no admin of it. Refused with `sandbox_just_reset` for
 * ten seconds after the last time.
 */
export const resetSandbox = (brokerageId: string, { address, requestId }: Origin): Statement<boolean | null> =>
  mapped(reset(brokerageId, address, requestId), (answer) => answer?.done ?? null);

const resetOfKey = row<{ done: boolean; at: string }>(
  'reset_sandbox_with_key',
  'select app.reset_sandbox_with_key($1, $2) as done, app.now() as at',
);

/** The same for the calling test key; says when it was reset, null to every other key. */
export const resetOwnSandbox = ({ address, requestId }: Origin): Statement<string | null> =>
  mapped(resetOfKey(address, requestId), (answer) => (answer?.done ? answer.at : null));
