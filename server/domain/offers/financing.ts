/**
 * How a purchase is to be paid for: financing sources and their totals (docs/decisions.md, "People and visibility").
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { cut } from '../cut.ts';
import { seenDeal } from '../deals/deals.ts';
import { added, audited, from, type Origin } from '../audit/audited.ts';
import { changingStatus } from '../audit/status-changes.ts';
import { knownPerson, personOnDeal, type Mentioned } from '../deals/participants.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export const sourceTypes = [
  'sba_7a',
  'sba_504',
  'conventional_senior_debt',
  'mezzanine',
  'seller_note',
  'rollover_equity',
  'cash_buyer_equity',
  'equity_investor_check',
  'earnout_credit',
  'other',
] as const;
export type SourceType = (typeof sourceTypes)[number];

/** In the order in which a source advances; the last two end it. */
export const commitmentStatuses = [
  'identified',
  'applied',
  'term_sheet',
  'committed',
  'funded',
  'expired',
  'withdrawn',
] as const;
export type CommitmentStatus = (typeof commitmentStatuses)[number];

/** The statuses that end a source; an ended source counts in no total. */
export const endedStatuses: readonly CommitmentStatus[] = ['expired', 'withdrawn'];

/** Returns SQL: whether a source in this status counts in totals. */
export const counts = (status: string): string => `${status} <> all ('{${endedStatuses.join(',')}}')`;

export interface FinancingSource {
  id: string;
  deal_id: string;
  source_type: SourceType;
  source_name: string;
  /** Whole units of the currency. */
  commitment_amount: number;
  currency: string;
  commitment_status: CommitmentStatus;
  /** Null also when the caller may not know the creator. */
  created_by: string | null;
  created_at: string;
  updated_at: string;
}

/**
 * SQL for the account of the participant whose side a source belongs to; null when the caller may not know the
 * participant.
 */
const sideOf = (source: string) => `(select p.user_id from participants p where p.id = ${source}.participant_id)`;

const orderOfStatus = (status: string) => `array_position('{${commitmentStatuses.join(',')}}', ${status})`;

// A double holds exactly every whole number that the column accepts.
const fields = (amount: 'float8' | 'text', creator = 'creator.id') => `s.id, s.deal_id, s.source_type, s.source_name,
  s.commitment_amount::${amount} as commitment_amount, s.currency, s.commitment_status, ${creator} as created_by,
  s.created_at, s.updated_at`;
const tables = `financing_sources s ${knownPerson('creator', 's.created_by', 's.deal_id')}`;

/** The maximum number of sources in one list of a tool. */
export const mostListedSources = 200;

const newest = rows<
  FinancingSource & { creator_person: Mentioned | null; side_user_id: string | null; side_person: Mentioned | null },
  [dealId: string]
>(
  'financing_sources',
  `select ${fields('float8', 's.creator_person ->> 0')}, s.creator_person, s.side_user_id, ${personOnDeal('$1', 's.side_user_id')} as side_person
   from (
     select s.*, ${personOnDeal('$1', 's.created_by')} as creator_person, ${sideOf('s')} as side_user_id from financing_sources s
     where s.deal_id = ${seenDeal('$1')}
     order by s.created_at desc, s.id desc
     limit ${mostListedSources + 1}) s
   order by s.created_at desc, s.id desc`,
);

/**
 * Returns the sources of a deal that the caller may see, each with the person whose side it belongs to, latest first,
 * at most {@link mostListedSources}.
 */
export const financingSources = (dealId: string) => mapped(newest(dealId), (found) => cut(found, mostListedSources));

export interface FinancingTotal {
  commitment_status: CommitmentStatus;
  currency: string;
  sources: number;
  /** A decimal string, as a sum may be more than a JSON integer holds exactly. */
  total: string;
}

/**
 * Returns the totals of all sources of a deal that the caller may see, by status and currency, in the order of the
 * statuses.
 */
export const financingTotals = rows<FinancingTotal, [dealId: string]>(
  'financing_totals',
  `select commitment_status, currency, count(*)::int as sources, sum(commitment_amount) as total
   from financing_sources
   where deal_id = ${seenDeal('$1')}
   group by commitment_status, currency
   order by ${orderOfStatus('commitment_status')}, currency`,
);

interface SideTotal extends FinancingTotal {
  /** The person whose side it is; null when the caller may not know the person. */
  side_user_id: string | null;
}

/** Returns the same totals for each side; none when all sources belong to one side. */
export const financingTotalsBySide = rows<SideTotal, [dealId: string]>(
  'financing_totals_by_side',
  `select t.side_user_id, t.commitment_status, t.currency, t.sources, t.total
   from (
     select s.side_user_id, s.commitment_status, s.currency, count(*)::int as sources, sum(s.commitment_amount) as total,
       min(s.side_user_id::text) over () <> max(s.side_user_id::text) over () as are_several
     from (select k.*, ${sideOf('k')} as side_user_id from financing_sources k where k.deal_id = ${seenDeal('$1')}) s
     group by s.side_user_id, s.commitment_status, s.currency) t
   where t.are_several
   order by t.side_user_id, ${orderOfStatus('t.commitment_status')}, t.currency`,
);

/** The total that a buyer's side has recorded of one type of source in one currency. */
export interface FundingRow {
  participant_id: string;
  source_type: SourceType;
  currency: string;
  total: string;
}

/**
 * Returns the totals of the financing sources by buyer's side, type and currency, as far as the caller may see them,
 * without expired and withdrawn sources.
 */
export const funding = rows<FundingRow, [dealId: string]>(
  'funding_by_side',
  `select s.participant_id, s.source_type, s.currency, sum(s.commitment_amount)::text as total
   from financing_sources s
   where s.deal_id = ${seenDeal('$1')} and ${counts('s.commitment_status')}
   group by s.participant_id, s.source_type, s.currency`,
);

interface SourceOnPage extends Omit<FinancingSource, 'commitment_amount'> {
  /** Whole units of the currency, as a decimal string. */
  commitment_amount: string;
  /** The person whose side the source belongs to; null when the caller may not know the person. */
  side_user_id: string | null;
  /** The statuses to which the caller can move the source now; empty when the caller may not move it. */
  moves: CommitmentStatus[];
}

const select = `
  select ${fields('text')}, ${sideOf('s')} as side_user_id,
    case when s.deal_id = any ((select app.diligence_deals())::uuid[]) then
      array(select m.to_state from app.moves m where m.subject = 'financing_source' and m.from_state = s.commitment_status
        order by ${orderOfStatus('m.to_state')})
    else '{}'::text[] end as moves
  from ${tables}`;

/**
 * At most this many sources are shown on a deal's page; its totals include all sources. The web application has the
 * same number.
 */
export const mostSources = 500;

/** Returns the sources of a deal that the caller may see, latest first, at most {@link mostSources}. */
export const sourcesOnPage = rows<SourceOnPage, [dealId: string]>(
  'sources_on_page',
  `${select} where s.deal_id = $1 order by s.created_at desc, s.id desc limit ${mostSources}`,
);

/** Returns one source, or null when there is none that the caller sees. */
export const sourceOnPage = row<SourceOnPage, [id: string]>('source_on_page', `${select} where s.id = $1`);

interface NewSource {
  readonly source_type: SourceType;
  readonly source_name: string;
  /** Whole units of the deal's currency. */
  readonly commitment_amount: number | string;
  readonly commitment_status: CommitmentStatus;
}

interface AddedSource {
  id: string;
  /** The person whose side the source belongs to. */
  side_user_id: string | null;
  side_person: Mentioned | null;
  /** The deal's currency. */
  currency: string;
}

const add = row<AddedSource>(
  'add_financing_source',
  `with changed as (
     insert into financing_sources (deal_id, source_type, source_name, commitment_amount, commitment_status)
     values ($3, $4, $5, $6, $7) returning id, deal_id, currency, participant_id)
   select changed.id, changed.currency, s.side_user_id, ${personOnDeal('$3', 's.side_user_id')} as side_person
   from changed cross join lateral (select ${sideOf('changed')} as side_user_id) s ${audited('financing.add')}`,
);

/** Records a source for the caller's side, in the deal's currency. Rejects with Denied outside of diligence. */
export const addSource = (
  dealId: string,
  { source_type, source_name, commitment_amount, commitment_status }: NewSource,
  origin: Origin,
): Statement<AddedSource> =>
  added(add(...from(origin), dealId, source_type, source_name, commitment_amount, commitment_status));

interface SourceStatusChange {
  id: string;
  deal_id: string;
  commitment_status: CommitmentStatus;
  updated_at: string;
}

const move = row<SourceStatusChange>(
  'move_financing_source',
  changingStatus({ table: 'financing_sources', status: 'commitment_status', action: 'financing.status' }),
);

/**
 * Moves a source to a status. A source that already has the status stays unchanged, and no change is recorded. Refused
 * with `move_not_allowed`; rejects with Denied when there is no such source that the caller may change.
 */
export const moveSource = (
  id: string,
  status: CommitmentStatus,
  origin: Origin,
): Statement<SourceStatusChange | null> => move(...from(origin), id, status);

/** A source with its amount as a decimal string, as the REST API and webhooks return it. */
type SourceResource = Omit<SourceOnPage, 'side_user_id' | 'moves'>;

const inOrder = {
  columns: fields('text'),
  tables,
  deal: 's.deal_id',
  key: 's.created_at',
  type: 'timestamptz',
  id: 's.id',
  direction: 'desc',
} as const;

/** The sources of a deal that the caller may see, latest first, in pages. */
export const sourcesOfDeal = listOfDeal<SourceResource>('sources_of_deal', inOrder);

/** Returns the sources with these ids that the caller sees. */
export const sourcesByIds = recordsByIds<SourceResource>('sources_by_ids', inOrder);
