/**
 * Deals as the people on them see them (specification, sections 2.2 and 4.3); the database decides which deals those
 * are. Also the actions on a deal as a whole: opening, editing and moving it.
 */

import { anywhere, type Place, type Placed } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { lastActivityAt } from '../audit/activity.ts';
import { addedId, audited, from, tookPlace, type Origin } from '../audit/audited.ts';

/** The states of a deal in the order of a sale, followed by withdrawn, in which the sale has been given up. */
export const dealStates = [
  'draft',
  'listed',
  'under_offer',
  'exclusivity',
  'diligence',
  'closing',
  'closed',
  'withdrawn',
] as const;
export type DealState = (typeof dealStates)[number];

export interface Deal {
  id: string;
  title: string;
  /**
   * The current state: a deal whose exclusivity has expired is listed again. To a buyer whom the exclusivity does not
   * name, the deal is under_offer while it is in exclusivity, diligence or closing.
   */
  state: DealState;
  /** Id of the brokerage. */
  organization_id: string;
  /** Null, like the two times, without exclusivity and also when the caller may not know of it. */
  exclusive_buyer_user_id: string | null;
  exclusivity_granted_at: string | null;
  exclusivity_expires_at: string | null;
  closed_at: string | null;
  created_at: string;
  updated_at: string;
}

/** The caller's roles on a deal, strongest first. */
export const callerRoles = ['broker_assigned', 'exclusive_buyer', 'participant', 'viewer'] as const;
export type CallerRole = (typeof callerRoles)[number];

export interface ListedDeal extends Deal {
  caller_role: CallerRole;
}

/** Joins the stage `g` of a deal `d`; row-level security shows it only to callers who may know of it. */
export const withStage = 'left join deal_stages g on g.deal_id = d.id';

/** The state of a deal `d` {@link withStage} as shown to the caller. */
export const dealState = 'app.state_now(d.id, coalesce(g.state, d.state))';

/** When a deal `d` {@link withStage} last changed, as far as the caller may know. */
export const dealUpdatedAt = 'greatest(d.updated_at, g.updated_at)';

/** SQL condition that a record `of` a deal can still change: records of a closed deal are final. */
export const onOpenDeal = (of: string): string =>
  `exists (select from deals open where open.id = ${of}.deal_id and open.state <> 'closed')`;

/** The columns of {@link Deal} except `updated_at`, from {@link dealTables}. */
export const dealColumns = `d.id, d.title, ${dealState} as state, d.organization_id,
  x.buyer_user_id as exclusive_buyer_user_id, x.granted_at as exclusivity_granted_at,
  x.expires_at as exclusivity_expires_at, d.closed_at, d.created_at`;

// In later states an exclusivity past its date stays on the record until a person ends it.
const withExclusivity = `left join exclusivities x on x.deal_id = d.id and x.ended_at is null
    and (x.expires_at > app.now() or g.state <> 'exclusivity' or d.state = 'closed')`;
export const dealTables = `deals d ${withStage} ${withExclusivity}`;

/** The caller's role on deal `d` of {@link dealTables}. */
export const callerRole = `case
    when d.id = any ((select app.deals_acting_as('broker'))::uuid[]) then 'broker_assigned'
    when x.buyer_user_id = (select app.user_id()) and x.expires_at > app.now()
      and d.id = any ((select app.deals_acting_as('buyer'))::uuid[]) then 'exclusive_buyer'
    when d.id = any ((select app.deals_acting_as('seller', 'buyer', 'advisor'))::uuid[]) then 'participant'
    else 'viewer'
  end`;

/**
 * SQL for the id `id` if the caller sees that deal, otherwise null. Looking up records by it takes as long for a hidden
 * deal as for a missing one, however many records the deal has.
 */
export const seenDeal = (id: string): string => `(select app.seen_deal(${id}))`;

/**
 * The caller as a person mentioned in a response (`Mentioned` of participants.ts): with their strongest role in a
 * brokerage, or `participant`.
 */
export const dealsCaller = row<{ caller_person: readonly [userId: string, name: string, role: string] }, []>(
  'deals_caller',
  `select array[(select app.user_id())::text, (select u.name from users u where u.id = (select app.user_id())),
     coalesce((select m.role from members m where m.user_id = (select app.user_id()) and m.status = 'active'
       order by array_position('{admin,broker,staff}', m.role) limit 1), 'participant')] as caller_person`,
);

/** The columns of {@link Deal} except `updated_at`, from a row of app.deal_rows() or app.latest_deals(). */
export const sightColumns = (
  seen: string,
): string => `${seen}.id, ${seen}.title, ${seen}.state, ${seen}.organization_id,
  ${seen}.exclusive_buyer_user_id, ${seen}.exclusivity_granted_at, ${seen}.exclusivity_expires_at, ${seen}.closed_at, ${seen}.created_at`;

/** Maximum number of deals in one list. */
export const mostDeals = 200;

/**
 * The deals that the caller sees, newest first: at most {@link mostDeals}, plus one that shows that there are more.
 * Optionally only those of one state, and of the brokerage with this id or slug.
 */
export const deals = rows<
  ListedDeal & { exclusive_buyer_person: readonly [userId: string, name: string, role: string] | null },
  [state: string | null, brokerage: string | null]
>(
  'deals',
  `select ${sightColumns('s')}, s.updated_at, s.caller_role, s.exclusive_buyer_person
   from app.latest_deals($1, $2, ${mostDeals + 1}) s`,
);

const titles = rows<{ title: string; total: number }, [pattern: string | null, limit: number]>(
  'deal_titles',
  'select s.title, s.total from app.titles_in_sight($1, $2) s',
);

/**
 * The distinct titles that contain these words, of the deals that the caller sees, latest deals first: at most `limit`,
 * with the total number.
 */
export const dealTitles = (words: string, limit: number): Statement<{ titles: string[]; total: number }> =>
  mapped(titles(words === '' ? null : anywhere(words), limit), (found) => ({
    titles: found.map(({ title }) => title),
    total: found[0]?.total ?? 0,
  }));

/**
 * The slugs, at most 50, of the brokerages whose deals the caller sees or which the caller administers. The `named`
 * brokerage comes first, as its id if it was named by id.
 */
export const brokeragesOfDeals = rows<{ known: string }, [named: string]>(
  'brokerages_of_deals',
  `select case when b.id::text = $1 then $1 else b.slug end as known from brokerages b
   where b.id = any ((select app.brokerages_of_deals() || app.brokerages_as('admin'))::uuid[]) 
   order by b.id::text <> $1 and b.slug <> $1, b.slug limit 50`,
);

/** The sides a person can be on; an advisor is on the side of the person they advise. */
export const sides = ['broker', 'seller', 'buyer', 'viewer'] as const;
export type Side = (typeof sides)[number];

/** A deal with its business details; its `updated_at` is {@link dealActiveAt}. */
export interface FullDeal extends Deal {
  /** The brokerage's name. */
  organization_name: string;
  /** When the brokerage's logo was uploaded; null if it has none. */
  organization_logo_at: string | null;
  industry: string | null;
  location: string | null;
  summary: string | null;
  /** A decimal string. */
  asking_price: string | null;
  currency: string;
  /** Whether a buyer learns who the seller is only under an active NDA. */
  needs_nda: boolean;
}

/** When a deal `d` {@link withStage}, or any record on it, last changed, as far as the caller may know. */
const dealActiveAt = `greatest(${dealUpdatedAt}, ${lastActivityAt})`;

/** The columns of {@link FullDeal}, from {@link fullDealTables}. */
const fullDealFields = `${dealColumns}, ${dealActiveAt} as updated_at, b.name as organization_name,
  (select l.updated_at from brokerage_logos l where l.brokerage_id = d.organization_id) as organization_logo_at, d.industry, d.location, d.summary,
  trim_scale(d.asking_price) as asking_price, d.currency, d.needs_nda`;

const fullDealTables = `${dealTables} join brokerages b on b.id = d.organization_id`;

/** The caller's side of deal `d`. */
export const callerSide = `case
    when d.id = any ((select app.deals_as('broker'))::uuid[]) then 'broker'
    when d.id = any ((select app.deals_as('seller'))::uuid[]) then 'seller'
    when d.id = any ((select app.deals_as('buyer'))::uuid[]) then 'buyer'
    else 'viewer'
  end`;

/** One deal; null if the caller sees no such deal. */
export const fullDeal = row<FullDeal, [id: string]>(
  'full_deal',
  `select ${fullDealFields} from ${fullDealTables} where d.id = $1`,
);

/** The business details of a deal. */
export interface DealInput {
  readonly title: string;
  readonly industry: string | null;
  readonly location: string | null;
  readonly summary: string | null;
  /** A decimal string. */
  readonly asking_price: string | null;
  readonly currency: string;
  /** Whether a buyer learns who the seller is only under an active NDA. */
  readonly needs_nda: boolean;
}

interface Changed {
  id: string;
}

const open = row<Changed>(
  'open_deal',
  `select opened.id from (
     select app.open_deal($3, $4, $5, $6, $7, $8::numeric, $9, $10, $11) as id offset 0) opened
   ${audited('deal.open', { subject: 'opened.id', deal: 'opened.id' })}`,
);

/**
 * Opens a draft deal with the caller as its broker, or the member with the id `broker`, and returns its id. Denied to
 * everyone but admins and brokers of the brokerage, and to those who choose another broker without being an admin;
 * refused with `not_a_broker` unless that is an active admin or broker.
 */
export function openDeal(
  brokerageId: string,
  input: DealInput,
  origin: Origin,
  broker: string | null = null,
): Statement<string> {
  const { title, industry, location, summary, asking_price, currency, needs_nda } = input;
  const opened = open(
    ...from(origin),
    brokerageId,
    title,
    industry,
    location,
    summary,
    asking_price,
    currency,
    needs_nda,
    broker,
  );
  return addedId(opened);
}

const edit = row<Changed>(
  'edit_deal',
  `with changed as (
     update deals d set
       title = coalesce(given.title, d.title),
       industry = case when $4 ? 'industry' then given.industry else d.industry end,
       location = case when $4 ? 'location' then given.location else d.location end,
       summary = case when $4 ? 'summary' then given.summary else d.summary end,
       asking_price = case when $4 ? 'asking_price' then given.asking_price else d.asking_price end,
       currency = coalesce(given.currency, d.currency),
       needs_nda = coalesce(given.needs_nda, d.needs_nda)
     from (select id, title, industry, location, summary, asking_price, currency, needs_nda from deals where id = $3 for no key update) held,
       jsonb_to_record($4::jsonb) as given (title text, industry text, location text, summary text, asking_price numeric,
       currency text, needs_nda boolean)
     where d.id = held.id
     returning d.id, d.needs_nda, array_remove(array[
       case when d.title <> held.title then 'title' end,
       case when d.industry is distinct from held.industry then 'industry' end,
       case when d.location is distinct from held.location then 'location' end,
       case when d.summary is distinct from held.summary then 'summary' end,
       case when d.asking_price is distinct from held.asking_price then 'asking_price' end,
       case when d.currency <> held.currency then 'currency' end,
       case when d.needs_nda <> held.needs_nda then 'needs_nda' end], null) as fields)
   select changed.id from changed ${audited('deal.edit', {
     deal: 'changed.id',
     details: `jsonb_build_object('changed', changed.fields)
       || case when 'needs_nda' = any (changed.fields) then jsonb_build_object('needs_nda', changed.needs_nda) else '{}' end`,
   })}`,
);

/** Updates the given fields; false when the caller may not. */
export const editDeal = (id: string, input: Partial<DealInput>, origin: Origin): Statement<boolean> =>
  tookPlace(edit(...from(origin), id, { ...input }));

const move = row<Changed>(
  'move_deal',
  // The row is locked before its state is read, so that of two requests at once one finds the deal moved.
  `with held as (select id from deals where id = $3 for no key update),
   asked as (select id, app.may_move(id, $4, $5) as moves from held offset 0),
   changed as (update deals d set state = $4 from asked where d.id = asked.id and asked.moves returning d.id)
   select changed.id from changed
   ${audited('deal.move', { deal: 'changed.id', details: `jsonb_build_object('to', $4::text)` })}
   union all select id from asked where not moves`,
);

/**
 * Moves a deal to another state, and writes nothing if it is there already; false when the caller may not. Refused when the sale cannot go to that state and,
 * unless `confirmed`, when something is missing for closing.
 */
export const moveDeal = (id: string, to: string, confirmed: boolean, origin: Origin): Statement<boolean> =>
  tookPlace(move(...from(origin), id, to, confirmed));

const warnings = row<{ warnings: string[] }, [id: string]>(
  'closing_warnings',
  'select app.closing_warnings($1) as warnings',
);

/** What is missing for closing a deal, one sentence each; only for its brokers. */
export const closingWarnings = (id: string): Statement<string[]> =>
  mapped(warnings(id), (found) => found?.warnings ?? []);

/** A deal as the REST API and webhooks return it. */
export interface DealResource {
  id: string;
  title: string;
  state: DealState;
  organizationId: string;
  industry: string | null;
  location: string | null;
  summary: string | null;
  /** A decimal string. */
  askingPrice: string | null;
  currency: string;
  needsNda: boolean;
  exclusiveBuyerUserId: string | null;
  exclusivityGrantedAt: string | null;
  exclusivityExpiresAt: string | null;
  closedAt: string | null;
  createdAt: string;
  updatedAt: string;
}

const noExclusivity = 'null as "exclusiveBuyerUserId", null as "exclusivityGrantedAt", null as "exclusivityExpiresAt"';
const exclusivityOf = (of: string): string =>
  `${of}.exclusive_buyer_user_id as "exclusiveBuyerUserId", ${of}.exclusivity_granted_at as "exclusivityGrantedAt",
  ${of}.exclusivity_expires_at as "exclusivityExpiresAt"`;

/**
 * The columns of {@link DealResource}. They have the names of the response, so that no row has to be converted: a page
 * holds up to 200.
 */
const resourceFields = (
  of: string,
  exclusivity = exclusivityOf(of),
): string => `${of}.id, ${of}.title, ${of}.state, ${of}.organization_id as "organizationId", ${of}.industry, ${of}.location, ${of}.summary,
  trim_scale(${of}.asking_price) as "askingPrice", ${of}.currency, ${of}.needs_nda as "needsNda", ${exclusivity},
  ${of}.closed_at as "closedAt", ${of}.created_at as "createdAt", ${of}.updated_at as "updatedAt"`;

const forKey = rows<Placed<DealResource>>(
  'deals_for_key',
  `select ${resourceFields('d')}, d.created_at::text as place from app.deals_for_key($1, $2, $3, $4, $5, $6) d`,
);

/** Filters for the list of an API key's deals; null does not filter. */
interface KeyDealFilter {
  /** Words that must all occur in title, industry or location. */
  readonly words: readonly string[] | null;
  readonly state: DealState | null;
  /** RFC 3339; only deals that changed at or after this time. */
  readonly updatedSince: string | null;
}

/** The deals that the calling API key reaches, newest first: the first `limit` after the cursor `after`. */
export const dealsForKey = (
  { words, state, updatedSince }: KeyDealFilter,
  after: Place | null,
  limit: number,
): Statement<Placed<DealResource>[]> => forKey(words?.map(anywhere), state, updatedSince, after?.key, after?.id, limit);

const resourceWhere = (condition: string): string => `select ${resourceFields('d')} from (
     select ${dealColumns}, ${dealUpdatedAt} as updated_at, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda
     from ${dealTables} where ${condition}) d`;
const tagged = `select r.*, md5(r::text) as tag from (${resourceWhere('d.id = $1')}) r`;
const one = row<DealResource & { tag: string }, [id: string]>('deal_by_id', tagged);

/** The deals with these ids that the caller sees, in the form of {@link dealsForKey}. */
export const dealsByIds = rows<DealResource, [ids: readonly string[]]>(
  'deals_by_ids',
  resourceWhere('d.id = any ($1)'),
);

/** A deal and its entity tag, which changes with whatever of it is shown. */
export interface TaggedDeal {
  readonly deal: DealResource;
  readonly tag: string;
}

/** One deal in the form of {@link dealsForKey}; null if the caller sees no such deal. */
export const dealResource = (id: string): Statement<TaggedDeal | null> =>
  mapped(one(id), (found) => {
    if (found === null) return null;
    const { tag, ...deal } = found;
    return { deal, tag };
  });

const hold = row<{ id: string }, [id: string]>('hold_deal', 'select id from deals where id = $1 for no key update');
const requireTag = row<object, [id: string, tags: readonly string[]]>(
  'require_deal_tag',
  `select app.refuse('stale', 'The deal has changed since you read it: get it again, then decide.')
   from (${tagged}) t where not '*' = any ($2::text[]) and not t.tag = any ($2::text[])`,
);

/**
 * Statements that hold a deal until the transaction ends, and refuse with `stale` what follows unless the deal has one
 * of these entity tags; '*' for any. What others changed while the first one waited is seen by the second one.
 */
export const requireDealTag = (id: string, tags: readonly string[]) => [hold(id), requireTag(id, tags)] as const;

const openWithKey = row<DealResource>(
  'open_deal_with_key',
  `select ${resourceFields('opened', noExclusivity)}
   from app.open_deal_with_key($3, $4, $5, $6, $7, $8::numeric, $9, $10, $11) opened
   ${audited('deal.open', { subject: 'opened.id', deal: 'opened.id' })}`,
);

/**
 * Opens a draft deal in the brokerage of the calling API key, whose token has this digest; the broker is the person who
 * issued the token, or the member with the address `broker`. Denied to a key without deals:write, and when that person
 * may not open deals, or not for others as only an admin does; refused with `not_a_broker` as {@link openDeal}.
 */
export const openDealWithKey = (
  digest: Buffer,
  input: Partial<DealInput> & { readonly broker_email?: string },
  origin: Origin,
): Statement<DealResource | null> => {
  const { title, industry, location, summary, asking_price, currency, needs_nda, broker_email } = input;
  return openWithKey(
    ...from(origin),
    digest,
    title,
    industry,
    location,
    summary,
    asking_price,
    currency,
    needs_nda,
    broker_email,
  );
};
