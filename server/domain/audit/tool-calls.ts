/** What the tool server leaves in the audit trail (docs/tools.md, "What is kept of a call"). */

import { row } from '../../database/statement.ts';

/**
 * The record has the person who entered the transaction; without one, nothing is written. It is on the deal only where they see it: a record
 * is filed under the brokerage of its deal.
 */
const record = `select app.audit('tool:' || $1, coalesce($2, case when seen.deal is null then $4::text end), $3, null, seen.deal, $5, $6, '{}')`;
// Whether the identity is genuine, app.audit looks for itself.
const entered = `from (select case when $4::uuid is not null then app.seen_deal($4) end as deal offset 0) seen
  where current_setting('dealkeep.identity', true) <> ''`;

type ToolCall = [
  tool: string,
  subjectId: string | null,
  outcome: string,
  dealId: string | null,
  address: string | null,
  requestId: string | null,
];

/**
 * Leaves a record of a tool call: `outcome` is `ok` or the code of the refusal; `subjectId` the record that it is about. To stand in a
 * transaction that was entered for the deal: else every deal of the caller is looked at.
 */
export const recordToolCall = row<unknown, ToolCall>('record_tool_call', `${record} ${entered}`);

/**
 * The same of a call that reads and came to nothing: its answer does not wait for the disk. One that succeeds leaves its record as
 * it enters (enterToRead).
 */
export const recordToolRefusal = row<unknown, ToolCall>(
  'record_tool_refusal',
  `${record}, set_config('synchronous_commit', 'off', true) ${entered}`,
);
