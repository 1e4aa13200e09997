/** Declares operations of the REST API: each declaration yields a route and a part of the OpenAPI document. */

import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import type { KeyScope } from '../domain/clients/key-scopes.ts';
import { invalid, type ErrorCode } from './envelope.ts';
import { only } from './methods.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** A part of an OpenAPI document. */
export type Json = Record<string, unknown>;

/** A query parameter or header: how it is read, and how it is described. */
export interface Parameter<T = unknown> {
  readonly in: 'query' | 'header';
  readonly name: string;
  readonly description: string;
  /** Whether the parameter is required. */
  readonly required?: boolean;
  /** JSON Schema of the parameter's value. */
  readonly schema: Json;
  /** Whether every value is accepted. */
  readonly isLenient?: boolean;
  /** Reads the value; throws a problem of 400 that says what to send. */
  readonly read: (c: Context) => T;
}

/** A response of an operation with one status. */
export interface Answer {
  readonly description: string;
  /** Schema of the JSON body, registered by its `id`; without it there is no body, unless `types` is given. */
  readonly schema?: z.ZodType;
  /** Media types of a body that is not JSON. */
  readonly types?: readonly string[];
  /** Headers other than those of the rate limit: OpenAPI objects by name. */
  readonly headers?: Readonly<Record<string, Json>>;
}

/** The `Location` header with the path of a created resource. */
export const location = (thing: string): Record<string, Json> => ({
  Location: { description: `The path of the ${thing}.`, schema: { type: 'string' } },
});

/** The header of a response that is repeated for the same `Idempotency-Key`. */
export const replayed: Record<string, Json> = {
  'Idempotent-Replayed': {
    description: 'true if this repeats the first response.',
    schema: { type: 'string', enum: ['true'] },
  },
};

export interface Operation {
  readonly method: Method;
  /**
   * Path below /api/v1, with parameters in braces: `/contacts/{contactId}`. Each parameter is a UUID unless
   * `pathParameters` says otherwise.
   */
  readonly path: `/${string}`;
  readonly pathParameters?: Readonly<Record<string, Json>>;
  /** `operationId` in the document: the name of the function in generated clients. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Scope that the key must have; null: any key may call the operation. */
  readonly scope: KeyScope | null;
  readonly parameters?: readonly Parameter[];
  /** Schema of the JSON body, registered by its `id`. */
  readonly body?: z.ZodType;
  /** Media types of the body, unless only `application/json`. */
  readonly bodyTypes?: readonly string[];
  readonly answers: Readonly<Record<number, Answer>>;
  /** Error codes other than those of every operation (401, 403, 429, 500, 503) and those of parameters and bodies. */
  readonly errors?: readonly ErrorCode[];
  readonly handle: (c: Context) => Promise<Response>;
}

/** Describes a parameter in the document and in the error for an invalid value. */
interface About {
  readonly description: string;
  readonly schema: Json;
  readonly message: string;
}

/** A query parameter that may be given at most once; `read` returns undefined for an invalid value. */
export function queryParameter<T, N = undefined>(
  name: string,
  { description, schema, message }: About,
  read: (value: string) => T | undefined,
  otherwise: N,
): Parameter<T | N> {
  return {
    in: 'query',
    name,
    description,
    schema,
    read(c) {
      const [value, ...others] = c.req.queries(name) ?? [];
      if (value === undefined) return otherwise;
      const result = others.length === 0 ? read(value) : undefined;
      if (result === undefined) throw invalid([{ in: 'query', path: name, message }]);
      return result;
    },
  };
}

/** A header parameter; `read` returns undefined for an invalid value. */
export function headerParameter<T>(
  name: string,
  { description, schema, message }: About,
  read: (value: string) => T | undefined,
): Parameter<T | null> {
  return {
    in: 'header',
    name,
    description,
    schema,
    read(c) {
      const value = c.req.header(name);
      if (value === undefined) return null;
      const result = read(value);
      if (result === undefined) throw invalid([{ in: 'header', path: name, message }]);
      return result;
    },
  };
}

/** The path in Hono's syntax: `/contacts/:contactId`. */
const routePath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/**
 * Adds the routes of the operations. A method that a path does not have is answered 405, OPTIONS with the methods of
 * the path.
 */
export function addOperations(routes: Hono, operations: readonly Operation[]): void {
  const byPath = Map.groupBy(operations, ({ path }) => routePath(path));
  // Paths without parameters are matched before those with a parameter in the same position.
  for (const [path, those] of [...byPath].toSorted(
    ([one], [other]) => Number(one.includes(':')) - Number(other.includes(':')),
  )) {
    for (const { method, handle } of those) routes.on(method.toUpperCase(), path, handle);
    const methods = those.map(({ method }) => method.toUpperCase());
    routes.all(path, only(...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))));
  }
}
