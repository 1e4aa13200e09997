/**
 * Closing conditions (specification, sections 2.2 and 4.3): their owners, whether they are overdue, and changing them.
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { cut } from '../cut.ts';
import { onOpenDeal, seenDeal } from './deals.ts';
import { knownName, knownPerson, personOnDeal, type Mentioned } from './participants.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export const conditionStatuses = ['open', 'in_progress', 'satisfied', 'waived'] as const;
type ConditionStatus = (typeof conditionStatuses)[number];

export interface ClosingCondition {
  id: string;
  name: string;
  status: ConditionStatus;
  /** Null also when the caller may not know of the person. */
  owner_user_id: string | null;
  /** A date. */
  deadline: string | null;
  completed_at: string | null;
}

/** The maximum number of closing conditions in one list. */
export const mostConditions = 100;

const latest = rows<
  ClosingCondition & { overdue: boolean; has_owner: true | null; owner_person: Mentioned | null },
  [dealId: string]
>(
  'closing_conditions',
  `select c.id, c.name, c.status, c.owner_person ->> 0 as owner_user_id, c.deadline, c.completed_at,
     app.is_overdue(c.status, c.deadline) as overdue,
     case when c.owner_person is null and c.owner_user_id is not null then true end as has_owner, c.owner_person
   from (
     select c.*, ${personOnDeal('$1', 'c.owner_user_id')} as owner_person from closing_conditions c
     where c.deal_id = ${seenDeal('$1')} 
     order by c.status in ('satisfied', 'waived'), c.created_at desc, c.id desc limit ${mostConditions + 1}) c
   order by c.created_at desc, c.id desc`,
);

/**
 * The closing conditions of a deal, latest first, at most {@link mostConditions}, and of more rather those that are not
 * met; `has_owner` marks those whose owner the caller may not know of.
 */
export const closingConditions = (dealId: string) =>
  mapped(latest(dealId), (found) =>
    cut(found, mostConditions, ({ status }) => Number(status === 'satisfied' || status === 'waived')),
  );

interface DealCondition extends ClosingCondition {
  deal_id: string;
  owner_name: string | null;
  /** Whether it has an owner, including one whom the caller may not know of. */
  has_owner: boolean;
  created_at: string;
  /** Whether its deadline has passed and it is not met. */
  overdue: boolean;
  /**
   * The statuses to which the caller can set it now, as its owner or as a broker; empty if they may not change it. Only
   * brokers waive.
   */
  moves: ConditionStatus[];
}

const fields = `c.id, c.deal_id, c.name, c.status, owner.id as owner_user_id, ${knownName('owner')} as owner_name,
  c.owner_user_id is not null as has_owner, c.deadline, c.completed_at, c.created_at,
  app.is_overdue(c.status, c.deadline) as overdue,
  array(select m.to_state from app.moves m
    where m.subject = 'closing_condition' and m.from_state = c.status and ${onOpenDeal('c')}
      and (c.deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
        or ('waived' not in (m.from_state, m.to_state) and c.owner_user_id = (select app.user_id())
          and c.deal_id = any ((select app.deals_acting_as('seller', 'buyer', 'advisor'))::uuid[])))
    order by array_position('{${conditionStatuses.join(',')}}', m.to_state)) as moves`;

const owner = knownPerson('owner', 'c.owner_user_id', 'c.deal_id');

/** The conditions of a deal, at most 500: by deadline, but satisfied and waived ones last. */
export const dealConditions = rows<DealCondition, [dealId: string]>(
  'deal_conditions',
  `select ${fields} from closing_conditions c ${owner} where c.deal_id = $1
   order by c.status in ('satisfied', 'waived'), c.deadline nulls last, c.created_at, c.id limit 500`,
);

/** One condition; null if the caller sees no such condition. */
export const dealCondition = row<DealCondition, [id: string]>(
  'deal_condition',
  `select ${fields} from closing_conditions c ${owner} where c.id = $1`,
);

export interface ConditionInput {
  readonly name: string;
  readonly owner_user_id: string | null;
  /** A date. */
  readonly deadline: string | null;
}

/** Adds a condition and reads it with these columns. */
const adding = (columns: string) => `with c as (
     insert into closing_conditions (deal_id, name, owner_user_id, deadline) values ($3, $4, $5, $6) returning *)
   select ${columns} from c ${owner} ${audited('condition.add', { subject: 'c.id', deal: 'c.deal_id' })}`;

const add = row<DealCondition>('add_condition', adding(fields));

/** Adds a condition to a deal. Denied to everyone but its brokers. */
export const addCondition = (dealId: string, { name, owner_user_id, deadline }: ConditionInput, origin: Origin) =>
  add(...from(origin), dealId, name, owner_user_id, deadline);

const change = row<{ id: string }>(
  'change_condition',
  // The row is locked before it is compared, under the policies of UPDATE. On a closed deal it is updated in any case,
  // so that the trigger refuses it.
  `with held as (
     select c.id, c.deal_id,
       coalesce(given.name, c.name) as name,
       coalesce(given.status, c.status) as status,
       case when $4 ? 'owner_user_id' then given.owner_user_id else c.owner_user_id end as owner_user_id,
       case when $4 ? 'deadline' then given.deadline else c.deadline end as deadline,
       c.name as old_name, c.status as old_status, c.owner_user_id as old_owner, c.deadline as old_deadline, ${onOpenDeal('c')} as is_open
     from closing_conditions c,
       jsonb_to_record($4::jsonb) as given (name text, status text, owner_user_id uuid, deadline date)
     where c.id = $3 for no key update of c),
   compared as (
     select held.*, not is_open or (name, status, owner_user_id, deadline) is distinct from (old_name, old_status, old_owner, old_deadline) as differs
     from held),
   changed as (
     update closing_conditions c set name = n.name, status = n.status, owner_user_id = n.owner_user_id, deadline = n.deadline
     from compared n where c.id = n.id and n.differs
     returning c.id, c.deal_id, c.status,
       array_remove(array[case when n.name <> n.old_name then 'name' end,
         case when n.status <> n.old_status then 'status' end,
         case when n.owner_user_id is distinct from n.old_owner then 'owner' end,
         case when n.deadline is distinct from n.old_deadline then 'deadline' end], null) as fields, n.old_deadline, c.deadline)
   select changed.id from changed
   ${audited('condition.change', {
     details: `jsonb_build_object('changed', changed.fields)
       || case when 'status' = any (changed.fields) then jsonb_build_object('status', changed.status) else '{}' end
       || case when 'deadline' = any (changed.fields) then jsonb_build_object('before', changed.old_deadline, 'deadline', changed.deadline) else '{}' end`,
   })}
   union all select n.id from compared n where not n.differs`,
);

/** Updates the given fields, and writes nothing if none of them differs; false when the caller may not. */
export const changeCondition = (
  id: string,
  input: Partial<ConditionInput & { status: string }>,
  origin: Origin,
): Statement<boolean> => tookPlace(change(...from(origin), id, { ...input }));

const remove = row<{ id: string }>(
  'remove_condition',
  `with gone as (delete from closing_conditions where id = $3 returning id, deal_id)
   select gone.id from gone ${audited('condition.remove', { subject: 'gone.id', deal: 'gone.deal_id' })}`,
);

/** Removes a condition that was added by mistake; false when the caller may not. */
export const removeCondition = (id: string, origin: Origin): Statement<boolean> =>
  tookPlace(remove(...from(origin), id));

/** A condition as the REST API and webhooks return it. */
interface ConditionResource extends ClosingCondition {
  deal_id: string;
  overdue: boolean;
  created_at: string;
  updated_at: string;
}

const resourceFields = `c.id, c.deal_id, c.name, c.status, owner.id as owner_user_id, c.deadline,
  app.is_overdue(c.status, c.deadline) as overdue, c.completed_at, c.created_at, c.updated_at`;

const inOrder = {
  columns: resourceFields,
  tables: `closing_conditions c ${owner}`,
  deal: 'c.deal_id',
  where: '($5::text is null or c.status = $5)',
  key: 'c.created_at',
  type: 'timestamptz',
  id: 'c.id',
  direction: 'desc',
} as const;

/** The conditions of a deal, latest first, paginated; optionally only those of one status. */
export const conditionsOfDeal = listOfDeal<ConditionResource, [status: string | null]>('conditions_of_deal', inOrder);

/** The conditions with these ids that the caller sees. */
export const conditionsByIds = recordsByIds<ConditionResource>('conditions_by_ids', inOrder);

/** One condition of a deal; null if the caller sees no such condition. */
export const conditionOfDeal = row<ConditionResource, [dealId: string, id: string]>(
  'condition_of_deal',
  `select ${resourceFields} from closing_conditions c ${owner} where c.deal_id = $1 and c.id = $2`,
);

const addWithResource = row<ConditionResource>('add_condition_resource', adding(resourceFields));

/** Adds a condition as {@link addCondition} does, and returns it as {@link conditionsOfDeal} does. */
export const addConditionResource = (
  dealId: string,
  { name, owner_user_id, deadline }: ConditionInput,
  origin: Origin,
) => addWithResource(...from(origin), dealId, name, owner_user_id, deadline);
