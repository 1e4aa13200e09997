/** Audited changes: each change and its record in the audit trail are written by one statement. */

import { mapped, row, type Statement, type Value } from '../../database/statement.ts';
import type { Action, DealAction } from './actions.ts';

/** Where a request came from, for the audit trail. */
export interface Origin {
  readonly address: string | null;
  readonly requestId: string | null;
}

/** SQL for the contents of an audit record, which may refer to the preceding CTEs. */
interface Named {
  /** The id of the changed object; defaults to the id of `changed`. */
  readonly subject?: string;
  /** A jsonb object with further details: never text written by a person, and no amounts. */
  readonly details?: string;
}

const record = (action: Action, subject: string, brokerage: string, deal: string, details: string): string =>
  `cross join lateral app.audit('${action}', (${subject})::text, 'done', ${brokerage}, ${deal}, $1, $2, ${details}) as audited`;

/**
 * SQL to append to `from changed`: writes a record of `action` for each row, on the deal `deal` (SQL; defaults to the
 * deal of `changed`). The statement's first two parameters must be those of {@link from}.
 */
export const audited = (
  action: DealAction,
  { subject = 'changed.id', deal = 'changed.deal_id', details = `'{}'` }: Named & { readonly deal?: string } = {},
): string => record(action, subject, 'null', deal, details);

/** Like {@link audited}, for a change that belongs to a brokerage and to no deal. */
export const auditedOf = (
  brokerage: string,
  action: Action,
  { subject = 'changed.id', details = `'{}'` }: Named = {},
): string => record(action, subject, brokerage, 'null', details);

/** The first two parameters of every audited change. */
export const from = ({ address, requestId }: Origin): [address: Value, requestId: Value] => [address, requestId];

/** Whether a change took place; false when there was no such object that the caller may change. */
export const tookPlace = (change: Statement<unknown>): Statement<boolean> => mapped(change, (found) => found !== null);

/**
 * The added row. An addition that is denied or refused rejects before, so a missing row is an internal error, and
 * throws.
 */
export const added = <T>(addition: Statement<T | null>): Statement<T> =>
  mapped(addition, (made) => {
    if (made === null) throw new Error('Something was added without an id.');
    return made;
  });

/** The id of the {@link added} row. */
export const addedId = (addition: Statement<{ id: string } | null>): Statement<string> =>
  mapped(added(addition), ({ id }) => id);

const exported = row(
  'exported',
  `select app.audit($1, null, 'done', mine.brokerage_id, null, $3, $4, $5)
   from (select (select m.brokerage_id from members m
     where m.user_id = (select app.user_id()) and m.brokerage_id = $2 and m.status = 'active') offset 0) mine (brokerage_id)
   where mine.brokerage_id is not null or $1 = 'audit.export'`,
);

/**
 * Records that the caller begins to export a list of a brokerage. Somebody who is not its member exports no contacts,
 * and of the audit trail only their own records: that stands in their own trail alone.
 */
export const recordExport = (
  action: 'contact.export' | 'audit.export',
  brokerageId: string | null,
  details: Readonly<Record<string, unknown>>,
  { address, requestId }: Origin,
): Statement<unknown> => exported(action, brokerageId, address, requestId, details);

// On the deal that the transaction is narrowed to, if the caller sees it: a record is filed under its deal's brokerage,
// and a guessed id would write into another brokerage's trail.
const notDone = row(
  'not_done',
  `select app.audit($1, $2, $3, null, (select app.seen_deal(d) from app.narrowed_to() d where d is not null), $4, $5, $6)`,
);

/** Records a request that was refused, or that failed on the server's side, with the id of its subject. */
export const recordNotDone = (
  action: Action,
  subject: string | null,
  outcome: 'refused' | 'failed',
  why: { readonly status: number; readonly code: string },
  origin: Origin,
): Statement<unknown> => notDone(action, subject, outcome, origin.address, origin.requestId, why);
