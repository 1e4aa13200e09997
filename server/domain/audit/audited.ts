/** Changes that leave a record of themselves: the change and its record in the audit trail are one statement. */

import { mapped, type Statement, type Value } from '../../database/statement.ts';

/** From where a change was asked for, for the audit trail. */
export interface Origin {
  readonly address: string | null;
  readonly requestId: string | null;
}

/** What the record of a change names, in SQL, in terms of what stands before it. */
interface Named {
  /** The id of what was changed: that of `changed`, unless it is said. */
  readonly subject?: string;
  /** The id of its deal: that of `changed`, unless it is said. */
  readonly deal?: string;
  /** The id of the brokerage, of a change that belongs to no deal. */
  readonly brokerage?: string;
  /** A jsonb of what else to keep: never a text that somebody wrote, and no amount. */
  readonly details?: string;
}

/**
 * To stand at the end of `from changed`: a record of `action` for each row. The statement's first two parameters are
 * those of {@link from}.
 */
export const audited = (
  action: string,
  { subject = 'changed.id', deal = 'changed.deal_id', brokerage, details = `'{}'` }: Named = {},
): string =>
  `cross join lateral app.audit('${action}', (${subject})::text, 'done', ${brokerage ?? 'null'}, ${brokerage === undefined ? deal : 'null'},
     $1, $2, ${details}) as audited`;

/** The parameters with which every audited change begins. */
export const from = ({ address, requestId }: Origin): [address: Value, requestId: Value] => [address, requestId];

/** Whether a change took place: false when there was nothing that the caller may change so. */
export const tookPlace = (change: Statement<unknown>): Statement<boolean> => mapped(change, (found) => found !== null);
