/** Audited changes: the change and its record in the audit trail are one statement. */

import { mapped, row, type Statement, type Value } from '../../database/statement.ts';
import type { Action, DealAction } from './actions.ts';

/** From where a change was asked for, for the audit trail. */
export interface Origin {
  readonly address: string | null;
  readonly requestId: string | null;
}

/** What the record of a change names, in SQL, in terms of what stands before it. */
interface Named {
  /** The id of what was changed: that of `changed`, unless it is said. */
  readonly subject?: string;
  /** A jsonb of what else to keep: never a text that a person wrote, and no amount. */
  readonly details?: string;
}

const record = (action: Action, subject: string, brokerage: string, deal: string, details: string): string =>
  `cross join lateral app.audit('${action}', (${subject})::text, 'done', ${brokerage}, ${deal}, $1, $2, ${details}) as audited`;

/**
 * To stand at the end of `from changed`: a record of `action` for each row, on the deal `deal` (SQL; that of `changed`,
 * unless it is said). The statement's first two parameters are those of {@link from}.
 */
export const audited = (
  action: DealAction,
  { subject = 'changed.id', deal = 'changed.deal_id', details = `'{}'` }: Named & { readonly deal?: string } = {},
): string => record(action, subject, 'null', deal, details);

/** The same of a change that belongs to a brokerage and to no deal. */
export const auditedOf = (
  brokerage: string,
  action: Action,
  { subject = 'changed.id', details = `'{}'` }: Named = {},
): string => record(action, subject, brokerage, 'null', details);

/** The parameters with which every audited change begins. */
export const from = ({ address, requestId }: Origin): [address: Value, requestId: Value] => [address, requestId];

/** Whether a change took place: false when there was nothing that the caller may change so. */
export const tookPlace = (change: Statement<unknown>): Statement<boolean> => mapped(change, (found) => found !== null);

/** What was added. What could not be added was denied or refused before: none is a fault of ours, and throws. */
export const added = <T>(addition: Statement<T | null>): Statement<T> =>
  mapped(addition, (made) => {
    if (made === null) throw new Error('Something was added without an id.');
    return made;
  });

/** The id of what was {@link added}. */
export const addedId = (addition: Statement<{ id: string } | null>): Statement<string> =>
  mapped(added(addition), ({ id }) => id);

// On the deal that was entered with, where the caller sees it: a record is filed under the brokerage of its deal, and whoever
// guesses an id would write into the trail of another.
const notDone = row(
  'not_done',
  `select app.audit($1, $2, $3, null, (select app.seen_deal(d) from app.narrowed_to() d where d is not null), $4, $5, $6)`,
);

/** Leaves a record of what the caller wanted and did not get, with the id of what it was about: refused by us, or failed on our side. */
export const recordNotDone = (
  action: Action,
  subject: string | null,
  outcome: 'refused' | 'failed',
  why: { readonly status: number; readonly code: string },
  origin: Origin,
): Statement<unknown> => notDone(action, subject, outcome, origin.address, origin.requestId, why);
