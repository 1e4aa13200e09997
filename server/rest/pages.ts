/** Pages of lists: `limit` and `cursor`, and the answer with its pagination (specification, section 4.1). */

import type { Context } from 'hono';
import { Invalid } from '../database/errors.ts';
import { mappedQuestion, type KeyQuestion } from '../domain/clients/api-keys.ts';
import type { Position } from '../domain/contacts/contacts.ts';
import type { DealScope } from '../domain/visibility/deal-scope.ts';
import type { Problem } from '../http/problem.ts';
import { deploymentSealer, type Unsealed } from '../http/sealed-cursor.ts';
import { isUuid } from '../http/uuid.ts';
import type { Services } from '../services.ts';
import { answerJson } from './answer.ts';
import type { Callers, Scopes } from './caller.ts';
import { placeOf, positionOf } from './cursor.ts';
import { invalid } from './envelope.ts';
import { queryParameter, type Parameter } from './operation.ts';

/** `limit`: 1 to 200, default 50; never clamped. */
export const limitOf = (things: string): Parameter<number> =>
  queryParameter(
    'limit',
    {
      description: `How many ${things} a page has.`,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      message: 'Send one whole number from 1 to 200.',
    },
    (value) => (/^[1-9]\d{0,2}$/.test(value) && Number(value) <= 200 ? Number(value) : undefined),
    50,
  );

const cursorMessage = 'Send nextCursor of an earlier answer to this brokerage, unchanged, or start again without it.';

/** `cursor`: what {@link Pages.answer} reads and gives out. */
export const cursor = queryParameter(
  'cursor',
  { description: 'nextCursor of an earlier answer.', schema: { type: 'string' }, message: cursorMessage },
  (value) => value,
  null,
);

const badCursor = () => invalid([{ in: 'query', path: 'cursor', message: cursorMessage }]);

/** A list as one request asks for it, with places of type `P` in it. */
export interface List<Row extends P, P> {
  /** Names the list with its filters and order: a cursor is good for the list that it was given out for. */
  readonly name: string;
  /** The first `count` rows after a place, or from the beginning; null: there is nothing of which this would be the list. */
  readonly rows: (count: number, after: P | null) => KeyQuestion<Row[] | null>;
  /** Places as bytes, and back; null for bytes that are none. */
  readonly place: { readonly write: (row: P) => Buffer; readonly read: (bytes: Buffer) => P | null };
  /** The problem that it is when there is nothing of which this would be the list. */
  readonly absent?: () => Problem;
}

/** Places in a list that goes by time and id, newest or oldest first. */
export const byTime: List<Position, Position>['place'] = { write: placeOf, read: positionOf };

/** The place of a row in a list that goes by a key, written as text, and by id. */
export interface KeyPlace {
  readonly place: string;
  readonly id: string;
}

/** Places in a list that goes by a time, a date or a number. */
export const byKey: List<KeyPlace, KeyPlace>['place'] = {
  write: ({ place, id }) => Buffer.from(`${id}${place}`),
  read(bytes) {
    const text = bytes.toString('latin1');
    const [id, place] = [text.slice(0, 36), text.slice(36)];
    return isUuid(id) && /^[\d :.+-]{1,40}$/.test(place) ? { id, place } : null;
  },
};

export interface Pages {
  /**
   * Answers a page of what `list` makes of the request; what it throws is answered only to a key with the scope. `within`:
   * the deal that the list is of.
   */
  answer<Row extends P, P>(
    c: Context,
    scope: Scopes,
    limit: Parameter<number>,
    list: () => List<Row, P>,
    show?: (row: Row) => unknown,
    within?: DealScope,
  ): Promise<Response>;
}

/** Answers lists, page by page. */
export function openPages({ database, secrets }: Services, callers: Callers): Pages {
  const sealerOf = deploymentSealer({ database, secrets });
  return {
    async answer<Row extends P, P>(
      c: Context,
      scope: Scopes,
      limit: Parameter<number>,
      list: () => List<Row, P>,
      show: (row: Row) => unknown = (row) => row,
      within?: DealScope,
    ) {
      const sealer = await sealerOf();
      let isGiven = false;
      const { caller, answer } = await callers
        .ask(
          c,
          scope,
          () => {
            const count = limit.read(c);
            const { name, rows, place, absent } = list();
            const given = cursor.read(c);
            isGiven = given !== null;
            const from: Unsealed | null = given === null ? null : sealer.unseal(given);
            const after = from && place.read(from.place);
            // Whether it was given out for this list is not known before it is known who asks.
            if (given !== null && after === null) throw badCursor();
            return mappedQuestion(rows(count + 1, after), (found) => ({ count, name, place, absent, from, found }));
          },
          { within },
        )
        .catch((fault: unknown) => {
          // A forged place is asked for before its seal can be looked at.
          throw isGiven && fault instanceof Invalid ? badCursor() : fault;
        });
      const { count, name, place, absent, from, found } = answer;
      if (found === null) throw absent?.() ?? new Error(`There is nothing of which ${name} would be the list.`);
      const tenant = caller.brokerage_id;
      if (from !== null && !from.isFor(name, tenant)) throw badCursor();
      const hasMore = found.length > count;
      const data = hasMore ? found.slice(0, count) : found;
      const last = data.at(-1);
      const nextCursor = hasMore && last ? sealer.seal(name, tenant, place.write(last)) : null;
      return answerJson(c, { status: 200, body: { data: data.map(show), pagination: { hasMore, nextCursor } } });
    },
  };
}
