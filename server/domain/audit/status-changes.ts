/** Changes of a record's status by people on a deal. Repeating a change has no effect. */

import { onOpenDeal } from '../deals/deals.ts';
import type { DealAction } from './actions.ts';
import { audited } from './audited.ts';

interface StatusChange {
  readonly table: 'findings' | 'financing_sources' | 'qoe_checklist';
  /** The column of the status. */
  readonly status: string;
  /** SQL: a further condition for an update of record `r`, and a further assignment. */
  readonly also?: { readonly differs: string; readonly set: string };
  readonly action: DealAction;
}

/**
 * SQL that sets the status of record `$3` to `$4`, audits it as `action`, and returns id, deal_id, status and
 * updated_at; its first two parameters are those of `from` (audited.ts). A record that would not differ stays
 * unchanged, and no change is recorded. Denied where there is no such record that the caller may change.
 */
export function changingStatus({ table, status, also, action }: StatusChange): string {
  const fields = `id, deal_id, ${status}, updated_at`;
  // Locks the record before comparing, under the policies for updates, so that a caller who may not change it is denied
  // even where nothing differs. On a closed deal it is updated even then, so that the trigger refuses.
  return `with held as (
     select ${fields}, r.${status} <> $4 ${also ? `or ${also.differs} ` : ''}or not ${onOpenDeal('r')} as differs
     from ${table} r where id = $3 for no key update),
   changed as (
     update ${table} r set ${status} = $4${also ? `, ${also.set}` : ''} from held where r.id = held.id and held.differs
     returning r.id, r.deal_id, r.${status}, r.updated_at),
   recorded as (select changed.* from changed ${audited(action, { details: `jsonb_build_object('status', $4::text)` })}),
   found as (select * from recorded union all select ${fields} from held where not differs)
   select app.or_denied(found.id) as id, found.deal_id, found.${status}, found.updated_at
   from (values (1)) one left join found on true`;
}
