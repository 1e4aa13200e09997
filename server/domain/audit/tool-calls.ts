/** The tool server's records in the audit trail (docs/tools.md, "What is kept of a call"). */

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

/**
 * SQL for the deal of a record that the caller sees: the deal of a hidden record would reveal that the record exists.
 */
const dealOf = (table: string) => `(select r.deal_id from ${table} r where r.id = $4::uuid)`;

/**
 * The audit record names the person who entered the transaction; without a person, nothing is written. It names the
 * deal only where the person sees the deal, since audit records are filed under the deal's brokerage. A call that is
 * refused because a brokerage requires a second factor is in the trail of that brokerage if the deal is one of its own,
 * otherwise in the person's alone: another brokerage would learn where they are a member. `also`: further SQL to select.
 */
const leaving = (name: string, also: string) => {
  // Only checks that there is an identity; app.audit verifies it.
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
  const barred = row<unknown, [...Named, table: string | null]>(
    `${name}_barred`,
    `select app.audit('tool:' || $1, coalesce($2, $4::text), $3, app.barring_brokerage_of(coalesce($7, 'deals'), $4::uuid), null, $5, $6, '{}')${also}
     where current_setting('dealkeep.identity', true) <> ''`,
  );
  return (
    tool: string,
    subjectId: string | null,
    outcome: string,
    about: DealScope | null,
    address: string | null,
    requestId: string | null,
  ): Statement<unknown> => {
    if (outcome === 'second_factor_required')
      return barred(tool, subjectId, outcome, about?.id ?? null, address, requestId, about?.table ?? null);
    const leave = (about && onRecord.get(about.table)) ?? onDeal;
    return leave(tool, subjectId, outcome, about?.id ?? null, address, requestId);
  };
};

/**
 * Records a tool call: `outcome` is `ok` or the code of the refusal; `subjectId` the record that the call is about;
 * `about` that record or its deal. The transaction should be entered for the deal: otherwise PostgreSQL checks every
 * deal of the caller.
 */
export const recordToolCall = leaving('record_tool_call', '');

/**
 * Like {@link recordToolCall}, for a call that only reads: its response does not wait for the disk. A successful call
 * about a deal is recorded on entering instead (enterToRead).
 */
export const recordToolRead = leaving('record_tool_read', `, set_config('synchronous_commit', 'off', true)`);
