/** Declares operations of the REST API: of each one its route and its part of the OpenAPI document are made. */

import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import type { KeyScope } from '../domain/clients/key-scopes.ts';
import { invalid, type ErrorCode } from './envelope.ts';
import { only } from './methods.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** A part of an OpenAPI document. */
export type Json = Record<string, unknown>;

/** What is sent beside the path and the body: how it is read, and how it is described. */
export interface Parameter<T = unknown> {
  readonly in: 'query' | 'header';
  readonly name: string;
  readonly description: string;
  /** Whether it cannot be left out. */
  readonly required?: boolean;
  /** JSON Schema of the value. */
  readonly schema: Json;
  /** Whether no value is refused. */
  readonly isLenient?: boolean;
  /** Throws a problem of 400 that says what to send. */
  readonly read: (c: Context) => T;
}

/** What an operation answers with one status. */
export interface Answer {
  readonly description: string;
  /** Of the JSON body, registered by its `id`; without one there is no body, or `types` say what it is. */
  readonly schema?: z.ZodType;
  /** Media types of a body that is no JSON. */
  readonly types?: readonly string[];
  /** Headers beside those of the rate limit, by name: their OpenAPI objects. */
  readonly headers?: Readonly<Record<string, Json>>;
}

/** The header with the path of what was made. */
export const location = (thing: string): Record<string, Json> => ({
  Location: { description: `The path of the ${thing}.`, schema: { type: 'string' } },
});

/** The header of an answer that was given before, to the same `Idempotency-Key`. */
export const replayed: Record<string, Json> = {
  'Idempotent-Replayed': {
    description: 'true when this repeats the first answer.',
    schema: { type: 'string', enum: ['true'] },
  },
};

export interface Operation {
  readonly method: Method;
  /** Below /api/v1, with its parameters in braces: `/contacts/{contactId}`. Each of them is a UUID unless `pathParameters` says otherwise. */
  readonly path: `/${string}`;
  readonly pathParameters?: Readonly<Record<string, Json>>;
  /** `operationId` in the document: the name of the function in generated clients. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** What the key must have; null: any key may ask this. */
  readonly scope: KeyScope | null;
  readonly parameters?: readonly Parameter[];
  /** Of the JSON body, registered by its `id`. */
  readonly body?: z.ZodType;
  /** Media types of the body, when not `application/json` alone. */
  readonly bodyTypes?: readonly string[];
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of errors beside those that every operation has (401, 403, 429, 500, 503) and those of parameters and bodies. */
  readonly errors?: readonly ErrorCode[];
  readonly handle: (c: Context) => Promise<Response>;
}

/** What is said about a parameter, in the document and in the error for another value. */
interface About {
  readonly description: string;
  readonly schema: Json;
  readonly message: string;
}

/** A parameter of the query, at most once; `read` gives undefined for a value that is refused. */
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

/** A header; `read` gives undefined for a value that is refused. */
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

/** The path as Hono writes it: `/contacts/:contactId`. */
const routePath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/** Adds the routes of the operations; a method that a path does not have is answered 405, OPTIONS with what there is. */
export function addOperations(routes: Hono, operations: readonly Operation[]): void {
  const byPath = Map.groupBy(operations, ({ path }) => routePath(path));
  // A path without parameters is looked for before one whose parameter would take its word.
  for (const [path, those] of [...byPath].toSorted(
    ([one], [other]) => Number(one.includes(':')) - Number(other.includes(':')),
  )) {
    for (const { method, handle } of those) routes.on(method.toUpperCase(), path, handle);
    const methods = those.map(({ method }) => method.toUpperCase());
    routes.all(path, only(...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))));
  }
}
