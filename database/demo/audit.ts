/** The audit records of what people did in the web application. */

import type { Action } from '../../server/domain/audit/actions.ts';
import type { RowCollector } from './row-collector.ts';

interface Done {
  readonly user_id: string;
  readonly brokerage_id: string | null;
  readonly deal_id?: string;
  readonly action: Action;
  readonly subject_id: string;
}

/** Adds an audit record of something done at that time. */
export function audit(
  { collector }: { readonly collector: RowCollector },
  at: Date,
  { user_id, brokerage_id, deal_id, action, subject_id }: Done,
  details: Readonly<Record<string, unknown>> = {},
): void {
  const what = { brokerage_id, deal_id: deal_id ?? null, user_id, action, subject_id, outcome: 'done', details };
  collector.add('audit_records', at, { at, address: '203.0.113.24', ...what });
}
