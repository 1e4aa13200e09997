/** Findings as the web application works on them: with names, comments and history in one answer. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Finding, FindingChange, FindingComment, FindingStatus, NewFinding } from './findings.ts';
import type { Origin } from '../audit/origin.ts';
import { knownPerson } from '../deals/participants.ts';
import { from, recorded } from '../audit/audited.ts';

export interface FindingOnPage extends Finding {
  owner_name: string | null;
  created_by_name: string | null;
  comments: (FindingComment & { created_by_name: string | null })[];
  history: (Omit<FindingChange, 'changed_by'> & { changed_by_name: string | null })[];
}

const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const select = `
  select f.id, f.deal_id, f.category, f.title, f.description, f.severity, f.status, f.status_notes, owner.id as owner_user_id,
    owner.name as owner_name, creator.id as created_by, creator.name as created_by_name, f.created_at, f.updated_at,
    coalesce((select json_agg(json_build_object('id', c.id, 'body', c.body, 'created_by', u.id,
        'created_by_name', u.name, 'created_at', ${instant('c.created_at')}) order by c.created_at, c.id)
      from (select * from finding_comments c where c.finding_id = f.id order by c.created_at desc, c.id desc limit 500) c
      ${knownPerson('u', 'c.created_by', 'f.deal_id')}), '[]') as comments,
    coalesce((select json_agg(json_build_object('from_status', h.from_status, 'to_status', h.to_status, 'notes', h.notes,
        'changed_by_name', u.name, 'changed_at', ${instant('h.changed_at')}) order by h.changed_at, h.id)
      from (select * from finding_changes h where h.finding_id = f.id order by h.changed_at desc, h.id desc limit 200) h
      ${knownPerson('u', 'h.changed_by', 'f.deal_id')}), '[]') as history
  from findings f
  ${knownPerson('owner', 'f.owner_user_id', 'f.deal_id')}
  ${knownPerson('creator', 'f.created_by', 'f.deal_id')}`;

/** The findings of a deal that the caller may see, open and severe ones first, at most 500. */
export const findingsOnPage = rows<FindingOnPage, [dealId: string]>(
  'findings_on_page',
  `${select} where f.deal_id = $1
   order by f.status <> 'open', array_position('{critical,major,minor,informational}', f.severity), f.created_at desc, f.id desc
   limit 500`,
);

/** One finding, or null when there is none that the caller sees. */
export const findingOnPage = row<FindingOnPage, [id: string]>('finding_on_page', `${select} where f.id = $1`);

const kept = { subject: 'changed.id', deal: 'changed.deal_id' };

const add = row<{ id: string }>(
  'add_finding',
  `with changed as (
     insert into findings (deal_id, category, title, description, severity, owner_user_id)
     values ($3, $4, $5, $6, $7, $8) returning id, deal_id)
   select changed.id from changed ${recorded('finding.add', kept)}`,
);

/** Records a finding for the caller's side; its id. Refused and denied as `createFinding` is. */
export const addFinding = (finding: NewFinding, origin: Origin): Statement<string> =>
  mapped(
    add(
      ...from(origin),
      finding.dealId,
      finding.category,
      finding.title,
      finding.description,
      finding.severity,
      finding.ownerUserId,
    ),
    (made) => made?.id ?? '',
  );

const setStatus = row<{ id: string }>(
  'set_finding_status',
  `with changed as (update findings set status = $4, status_notes = $5 where id = $3 returning id, deal_id)
   select changed.id from changed ${recorded('finding.status', kept)}`,
);

/** Gives a finding another status, with notes. False: the caller may change none such. */
export const setFindingStatus = (
  id: string,
  status: FindingStatus,
  notes: string | null,
  origin: Origin,
): Statement<boolean> => mapped(setStatus(...from(origin), id, status, notes), (changed) => changed !== null);

const comment = row<{ id: string }>(
  'add_finding_comment',
  `with added as (insert into finding_comments (finding_id, body) values ($3, $4) returning finding_id),
   changed as (select f.id, f.deal_id from added join findings f on f.id = added.finding_id)
   select changed.id from changed ${recorded('finding.comment', kept)}`,
);

/** Adds a comment. Denied where the caller takes no part in the diligence. */
export const addFindingComment = (id: string, body: string, origin: Origin): Statement<boolean> =>
  mapped(comment(...from(origin), id, body), (changed) => changed !== null);
