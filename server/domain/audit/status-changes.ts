/** Changes of a record's status by people on a deal, where a change that is asked for once more changes nothing. */

import { onOpenDeal } from '../deals/deals.ts';
import type { DealAction } from './actions.ts';
import { audited } from './audited.ts';

interface StatusChange {
  readonly table: 'findings' | 'financing_sources';
  /** The column of the status. */
  readonly status: string;
  /** SQL: what differs beside the status, of record `r`, and what else is set. */
  readonly also?: { readonly differs: string; readonly set: string };
  readonly action: DealAction;
}

/**
 * The statement that gives the record `$3` the status `$4`, audited as `action`, and answers its id, deal_id, status and updated_at; its first two
 * parameters are those of `from` (audited.ts). A record of which nothing differs stays as it is, and no change is recorded. Denied where
 * there is none that the caller may change.
 */
export function changingStatus({ table, status, also, action }: StatusChange): string {
  const fields = `id, deal_id, ${status}, updated_at`;
  // Locked before it is compared, by the policies of an update: who may not change it is denied also where nothing differs. On a closed deal it is
  // updated all the same, which the trigger refuses.
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
