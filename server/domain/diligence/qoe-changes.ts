/** What is changed in a QoE workspace: the checklist, normalizations, and whom a broker lets in. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { AdjustmentCategory } from './normalizations.ts';
import type { Origin } from '../audit/origin.ts';
import type { ChecklistRow } from './qoe.ts';
import { from, recorded } from '../audit/audited.ts';

const kept = { subject: 'changed.id', deal: 'changed.deal_id' };
const checklistFields = 'changed.id, changed.status, changed.completed_at, changed.category, changed.title';

const addRow = row<ChecklistRow>(
  'add_checklist_row',
  `with changed as (
     insert into qoe_checklist (deal_id, category, title, position)
     select $3, $4, $5, coalesce(max(position) + 1, 0) from qoe_checklist where deal_id = $3
     returning id, deal_id, status, completed_at, category, title)
   select ${checklistFields} from changed ${recorded('qoe.checklist.add', kept)}`,
);

/** Adds a row at the end of the checklist. Denied to all but editors. */
export const addChecklistRow = (dealId: string, category: string, title: string, origin: Origin) =>
  addRow(...from(origin), dealId, category, title);

const setStatus = row<ChecklistRow>(
  'set_checklist_status',
  `with changed as (
     update qoe_checklist set status = $4 where id = $3
     returning id, deal_id, status, completed_at, category, title)
   select ${checklistFields} from changed
   ${recorded('qoe.checklist.update', { ...kept, details: `jsonb_build_object('status', $4::text)` })}`,
);

/** Says how far a row of the checklist is; null when the caller may not. */
export const setChecklistStatus = (id: string, status: ChecklistRow['status'], origin: Origin) =>
  setStatus(...from(origin), id, status);

const add = row<{ id: string }>(
  'add_normalization',
  `with changed as (
     insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, rationale)
     values ($3, $4, $5, $6, $7) returning id, deal_id)
   select changed.id from changed ${recorded('qoe.normalization.add', kept)}`,
);

export interface NormalizationGiven {
  readonly period_label: string;
  readonly adjustment_category: AdjustmentCategory;
  /** A decimal string of at most 40 characters, all of whose decimals are kept. */
  readonly adjustment_amount: string;
  readonly rationale: string | null;
}

/** Adds a normalization; its id. Denied to all but editors. */
export const addNormalization = (dealId: string, given: NormalizationGiven, origin: Origin): Statement<string> =>
  mapped(
    add(
      ...from(origin),
      dealId,
      given.period_label,
      given.adjustment_category,
      given.adjustment_amount,
      given.rationale,
    ),
    (made) => made?.id ?? '',
  );

const found = (statement: Statement<unknown>): Statement<boolean> => mapped(statement, (changed) => changed !== null);

const remove = row<{ id: string }>(
  'remove_normalization',
  `with changed as (delete from normalizations where id = $3 returning id, deal_id)
   select changed.id from changed ${recorded('qoe.normalization.remove', kept)}`,
);

/** Takes a normalization out; whether the caller may. */
export const removeNormalization = (id: string, origin: Origin) => found(remove(...from(origin), id));

const place = { subject: 'changed.participant_id', deal: 'changed.deal_id' };

const admit = row<{ participant_id: string }>(
  'admit_to_qoe',
  `with changed as (
     insert into qoe_workspace_members (deal_id, participant_id, role) values ($3, $4, $5)
     on conflict (deal_id, participant_id) do update set role = excluded.role
     returning deal_id, participant_id)
   select changed.participant_id from changed
   ${recorded('qoe.admit', { ...place, details: `jsonb_build_object('role', $5::text)` })}`,
);

/** Lets somebody of the deal in, or gives them another role. Denied to all but brokers; refused for who cannot be let in. */
export const admitToQoe = (dealId: string, participantId: string, role: 'reader' | 'editor', origin: Origin) =>
  found(admit(...from(origin), dealId, participantId, role));

const dismiss = row<{ participant_id: string }>(
  'dismiss_from_qoe',
  `with changed as (
     delete from qoe_workspace_members where deal_id = $3 and participant_id = $4 returning deal_id, participant_id)
   select changed.participant_id from changed ${recorded('qoe.dismiss', place)}`,
);

/** Takes somebody's place in the workspace; false when they have none or the caller may not. */
export const dismissFromQoe = (dealId: string, participantId: string, origin: Origin) =>
  found(dismiss(...from(origin), dealId, participantId));
