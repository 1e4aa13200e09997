/** Changes, for systems that follow them: GET /events. */

import type { Context } from 'hono';
import { z } from 'zod';
import { changesAfter, eventTypes, objectTypes, type ChangeEvent } from '../domain/events/changes.ts';
import { amongDealsOf, recordsOf, withRecords, type ShownEvent } from '../domain/changed-records.ts';
import { Problem } from '../http/problem.ts';
import type { Services } from '../services.ts';
import type { Callers, Entry } from './caller.ts';
import { answerJson } from './answer.ts';
import { invalid } from './envelope.ts';
import { eventCursors, type EventPlace } from './event-cursor.ts';
import { queryParameter, type Operation } from './operation.ts';
import { limitOf } from './pages.ts';
import { id, openEnum, time } from './fields.ts';
import { pagination } from './schemas.ts';

/** Milliseconds for which a cursor is valid: events are kept a day longer. */
const keptMillis = 30 * 86_400_000;

export const event = z
  .object({
    id: id.meta({ description: 'The same wherever the event appears, so that duplicates can be recognized.' }),
    type: openEnum(eventTypes).meta({
      description:
        'What happened to the record. A document that is restored within an hour of its removal is reported as updated: create your copy of it again. Later versions may add types.',
    }),
    objectType: openEnum(objectTypes),
    objectId: id,
    dealId: id.nullable().meta({ description: 'The deal that the record belongs to; null for a contact.' }),
    occurredAt: time.meta({
      description: 'When its transaction began. The list is in a different order: that of commits.',
    }),
    data: z.record(z.string(), z.unknown()).nullable().optional().meta({
      description:
        'With expand=data: the current record, as its own path returns it (a contact as a ContactRecord, archived or not); null if it is gone or the key cannot see it.',
    }),
  })
  .meta({
    id: 'Event',
    description: 'A change to a record.',
    examples: [
      {
        id: '5d0c3c1e-6f0e-4b7a-9c39-0d6f2f1f7a11',
        type: 'contact.created',
        objectType: 'contact',
        objectId: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30',
        dealId: null,
        occurredAt: '2026-11-20T15:04:05.123Z',
      },
    ],
  });

/**
 * The request body that a webhook receives: a change with its record, or the test event, which is about the webhook
 * itself.
 */
export const webhookEvent = event
  .extend({
    type: openEnum([...eventTypes, 'webhook.test']).meta({
      description:
        'What happened to the record, as in GET /events; webhook.test is the test event. Later versions may add types.',
    }),
    objectType: openEnum([...objectTypes, 'webhook']),
    objectId: id.meta({ description: 'For the test event, the id of the webhook.' }),
    dealId: id.nullable().meta({ description: 'The deal that the record belongs to; null for a contact or a test.' }),
    occurredAt: time.meta({ description: 'When its transaction began, or the test was requested.' }),
    data: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        'The record at the time of sending, as its own path returns it (a contact as a ContactRecord, archived or not); null if it is gone, and for a test.',
    }),
  })
  .meta({
    id: 'WebhookEvent',
    description: 'What a webhook receives: a change with its record, or the test event.',
    examples: [
      {
        id: '5d0c3c1e-6f0e-4b7a-9c39-0d6f2f1f7a11',
        type: 'webhook.test',
        objectType: 'webhook',
        objectId: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30',
        dealId: null,
        occurredAt: '2026-11-20T15:04:05.123Z',
        data: null,
      },
    ],
  });

const eventList = z.object({ data: z.array(event), pagination }).meta({ id: 'EventList' });

const limit = limitOf('events');

const afterMessage =
  'Send nextCursor from an earlier response for this brokerage, unchanged, or "latest", or leave it out to start with the oldest event.';
const after = queryParameter(
  'after',
  {
    description:
      'nextCursor from an earlier response, to continue from there. Without it, the list begins with the oldest event that is kept; with "latest", after the newest.',
    schema: { type: 'string', examples: ['latest'] },
    message: afterMessage,
  },
  (value) => value,
  null,
);

const typesMessage = `Send types of events, separated by commas: ${eventTypes.join(', ')}.`;
const types = queryParameter(
  'types',
  {
    description: 'Only events of these types, separated by commas.',
    schema: { type: 'string', examples: ['contact.created,contact.updated'] },
    message: typesMessage,
  },
  (value) => {
    const named = value.split(',');
    return named.every((name) => eventTypes.includes(name)) ? named : undefined;
  },
  null,
);

const expand = queryParameter(
  'expand',
  {
    description: 'data: include with each event the current state of its record.',
    schema: { type: 'string', enum: ['data'] },
    message: 'Send "data", or leave the parameter out.',
  },
  (value) => (value === 'data' ? value : undefined),
  null,
);

const badAfter = () => invalid([{ in: 'query', path: 'after', message: afterMessage }]);

const expired = () =>
  new Problem(
    410,
    'cursor_expired',
    'This cursor is no longer valid: it is older than 30 days, events after it have been deleted, or the service has since been restored from a backup or renewed its secrets. Request after=latest, read your records again, then continue from that cursor.',
  );

/** An event as clients get it: without its sequence number among the events of all brokerages. */
function withoutPlace(found: ChangeEvent & { readonly seq: string }): ChangeEvent {
  const { seq: _, ...shown } = found;
  return shown;
}

/** The operation that lists events. */
export function eventOperations(services: Services, callers: Callers): readonly Operation[] {
  const { database, config } = services;
  const cursorsOf = eventCursors(services);

  /**
   * Adds the records to the events, read in a separate transaction: as they are now, whatever is changed meanwhile. A
   * key that has ended meanwhile is refused: it would see every record as gone.
   */
  async function expanded({ enter, admit }: Entry, events: readonly ChangeEvent[]): Promise<ShownEvent[]> {
    const records = recordsOf(events, config.features);
    const [caller, , ...found] = await database.together(enter, amongDealsOf(events), ...records);
    admit(caller);
    return withRecords(events, found);
  }

  const list = (c: Context): Promise<Response> =>
    callers.enter(c, 'events:read', async (entry) => {
      const { enter, admit, reading } = entry;
      const cursors = await cursorsOf();
      const { count, named, isExpanded, from, begin } = await reading(() => {
        const given = after.read(c);
        const isLatest = given === 'latest';
        const place: EventPlace | 'unreadable' | null = given === null || isLatest ? null : cursors.read(given);
        if (place === null && given !== null && !isLatest) throw badAfter();
        // After the secret of cursors is renewed, every cursor is unreadable: clients must learn that they have to
        // start over.
        if (place === 'unreadable') throw expired();
        return {
          count: limit.read(c),
          named: types.read(c),
          isExpanded: expand.read(c) !== null,
          from: place,
          begin: isLatest ? null : (place?.seq ?? '0'),
        };
      });
      const [caller, { events, reached, now, hasMore, isLost }] = await database.together(
        enter,
        changesAfter(begin, count + 1, named),
      );
      const { brokerage_id: brokerageId } = admit(caller);
      if (from !== null && from.brokerageId !== brokerageId) throw badAfter();
      const isOld = from !== null && Date.parse(now) - Date.parse(from.at) > keptMillis;
      if (from !== null && (isLost || isOld || from.history !== reached.history)) throw expired();
      const isCut = events.length > count;
      const page = events.slice(0, count);
      const last = page.at(-1);
      const shown = page.map(withoutPlace);
      const place = { seq: isCut && last ? last.seq : reached.seq, history: reached.history, brokerageId, at: now };
      const data = isExpanded ? await expanded(entry, shown) : shown;
      const paging = { hasMore: isCut || hasMore, nextCursor: cursors.write(place) };
      // The cursor is encrypted differently each time, so the entity tag is made of the data, and stays the same for a
      // day. A client that gets 304 keeps its cursor: it must not expire while nothing changes, and leads on from a
      // position after which other clients saw nothing new either.
      const content = JSON.stringify([data, paging.hasMore ? place.seq : null, now.slice(0, 10)]);
      const headers = { ETag: cursors.tagOf(content) };
      return answerJson(c, { status: 200, body: { data, pagination: paging }, headers });
    });

  return [
    {
      method: 'get',
      path: '/events',
      id: 'listEvents',
      tag: 'Events',
      summary: 'List what changed',
      description:
        'In the order in which changes were committed, so nothing new appears before what you have read. Needs the scope events:read, and for each event the scope that reads its record. nextCursor is never null: keep it and continue from it.',
      scope: 'events:read',
      parameters: [after, limit, types, expand],
      answers: { 200: { description: 'A page of events, oldest first.', schema: eventList } },
      errors: ['cursor_expired'],
      handle: list,
    },
  ];
}
