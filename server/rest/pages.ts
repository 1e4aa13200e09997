/** Pages of lists: `limit` and `cursor`, and the response with its pagination (specification, section 4.1). */

import type { Context } from 'hono';
import { Invalid } from '../database/errors.ts';
import { mappedQuestion, type KeyQuestion } from '../domain/clients/api-keys.ts';
import type { Position } from '../domain/contacts/contacts.ts';
import type { DealScope } from '../domain/visibility/deal-scope.ts';
import type { Problem } from '../http/problem.ts';
import { deploymentSealer, type Unsealed } from '../http/sealed-cursor.ts';
import { isUuid } from '../lib/uuid.ts';
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
      description: `Maximum number of ${things} on a page.`,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      message: 'Send one whole number from 1 to 200.',
    },
    (value) => (/^[1-9]\d{0,2}$/.test(value) && Number(value) <= 200 ? Number(value) : undefined),
    50,
  );

const cursorMessage =
  'Send nextCursor from an earlier response for this brokerage, unchanged, or leave it out to start again.';

/** `cursor`: read and issued by {@link Pages.answer}. */
export const cursor = queryParameter(
  'cursor',
  { description: 'nextCursor from an earlier response.', schema: { type: 'string' }, message: cursorMessage },
  (value) => value,
  null,
);

const badCursor = () => invalid([{ in: 'query', path: 'cursor', message: cursorMessage }]);

/** A list as requested, with positions of type `P`. */
export interface List<Row extends P, P> {
  /** Names the list with its filters and order: a cursor is valid only for the list that it was issued for. */
  readonly name: string;
  /**
   * The first `count` rows after a position, or from the beginning; null when the record that the list belongs to does
   * not exist.
   */
  readonly rows: (count: number, after: P | null) => KeyQuestion<Row[] | null>;
  /** Positions as bytes, and back; null for bytes that encode no position. */
  readonly place: { readonly write: (row: P) => Buffer; readonly read: (bytes: Buffer) => P | null };
  /** The problem to throw when the record that the list belongs to does not exist. */
  readonly absent?: () => Problem;
}

/** Positions in a list ordered by time and id, newest or oldest first. */
export const byTime: List<Position, Position>['place'] = { write: placeOf, read: positionOf };

/** The position of a row in a list ordered by a key, as text, and by id. */
export interface KeyPlace {
  readonly place: string;
  readonly id: string;
}

/** Positions in a list ordered by times, a date or a number. */
export const byKey: List<KeyPlace, KeyPlace>['place'] = {
  write: ({ place, id }) => Buffer.from(`${id}${place}`),
  read(bytes) {
    const text = bytes.toString('latin1');
    const [id, place] = [text.slice(0, 36), text.slice(36)];
    return isUuid(id) && /^[\d :.+-]{1,80}$/.test(place) ? { id, place } : null;
  },
};

export interface Pages {
  /**
   * Responds with a page of the list that `list` derives from the request; errors of `list` are reported only to a key
   * with the scope. `within`: the deal that the list belongs to.
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

/** Responds with pages of lists. */
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
            // Whether the cursor was issued for this list can be checked only when the caller is known.
            if (given !== null && after === null) throw badCursor();
            return mappedQuestion(rows(count + 1, after), (found) => ({ count, name, place, absent, from, found }));
          },
          { within },
        )
        .catch((fault: unknown) => {
          // A forged position reaches the query before its seal can be checked.
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
