/** What changed, in the order in which it was committed: for other systems that follow (081_change_events.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';

const publish = row<{ moved: boolean; waits: boolean }, []>(
  'publish_changes',
  'select moved, waits from app.publish_changes()',
);

/**
 * What has been committed by now, for readers of the stream: whether there is anything new, and whether more must wait until transactions that are
 * under way have ended. Nobody has entered.
 */
export const publishChanges = (): Statement<{ moved: boolean; waits: boolean }> =>
  mapped(publish(), (found) => found ?? { moved: false, waits: false });

const purge = row<{ deleted: number }, []>('purge_changes', 'select app.purge_changes() as deleted');

/** Deletes what changed more than 31 days ago, so many at a time; how many these were. */
export const purgeChanges = (): Statement<number> => mapped(purge(), (found) => found?.deleted ?? 0);

/** Kinds of records, each with how its changes are called: a closed list, which docs/rest.md explains. */
export const changesOf = {
  contact: ['created', 'updated', 'archived', 'restored', 'removed'],
  deal: ['created', 'updated', 'admitted'],
  participant: ['created', 'updated'],
  nda: ['created', 'updated'],
  offer: ['created', 'updated'],
  question: ['created', 'updated'],
  document: ['created', 'updated', 'removed'],
  production_document: ['created', 'updated', 'removed'],
  qoe_checklist_item: ['created', 'updated', 'removed'],
  accounting_snapshot: ['created', 'updated'],
  normalization: ['created', 'removed'],
  closing_condition: ['created', 'updated', 'removed'],
  finding: ['created', 'updated'],
  financing_source: ['created', 'updated'],
} as const satisfies Record<string, readonly string[]>;

export type ObjectType = keyof typeof changesOf;
export const objectTypes = Object.keys(changesOf) as readonly ObjectType[];
/** `contact.created` and its like. */
export type EventType = { [Type in ObjectType]: `${Type}.${(typeof changesOf)[Type][number]}` }[ObjectType];
/** Every type of event, such as "deal.updated". */
export const eventTypes: readonly string[] = Object.entries(changesOf).flatMap(([object, changes]) =>
  changes.map((change) => `${object}.${change}`),
);

export interface ChangeEvent {
  id: string;
  /** One of {@link eventTypes}. */
  type: string;
  objectType: ObjectType;
  objectId: string;
  dealId: string | null;
  occurredAt: string;
}

/** A number in the stream, as text, and the history of the database that it is of. */
export interface PlaceInStream {
  readonly seq: string;
  readonly history: string;
}

interface ChangesRead {
  readonly events: (ChangeEvent & { readonly seq: string })[];
  /** Where to go on from, whatever was left out for the caller. */
  readonly reached: PlaceInStream;
  /** When it was read: of the database's clock. */
  readonly now: string;
  readonly hasMore: boolean;
  /** Whether some of what changed behind the number has been deleted. */
  readonly isLost: boolean;
}

interface Read {
  seq: string;
  id: string | null;
  type: string;
  object_type: ObjectType;
  object_id: string;
  deal_id: string | null;
  at: string;
  history: string;
  more: boolean | null;
  lost: boolean | null;
}

const read = rows<Read>(
  'changes_after',
  `select seq::text as seq, id, type, object_type, object_id, deal_id, at, history, more, $1 < (select app.changes_purged()) as lost
   from app.changes_after($1, $2, $3)`,
);

/**
 * What the calling key sees of what changed behind a number of the stream, or (null) of what has been published by now, at most so many and of these types
 * alone, if some are named.
 */
export const changesAfter = (
  seq: string | null,
  most: number,
  types: readonly string[] | null,
): Statement<ChangesRead> =>
  mapped(read(seq, most, types), (found) => {
    const end = found.pop();
    if (end === undefined || end.id !== null) throw new Error('The stream has no end.');
    const events = found.map(({ seq: place, id, type, object_type, object_id, deal_id, at }) => ({
      seq: place,
      id: id!,
      type,
      objectType: object_type,
      objectId: object_id,
      dealId: deal_id,
      occurredAt: at,
    }));
    return {
      events,
      reached: { seq: end.seq, history: end.history },
      now: end.at,
      hasMore: end.more === true,
      isLost: end.lost === true,
    };
  });
