/** Change events in the order of commit, for other systems that follow them (081_change_events.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';

const publish = row<{ moved: boolean; waits: boolean }, []>(
  'publish_changes',
  'select moved, waits from app.publish_changes()',
);

/**
 * Publishes the changes committed so far to the readers of the stream; returns whether there are new ones, and whether
 * more must wait until transactions in progress have ended. Runs without authentication.
 */
export const publishChanges = (): Statement<{ moved: boolean; waits: boolean }> =>
  mapped(publish(), (found) => found ?? { moved: false, waits: false });

const purge = row<{ deleted: number }, []>('purge_changes', 'select app.purge_changes() as deleted');

/** Deletes a batch of changes older than 31 days; returns how many. */
export const purgeChanges = (): Statement<number> => mapped(purge(), (found) => found?.deleted ?? 0);

/**
 * The kinds of records and of their changes: a closed list, documented in docs/rest.md. Some records are removed only by
 * a reset of the sandbox.
 */
export const changesOf = {
  contact: ['created', 'updated', 'archived', 'restored', 'removed'],
  deal: ['created', 'updated', 'admitted', 'removed'],
  participant: ['created', 'updated', 'removed'],
  nda: ['created', 'updated', 'removed'],
  offer: ['created', 'updated', 'removed'],
  question: ['created', 'updated', 'removed'],
  document: ['created', 'updated', 'removed'],
  production_document: ['created', 'updated', 'removed'],
  qoe_checklist_item: ['created', 'updated', 'removed'],
  accounting_snapshot: ['created', 'updated', 'removed'],
  normalization: ['created', 'removed'],
  closing_condition: ['created', 'updated', 'removed'],
  finding: ['created', 'updated', 'removed'],
  financing_source: ['created', 'updated', 'removed'],
} as const satisfies Record<string, readonly string[]>;

export type ObjectType = keyof typeof changesOf;
export const objectTypes = Object.keys(changesOf) as readonly ObjectType[];
/** `contact.created` and the like. */
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

/** A position in the stream: a number, as text, and the history of the database to which it belongs. */
export interface PlaceInStream {
  readonly seq: string;
  readonly history: string;
}

interface ChangesRead {
  readonly events: (ChangeEvent & { readonly seq: string })[];
  /** The position to continue from, even if events before it were left out for the caller. */
  readonly reached: PlaceInStream;
  /** The time of the read, by the database's clock. */
  readonly now: string;
  readonly hasMore: boolean;
  /** Whether some of the changes after the number have been deleted. */
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
 * Returns the changes visible to the calling key after a number of the stream, or (null) after everything published so
 * far; at most `most`, and only of `types` when given.
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
