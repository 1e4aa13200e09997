/** Deals as their people see them (specification, sections 2.2 and 4.3); which of them one sees, the database decides. */

import { row, rows } from '../../database/statement.ts';

export interface Deal {
  id: string;
  title: string;
  /**
   * The state it is in now: one whose exclusivity has lapsed is listed again. To a buyer whom the exclusivity does not
   * name it is under_offer while it is in exclusivity, diligence or closing.
   */
  state: string;
  /** The brokerage. */
  organization_id: string;
  /** Null, like the two times, also when the exclusivity is none of the caller's business. */
  exclusive_buyer_user_id: string | null;
  exclusivity_granted_at: string | null;
  exclusivity_expires_at: string | null;
  closed_at: string | null;
  created_at: string;
  updated_at: string;
}

/** What the caller is to a deal, the strongest first. */
export const callerRoles = ['broker_assigned', 'exclusive_buyer', 'participant', 'viewer'] as const;
export type CallerRole = (typeof callerRoles)[number];

export interface ListedDeal extends Deal {
  caller_role: CallerRole;
}

/** The stage `g` of a deal `d`, which row-level security shows to those who may know of it. */
export const withStage = 'left join deal_stages g on g.deal_id = d.id';

/** The state that the caller is shown of a deal `d` {@link withStage}. */
export const dealState = 'app.state_now(d.id, coalesce(g.state, d.state))';

/** When a deal `d` {@link withStage} changed last, as far as the caller may know. */
export const dealUpdatedAt = 'greatest(d.updated_at, g.updated_at)';

/** Whether a record `of` a deal can still change: what belongs to a closed deal stays as it is. */
export const onOpenDeal = (of: string): string =>
  `exists (select from deals open where open.id = ${of}.deal_id and open.state <> 'closed')`;

/** The columns of {@link Deal} but `updated_at`, from {@link dealTables}. */
export const dealColumns = `d.id, d.title, ${dealState} as state, d.organization_id,
  x.buyer_user_id as exclusive_buyer_user_id, x.granted_at as exclusivity_granted_at,
  x.expires_at as exclusivity_expires_at, d.closed_at, d.created_at`;

/** The columns of {@link Deal}, from {@link dealTables}. */
export const dealFields = `${dealColumns}, ${dealUpdatedAt} as updated_at`;

// In later states the exclusivity's date may pass: it stays on the record until somebody ends it.
const withExclusivity = `left join exclusivities x on x.deal_id = d.id and x.ended_at is null
    and (x.expires_at > app.now() or g.state <> 'exclusivity' or d.state = 'closed')`;
export const dealTables = `deals d ${withStage} ${withExclusivity}`;

/** What the caller is to deal `d` of {@link dealTables}. */
export const callerRole = `case
    when d.id = any ((select app.deals_acting_as('broker'))::uuid[]) then 'broker_assigned'
    when x.buyer_user_id = (select app.user_id()) and x.expires_at > app.now() then 'exclusive_buyer'
    when d.id = any ((select app.deals_acting_as('seller', 'buyer', 'advisor'))::uuid[]) then 'participant'
    else 'viewer'
  end`;

/**
 * The id `id` when the caller sees that deal, else null. What is looked up by it takes as long for a hidden deal as for one
 * that is not there, however much is on it.
 */
export const seenDeal = (id: string): string => `(select app.seen_deal(${id}))`;

/** One deal, or null when there is none that the caller sees. */
export const deal = row<Deal, [id: string]>(
  'deal',
  `select ${dealFields} from ${dealTables} where d.id = ${seenDeal('$1')}`,
);

/**
 * The deals that the caller sees, newest first, at most 200; of one state, and of the brokerage with this id or slug,
 * where these are given.
 */
export const deals = rows<ListedDeal, [state: string | null, brokerage: string | null]>(
  'deals',
  `select ${dealFields}, ${callerRole} as caller_role
   from (
     select d.id, d.title, d.state, d.organization_id, d.closed_at, d.created_at, d.updated_at
     from deals d ${withStage}
     where ($1::text is null or ${dealState} = $1)
       and ($2::text is null or d.organization_id = (select app.brokerage_named($2)))
     order by d.created_at desc, d.id desc
     limit 200
   ) d ${withStage} ${withExclusivity}
   order by d.created_at desc, d.id desc`,
);
