/**
 * Findings of diligence, each belonging to the side that recorded it (docs/decisions.md, "People and visibility"), with
 * their status, comments and history.
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { cut } from '../cut.ts';
import { onOpenDeal, seenDeal } from '../deals/deals.ts';
import { addedId, audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { changingStatus } from '../audit/status-changes.ts';
import {
  canOpenFinding,
  knownName,
  knownPerson,
  mentioned,
  personOnDeal,
  seesDeal,
  type Mentioned,
} from '../deals/participants.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export const severities = ['critical', 'major', 'minor', 'informational'] as const;
export type Severity = (typeof severities)[number];

export const findingStatuses = ['open', 'mitigated', 'accepted', 'resolved'] as const;
export type FindingStatus = (typeof findingStatuses)[number];

export interface Finding {
  id: string;
  deal_id: string;
  category: string;
  title: string;
  description: string | null;
  severity: Severity;
  status: FindingStatus;
  status_notes: string | null;
  /** Null, like every other person in this file, when the caller may not see the person on the deal. */
  owner_user_id: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
}

export interface FindingComment {
  id: string;
  body: string;
  created_by: string | null;
  created_at: string;
}

/** A change of a finding's status; without `from_status`, its creation. */
export interface FindingChange {
  from_status: FindingStatus | null;
  to_status: FindingStatus;
  notes: string | null;
  changed_by: string | null;
  changed_at: string;
}

const fieldsWith = (owner: string, creator: string) => `f.id, f.deal_id, f.category, f.title, f.description, f.severity,
  f.status, f.status_notes, ${owner} as owner_user_id, ${creator} as created_by, f.created_at, f.updated_at`;
const fields = fieldsWith('owner.id', 'creator.id');

const commentCount = `(select count(*)::int from finding_comments c where c.finding_id = f.id) as comment_count`;

const tables = `findings f
  ${knownPerson('owner', 'f.owner_user_id', 'f.deal_id')}
  ${knownPerson('creator', 'f.created_by', 'f.deal_id')}`;

interface PeopleOfFinding {
  owner_person: Mentioned | null;
  creator_person: Mentioned | null;
}

const people = `${mentioned('owner')}, ${mentioned('creator')}`;

/** The maximum number of findings in one list of a tool. */
export const mostListedFindings = 200;

const newest = rows<
  Finding & PeopleOfFinding & { comment_count: number },
  [dealId: string, category: string | null, severity: Severity | null, status: FindingStatus | null]
>(
  'findings',
  `select ${fieldsWith('f.owner_person ->> 0', 'f.creator_person ->> 0')}, f.owner_person, f.creator_person,
     ${commentCount}
   from (
     select f.*, ${personOnDeal('$1', 'f.owner_user_id')} as owner_person, ${personOnDeal('$1', 'f.created_by')} as creator_person
     from findings f
     where f.deal_id = ${seenDeal('$1')} and ($2::text is null or lower(f.category) = lower($2)) and ($3::text is null or f.severity = $3)
       and ($4::text is null or f.status = $4)
     order by f.created_at desc, f.id desc
     limit ${mostListedFindings + 1}) f
   order by f.created_at desc, f.id desc`,
);

/**
 * The findings on a deal that the caller may see, newest first, at most {@link mostListedFindings}; null filters match
 * everything.
 */
export const findings = (
  dealId: string,
  category: string | null,
  severity: Severity | null,
  status: FindingStatus | null,
) => mapped(newest(dealId, category, severity, status), (found) => cut(found, mostListedFindings));

/**
 * The categories of the findings on a deal that the caller may see, at most 50; first the category `named`, ignoring
 * case.
 */
export const findingCategories = rows<{ known: string }, [dealId: string, named: string]>(
  'finding_categories',
  `select category as known from findings where deal_id = ${seenDeal('$1')}
   group by category order by lower(category) <> lower($2), category limit 50`,
);

/** The finding with this id if the caller may see it, otherwise null. */
export const finding = row<Finding & PeopleOfFinding & { comment_count: number }, [id: string]>(
  'finding',
  `select ${fields}, ${commentCount}, ${people} from ${tables} where f.id = $1`,
);

/** The maximum number of characters of all comments, or of all notes, returned with a finding. */
const mostCharacters = 256_000;

/** SQL for at most `most` latest rows about finding `f`, with at most {@link mostCharacters}. */
const latest = (table: string, at: string, text: string, most: number) => `
  select * from (
    select l.*, sum(length(coalesce(l.${text}, ''))) over (order by l.${at} desc, l.id desc) as characters
    from ${table} l where l.finding_id = f.id order by l.${at} desc, l.id desc limit ${most}) latest
  where latest.characters <= ${mostCharacters}`;

/** The latest comments on a finding, oldest first: at most 200, with at most {@link mostCharacters}. */
export const findingComments = rows<FindingComment & { author_person: Mentioned | null }, [findingId: string]>(
  'finding_comments',
  `select c.id, c.body, author.id as created_by, c.created_at, ${mentioned('author')}
   from findings f cross join lateral (${latest('finding_comments', 'created_at', 'body', 200)}) c
   ${knownPerson('author', 'c.created_by', 'f.deal_id')}
   where f.id = $1 order by c.created_at, c.id`,
);

/** The latest changes of a finding, oldest first: at most 200, with at most {@link mostCharacters}. */
export const findingChanges = rows<FindingChange & { author_person: Mentioned | null }, [findingId: string]>(
  'finding_changes',
  `select h.from_status, h.to_status, h.notes, author.id as changed_by, h.changed_at, ${mentioned('author')}
   from findings f cross join lateral (${latest('finding_changes', 'changed_at', 'notes', 200)}) h
   ${knownPerson('author', 'h.changed_by', 'f.deal_id')}
   where f.id = $1 order by h.changed_at, h.id`,
);

/**
 * A finding in a list. Comments and history are loaded when a person opens the finding, as their total size has no
 * limit.
 */
interface ListedFinding extends Finding {
  owner_name: string | null;
  created_by_name: string | null;
  comment_count: number;
}

/** A finding with its latest comments and changes; `comment_count` counts all comments. */
interface FindingOnPage extends ListedFinding {
  comments: (FindingComment & { created_by_name: string | null })[];
  history: (Omit<FindingChange, 'changed_by'> & { changed_by_name: string | null })[];
  /** The people who can become its owner: they can open it, and its side may know of them. */
  owners: string[];
}

const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const named = `${fields}, ${knownName('owner')} as owner_name, ${knownName('creator')} as created_by_name`;

/** The maximum number of findings on a deal's page. The pages use the same number. */
export const mostFindings = 500;

/** The findings of a deal that the caller may see, at most {@link mostFindings}: open ones first, then by severity. */
export const findingsOnPage = rows<ListedFinding, [dealId: string]>(
  'findings_on_page',
  `select ${named}, ${commentCount} from ${tables} where f.deal_id = $1
   order by f.status <> 'open', array_position('{${severities.join(',')}}', f.severity), f.created_at desc, f.id desc
   limit ${mostFindings}`,
);

const select = `
  select ${named}, ${commentCount},
    coalesce((select json_agg(json_build_object('id', c.id, 'body', c.body, 'created_by', u.id,
        'created_by_name', ${knownName('u')}, 'created_at', ${instant('c.created_at')}) order by c.created_at, c.id)
      from (${latest('finding_comments', 'created_at', 'body', 500)}) c
      ${knownPerson('u', 'c.created_by', 'f.deal_id')}), '[]') as comments,
    coalesce((select json_agg(json_build_object('from_status', h.from_status, 'to_status', h.to_status, 'notes', h.notes,
        'changed_by_name', ${knownName('u')}, 'changed_at', ${instant('h.changed_at')}) order by h.changed_at, h.id)
      from (${latest('finding_changes', 'changed_at', 'notes', 200)}) h
      ${knownPerson('u', 'h.changed_by', 'f.deal_id')}), '[]') as history,
    array(select p.user_id from participants p left join participants advised on advised.id = p.advises
      where p.deal_id = f.deal_id and ${seesDeal}
        and ${canOpenFinding('array[f.participant_id]')}
        and app.side_knows(f.participant_id, p.user_id)) as owners
  from ${tables}`;

/** The finding with this id if the caller may see it, otherwise null. */
export const findingOnPage = row<FindingOnPage, [id: string]>('finding_on_page', `${select} where f.id = $1`);

interface NewFinding {
  readonly category: string;
  readonly title: string;
  readonly description: string | null;
  readonly severity: Severity;
  readonly owner_user_id: string | null;
}

const add = row<{ id: string }>(
  'add_finding',
  `with changed as (
     insert into findings (deal_id, category, title, description, severity, owner_user_id)
     values ($3, $4, $5, $6, $7, $8) returning id, deal_id)
   select changed.id from changed ${audited('finding.add')}`,
);

/**
 * Records a finding for the caller's side; returns its id. Refused with `owner_takes_no_part`; rejects with Denied
 * outside of diligence.
 */
export const addFinding = (
  dealId: string,
  { category, title, description, severity, owner_user_id }: NewFinding,
  origin: Origin,
): Statement<string> => addedId(add(...from(origin), dealId, category, title, description, severity, owner_user_id));

interface FindingStatusChange {
  id: string;
  deal_id: string;
  status: FindingStatus;
  updated_at: string;
}

const setStatus = row<FindingStatusChange>(
  'set_finding_status',
  changingStatus({
    table: 'findings',
    status: 'status',
    also: { differs: '($5::text is not null and r.status_notes is distinct from $5)', set: 'status_notes = $5' },
    action: 'finding.status',
  }),
);

/**
 * Sets a finding's status, with notes on the change. If it already has this status and these notes (or no notes are
 * given), it stays unchanged and no change is recorded. Rejects with Denied when there is no such finding that the
 * caller may change.
 */
export const setFindingStatus = (
  id: string,
  status: FindingStatus,
  notes: string | null,
  origin: Origin,
): Statement<FindingStatusChange | null> => setStatus(...from(origin), id, status, notes);

const assign = row<{ id: string }>(
  'assign_finding',
  // Locked and compared as a change of a condition is.
  `with held as (
     select f.id, f.deal_id, f.owner_user_id is distinct from $4 or not ${onOpenDeal('f')} as differs
     from findings f where f.id = $3 for no key update),
   changed as (
     update findings f set owner_user_id = $4 from held where f.id = held.id and held.differs returning f.id, f.deal_id)
   select changed.id from changed ${audited('finding.assign')}
   union all select held.id from held where not held.differs`,
);

/**
 * Makes this person the owner of a finding, or nobody, and writes nothing if they are already; false when the caller
 * may not change the finding. Refused with `owner_takes_no_part`, `owner_cannot_open_finding` and
 * `owner_not_known_to_buyer`.
 */
export const assignFinding = (id: string, ownerId: string | null, origin: Origin): Statement<boolean> =>
  tookPlace(assign(...from(origin), id, ownerId));

const comment = row<{ id: string; deal_id: string }>(
  'add_finding_comment',
  `with added as (insert into finding_comments (finding_id, body) values ($3, $4) returning id, finding_id),
   changed as (select f.id, f.deal_id, added.id as comment_id from added join findings f on f.id = added.finding_id)
   select changed.comment_id as id, changed.deal_id from changed ${audited('finding.comment')}`,
);

/**
 * Adds a comment to a finding; returns the comment's id and the deal's. Rejects with Denied when there is no such
 * finding that the caller may comment on.
 */
export const addFindingComment = (
  findingId: string,
  body: string,
  origin: Origin,
): Statement<{ id: string; deal_id: string } | null> => comment(...from(origin), findingId, body);

const inOrder = {
  columns: `${fields}, ${commentCount}`,
  tables,
  deal: 'f.deal_id',
  where: `($5::text is null or lower(f.category) = lower($5)) and ($6::text is null or f.severity = $6) and ($7::text is null or f.status = $7)`,
  key: 'f.created_at',
  type: 'timestamptz',
  id: 'f.id',
  direction: 'desc',
} as const;

/** The findings on a deal that the caller may see, newest first, in pages; null filters match everything. */
export const findingsOfDeal = listOfDeal<
  Finding & { comment_count: number },
  [category: string | null, severity: Severity | null, status: FindingStatus | null]
>('findings_of_deal', inOrder);

/** The findings with these ids that the caller may see. */
export const findingsByIds = recordsByIds<Finding & { comment_count: number }>('findings_by_ids', inOrder);
