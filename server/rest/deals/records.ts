/** What the resources of a deal have in common: the deal in the path, lists, single records, and errors. */

import type { Context } from 'hono';
import { z } from 'zod';
import type { Place } from '../../database/paging.ts';
import type { Statement } from '../../database/statement.ts';
import type { KeyScope } from '../../domain/clients/key-scopes.ts';
import { resourceOf } from '../../domain/events/resources.ts';
import { withinDeal } from '../../domain/visibility/deal-scope.ts';
import { Problem } from '../../http/problem.ts';
import { isUuid } from '../../lib/uuid.ts';
import type { Services } from '../../services.ts';
import { answerJson } from '../answer.ts';
import type { Callers } from '../caller.ts';
import type { ErrorCode } from '../envelope.ts';
import type { Operation, Parameter } from '../operation.ts';
import { byKey, cursor, limitOf, openPages, type KeyPlace } from '../pages.ts';
import { pagination } from '../schemas.ts';

/** 404: the record does not exist, the key does not see it, or the path has no valid id. The same response for all. */
const missing = {
  deal_not_found: 'There is no such deal.',
  offer_not_found: 'There is no such offer.',
  document_not_found: 'There is no such document.',
  condition_not_found: 'There is no such closing condition.',
} as const satisfies { [Code in ErrorCode]?: string };

export type Missing = keyof typeof missing;

/** 404 with the code of this kind of record. */
export const notFound = (code: Missing): Problem => new Problem(404, code, missing[code]);

/** The id of a record in the path. Throws {@link notFound} with `code` if it is not an id. */
export function idInPath(c: Context, name: string, code: Missing): string {
  const id = c.req.param(name) ?? '';
  if (!isUuid(id)) throw notFound(code);
  return id.toLowerCase();
}

/** The deal in the path. */
export const dealInPath = (c: Context): string => idInPath(c, 'dealId', 'deal_not_found');

/**
 * The deal in the path as the scope in which the caller enters; undefined if it is not an id, which is reported only
 * after the key's scope has been checked.
 */
export function withinDealInPath(c: Context) {
  const id = c.req.param('dealId') ?? '';
  return isUuid(id) ? withinDeal(id.toLowerCase()) : undefined;
}

const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The sent fields under the column names of the database. */
export const asked = <T>(sent: object): T =>
  Object.fromEntries(Object.entries(sent).map(([name, value]) => [inSnakeCase(name), value])) as T;

/** The schema of a page of records. */
export const listOf = (item: z.ZodType, id: string) => z.object({ data: z.array(item), pagination }).meta({ id });

/** The declaration of a list of records of a deal. */
interface ListOfRecords<Row extends KeyPlace> {
  readonly path: `/${string}`;
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly scope: KeyScope;
  /** The plural name of the records. */
  readonly things: string;
  readonly item: z.ZodType;
  /** The `id` of the schema of a page. */
  readonly page: string;
  readonly filters?: readonly Parameter[];
  /** The error when there is nothing that could have such a list; optional; defaults to `deal_not_found`. */
  readonly absent?: Missing;
  /**
   * The rows of the deal after a cursor, with the filters of the request; null when there is nothing that could have
   * such a list.
   */
  readonly rows: (c: Context, dealId: string, after: Place | null, limit: number) => Statement<Row[] | null>;
  readonly show?: (row: Row) => unknown;
}

interface DealResources {
  /** Declares the GET operation for a list of records of a deal. */
  list<Row extends KeyPlace>(declared: ListOfRecords<Row>): Operation;
  /** Responds with one record of the deal in the path, or with the problem that it does not exist. */
  one<T extends object>(
    c: Context,
    scope: KeyScope,
    code: Missing,
    read: (dealId: string) => Statement<T | null>,
    show?: (record: T) => unknown,
  ): Promise<Response>;
}

/** How operations read the records of one deal. */
export function dealResources(services: Services, callers: Callers): DealResources {
  const pages = openPages(services, callers);
  return {
    list({
      path,
      id,
      tag,
      summary,
      description,
      scope,
      things,
      item,
      page,
      filters = [],
      absent = 'deal_not_found',
      rows,
      show = resourceOf,
    }) {
      const limit = limitOf(things);
      return {
        method: 'get',
        path,
        id,
        tag,
        summary,
        description: `${description} Needs the scope ${scope}.`,
        scope,
        parameters: [...filters, cursor, limit],
        answers: { 200: { description: `A page of ${things}.`, schema: listOf(item, page) } },
        errors: [absent],
        handle: (c) =>
          pages.answer(
            c,
            scope,
            limit,
            () => {
              const dealId = idInPath(c, 'dealId', absent);
              const filtered = filters.map((filter) => filter.read(c));
              return {
                name: JSON.stringify([id, c.req.param(), filtered]),
                rows: (count, after) => rows(c, dealId, after && { key: after.place, id: after.id }, count),
                place: byKey,
                absent: () => notFound(absent),
              };
            },
            show,
            withinDealInPath(c),
          ),
      };
    },

    async one(c, scope, code, read, show = resourceOf) {
      const { answer } = await callers.ask(c, scope, () => read(idInPath(c, 'dealId', code)), {
        within: withinDealInPath(c),
      });
      if (answer === null) throw notFound(code);
      return answerJson(c, { status: 200, body: show(answer) });
    },
  };
}
