/** The quality-of-earnings checklist of a deal (specification, sections 2.2 and 4.3). */

import { row, rows } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';
import { audited, from, type Origin } from '../audit/audited.ts';
import { changingStatus } from '../audit/status-changes.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export const checklistStatuses = ['not_started', 'in_progress', 'completed', 'not_applicable'] as const;

export interface ChecklistRow {
  id: string;
  status: (typeof checklistStatuses)[number];
  completed_at: string | null;
  category: string;
  title: string;
}

/** The checklist of a deal, in its own order; `category` is optional and ignores case. */
export const checklist = rows<ChecklistRow, [dealId: string, category: string | null]>(
  'qoe_checklist',
  `select id, status, completed_at, category, title from qoe_checklist
   where deal_id = ${seenDeal('$1')} and ($2::text is null or lower(category) = lower($2))
   order by position, id`,
);

/** The categories of a deal's checklist, at most 50. */
export const checklistCategories = rows<{ known: string }, [dealId: string]>(
  'checklist_categories',
  `select distinct category as known from qoe_checklist where deal_id = ${seenDeal('$1')} order by category limit 50`,
);

const addRow = row<ChecklistRow>(
  'add_checklist_row',
  `with changed as (
     insert into qoe_checklist (deal_id, category, title, position)
     select $3, $4, $5, coalesce(max(position) + 1, 0) from qoe_checklist where deal_id = $3
     returning id, deal_id, status, completed_at, category, title)
   select changed.id, changed.status, changed.completed_at, changed.category, changed.title from changed ${audited('qoe.checklist.add')}`,
);

/** Appends a row to the checklist. Denied to all but editors. */
export const addChecklistRow = (dealId: string, category: string, title: string, origin: Origin) =>
  addRow(...from(origin), dealId, category, title);

const setStatus = row<{ id: string }>(
  'set_checklist_status',
  changingStatus({ table: 'qoe_checklist', status: 'status', action: 'qoe.checklist.update' }),
);

/** Sets the status of a checklist row, and writes nothing if it has that status; Denied if the caller may not change it. */
export const setChecklistStatus = (id: string, status: ChecklistRow['status'], origin: Origin) =>
  setStatus(...from(origin), id, status);

/** A row of the checklist; null if the caller sees no such row. */
export const checklistRow = row<ChecklistRow, [id: string]>(
  'checklist_row',
  'select id, status, completed_at, category, title from qoe_checklist where id = $1',
);

const inOrder = {
  columns: 'q.id, q.status, q.completed_at, q.category, q.title',
  tables: 'qoe_checklist q',
  deal: 'q.deal_id',
  where: '($5::text is null or lower(q.category) = lower($5))',
  key: 'q.position',
  type: 'int',
  id: 'q.id',
  direction: 'asc',
} as const;

/** The checklist of a deal, in its own order, in pages; `category` is optional. */
export const checklistOfDeal = listOfDeal<ChecklistRow, [category: string | null]>('checklist_of_deal', inOrder);

/** The checklist rows with these ids that the caller may see. */
export const checklistByIds = recordsByIds<ChecklistRow>('checklist_by_ids', inOrder);
