/** The records that changes are about, as they are now: what readers of the stream and receivers of webhooks get with an event. */

import type { Statement } from '../../database/statement.ts';
import { contactsByIds } from '../contacts/contacts.ts';
import type { ChangeEvent, ObjectType } from './changes.ts';

/** Statements that read records as their own path answers them, by their ids: of those that the caller sees. */
const expansions: Partial<
  Record<ObjectType, (ids: readonly string[]) => Statement<readonly { readonly id: string }[]>>
> = {
  contact: contactsByIds,
};

/** An event as readers and webhooks get it; `data` when it is asked for: the record as it is now, null when it is not there or not to be seen. */
export interface ShownEvent extends ChangeEvent {
  readonly data?: unknown;
}

/** The records that events are about, by type and id, in one statement for each type. */
export const recordsOf = (events: readonly ChangeEvent[]): Statement<readonly { readonly id: string }[]>[] =>
  [...Map.groupBy(events, ({ objectType }) => objectType)].flatMap(([type, those]) => {
    const read = expansions[type];
    return read ? [read([...new Set(those.map(({ objectId }) => objectId))])] : [];
  });

/** The events with their records. */
export function withRecords(
  events: readonly ChangeEvent[],
  found: readonly (readonly { readonly id: string }[])[],
): ShownEvent[] {
  const byId = new Map(found.flat().map((record) => [record.id, record]));
  return events.map((one) => ({ ...one, data: byId.get(one.objectId) ?? null }));
}
