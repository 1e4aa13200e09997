/** Financing as the web application works on it: amounts as strings, and where each source can move. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { CommitmentStatus, FinancingSource, SourceType } from './financing.ts';
import type { Origin } from '../audit/origin.ts';
import { knownPerson } from '../deals/participants.ts';
import { from, recorded } from '../audit/audited.ts';

export interface SourceOnPage extends Omit<FinancingSource, 'commitment_amount'> {
  /** Whole units of the currency, as a decimal string. */
  commitment_amount: string;
  /** The statuses that the caller can move it to now; none when they may not. */
  moves: CommitmentStatus[];
}

const select = `
  select s.id, s.deal_id, s.source_type, s.source_name, s.commitment_amount::text as commitment_amount, s.currency,
    s.commitment_status, creator.id as created_by, s.created_at, s.updated_at,
    case when s.deal_id = any ((select app.diligence_deals())::uuid[]) then
      array(select m.to_state from app.moves m where m.subject = 'financing_source' and m.from_state = s.commitment_status
        order by array_position('{applied,term_sheet,committed,funded,expired,withdrawn}', m.to_state))
    else '{}'::text[] end as moves
  from financing_sources s ${knownPerson('creator', 's.created_by', 's.deal_id')}`;

/** The sources of a deal that the caller may see, the latest first, at most 500. */
export const sourcesOnPage = rows<SourceOnPage, [dealId: string]>(
  'sources_on_page',
  `${select} where s.deal_id = $1 order by s.created_at desc, s.id desc limit 500`,
);

/** One source, or null when there is none that the caller sees. */
export const sourceOnPage = row<SourceOnPage, [id: string]>('source_on_page', `${select} where s.id = $1`);

const kept = { subject: 'changed.id', deal: 'changed.deal_id' };

const add = row<{ id: string }>(
  'add_financing_source',
  `with changed as (
     insert into financing_sources (deal_id, source_type, source_name, commitment_amount, commitment_status)
     values ($3, $4, $5, $6, $7) returning id, deal_id)
   select changed.id from changed ${recorded('financing.add', kept)}`,
);

export interface NewSource {
  readonly source_type: SourceType;
  readonly source_name: string;
  readonly commitment_amount: string;
  readonly commitment_status: CommitmentStatus;
}

/** Records a source for the caller's side, in the deal's currency; its id. Denied outside of diligence. */
export const addSource = (dealId: string, source: NewSource, origin: Origin): Statement<string> =>
  mapped(
    add(
      ...from(origin),
      dealId,
      source.source_type,
      source.source_name,
      source.commitment_amount,
      source.commitment_status,
    ),
    (made) => made?.id ?? '',
  );

const move = row<{ id: string }>(
  'move_financing_source',
  `with changed as (update financing_sources set commitment_status = $4 where id = $3 returning id, deal_id)
   select changed.id from changed ${recorded('financing.status', kept)}`,
);

/** Moves a source on. False: the caller may change none such. Refused with `move_not_allowed`. */
export const moveSource = (id: string, status: CommitmentStatus, origin: Origin): Statement<boolean> =>
  mapped(move(...from(origin), id, status), (changed) => changed !== null);
