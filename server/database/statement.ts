/** A query of the domain as a value: what to send, and how to read the result. */

import type { Value } from './types.ts';

export type { Value };

/** One row: column name to decoded value (see types.ts). */
export type Row = Record<string, unknown>;

export interface Statement<Result> {
  /** Name of the prepared statement: snake_case, and used for only one text in the whole code base. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly Value[];
  readonly read: (rows: Row[]) => Result;
  /**
   * Digest of the credential that the transaction authenticates with or looks up; the run takes a share of its
   * connections.
   */
  readonly holder?: string;
  /** Whether a row in the result counts as a use of that credential. */
  readonly isUse?: boolean;
  /** Whether it goes ahead of all runs that wait for a connection, as the check whether the database responds does. */
  readonly first?: boolean;
  /** Whether it has the time limit of {@link takingLong}. */
  readonly takesLong?: boolean;
}

const texts = new Map<string, string>();

function declare(name: string, text: string): void {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
    throw new Error(`Statement name ${name}: use snake_case, at most 63 characters.`);
  const earlier = texts.get(name);
  if (earlier !== undefined && earlier !== text)
    throw new Error(`Statement name ${name} is taken by another text: choose another name.`);
  texts.set(name, text);
}

/** Declares a query whose result is every row. Throws when `name` is already used for another text. */
export function rows<R, V extends readonly Value[] = readonly Value[]>(
  name: string,
  text: string,
): (...values: V) => Statement<R[]> {
  declare(name, text);
  const read = (found: Row[]): R[] => found as R[];
  return (...values) => ({ name, text, values, read });
}

/** Declares a query whose result is the first row, or null. Throws when `name` is already used for another text. */
export function row<R, V extends readonly Value[] = readonly Value[]>(
  name: string,
  text: string,
): (...values: V) => Statement<R | null> {
  declare(name, text);
  const read = (found: Row[]): R | null => (found[0] as R | undefined) ?? null;
  return (...values) => ({ name, text, values, read });
}

/** Returns the same query with its result converted by `f`. */
export function mapped<A, B>(statement: Statement<A>, f: (answer: A) => B): Statement<B> {
  const { read, ...rest } = statement;
  return { ...rest, read: (found) => f(read(found)) };
}

/**
 * Returns the same query with a limit of 50 seconds instead of nine for each statement of its transaction: for one that
 * is all or nothing, is rare, and grows with what a person is part of or has done, such as leaving all deals.
 */
export const takingLong = <T>(statement: Statement<T>): Statement<T> => ({ ...statement, takesLong: true });

/**
 * Returns the same query, which authenticates with the credential of this digest; with `isUse` false this does not
 * count as a use of the credential.
 */
export function entering<T>(digest: Buffer | null, statement: Statement<T>, isUse = true): Statement<T> {
  return digest === null ? statement : { ...statement, holder: digest.toString('latin1'), isUse };
}

/**
 * Returns the same query, which looks up the credential of this digest itself: it takes the same share of the
 * connections as one that authenticates, but does not count as a use.
 */
export const presenting = <T>(digest: Buffer | null, statement: Statement<T>): Statement<T> =>
  entering(digest, statement, false);
