/**
 * The checks before a writing tool runs: its scope, its grant and the deal's opt-in, in this order (specification,
 * section 5.4).
 */

import { row } from '../../database/statement.ts';

/** The reasons for which a call is rejected, in the order in which they are checked. */
export const gateReasons = ['missing_scope', 'missing_tool_grant', 'missing_deal_opt_in'] as const;
export type GateReason = (typeof gateReasons)[number];

/**
 * Rejected with the first applicable {@link GateReason}; a deal that the caller cannot see counts as a deal without an
 * opt-in.
 */
export const passDealGate = row<unknown, [tool: string, dealId: string]>(
  'pass_deal_gate',
  'select app.pass_tool_gate($1, $2)',
);

/** The same for the deal of a finding; a finding that the caller cannot see counts as a finding without a deal. */
export const passFindingGate = row<unknown, [tool: string, findingId: string]>(
  'pass_finding_gate',
  'select app.pass_tool_gate($1, (select f.deal_id from findings f where f.id = $2))',
);

/** The same for the deal of a financing source. */
export const passFinancingGate = row<unknown, [tool: string, sourceId: string]>(
  'pass_financing_gate',
  'select app.pass_tool_gate($1, (select s.deal_id from financing_sources s where s.id = $2))',
);
