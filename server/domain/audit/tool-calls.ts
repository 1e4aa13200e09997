/** What the tool server leaves in the audit trail (docs/tools.md, "What is kept of a call"). */

import { row, type Statement } from '../../database/statement.ts';
import type { DealScope } from '../visibility/deal-scope.ts';

type Named = [
  tool: string,
  subjectId: string | null,
  outcome: string,
  aboutId: string | null,
  address: string | null,
  requestId: string | null,
];

/** The deal of a record, where the caller sees the record: of one that is hidden from them, its deal would tell them that it exists. */
const dealOf = (table: string) => `(select r.deal_id from ${table} r where r.id = $4::uuid)`;

/**
 * The record has the person who entered the transaction; without one, nothing is written. It is on the deal only where they see it: a record
 * is filed under the brokerage of its deal. `also`: what is selected beside it.
 */
const leaving = (name: string, also: string) => {
  // Whether the identity is genuine, app.audit looks for itself.
  const on = (about: string, deal: string) =>
    row<unknown, Named>(
      name + about,
      `select app.audit('tool:' || $1, coalesce($2, case when seen.deal is null then $4::text end), $3, null, seen.deal, $5, $6, '{}')${also}
       from (select ${deal} as deal offset 0) seen where current_setting('dealkeep.identity', true) <> ''`,
    );
  const onDeal = on('', 'case when $4::uuid is not null then app.seen_deal($4) end');
  const onRecord = new Map(
    (['findings', 'financing_sources'] as const).map((table) => [table as string, on(`_of_${table}`, dealOf(table))]),
  );
  return (
    tool: string,
    subjectId: string | null,
    outcome: string,
    about: DealScope | null,
    address: string | null,
    requestId: string | null,
  ): Statement<unknown> => {
    const leave = (about && onRecord.get(about.table)) ?? onDeal;
    return leave(tool, subjectId, outcome, about?.id ?? null, address, requestId);
  };
};

/**
 * Leaves a record of a tool call: `outcome` is `ok` or the code of the refusal; `subjectId` the record that it is about, and `about` that record
 * or the deal. To stand in a transaction that was entered for the deal: else every deal of the caller is looked at.
 */
export const recordToolCall = leaving('record_tool_call', '');

/**
 * The same of a call that reads: its answer does not wait for the disk. One that succeeds and is about a deal leaves its record as
 * it enters (enterToRead).
 */
export const recordToolRead = leaving('record_tool_read', `, set_config('synchronous_commit', 'off', true)`);
