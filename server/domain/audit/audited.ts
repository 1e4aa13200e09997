/** Changes that leave a record of themselves: the change and its record in the audit trail are one statement. */

import type { Value } from '../../database/statement.ts';
import type { Origin } from './origin.ts';

interface Recorded {
  /** SQL for the id of what was changed, and of its deal, in terms of what stands before. */
  readonly subject: string;
  readonly deal: string;
  /** SQL for a jsonb of what else to keep: never a text that somebody wrote, and no amount. */
  readonly details?: string;
}

/**
 * To stand at the end of `from changed`: a record of `action` for each row. The statement's first two parameters are
 * those of {@link from}.
 */
export const recorded = (action: string, { subject, deal, details = `'{}'` }: Recorded): string =>
  `cross join lateral app.audit('${action}', (${subject})::text, 'done', null, ${deal}, $1, $2, ${details}) as recorded`;

/** The parameters with which every recorded change begins. */
export const from = ({ address, requestId }: Origin): [address: Value, requestId: Value] => [address, requestId];
