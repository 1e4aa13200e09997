/** A query of the domain as a value: what to send, and how to read what comes back. */

import type { Value } from './types.ts';

export type { Value };

/** One row: column name to decoded value (see types.ts). */
export type Row = Record<string, unknown>;

export interface Statement<Result> {
  /** Names the prepared statement: snake_case, one text for one name in the whole code base. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly Value[];
  readonly read: (rows: Row[]) => Result;
  /** The credential that the transaction enters with or presents, whose share of the connections it takes. */
  readonly holder?: string;
  /** Whether it counts as a use of that credential when it enters: when it yields a row. */
  readonly isUse?: boolean;
  /** Goes before what waits for a connection: whether the database answers is asked so that others do not wait. */
  readonly first?: boolean;
  /** May take as long as {@link takingLong} says. */
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

/** Declares a query that is answered with every row it yields. Throws when `name` is already used for another text. */
export function rows<R, V extends readonly Value[] = readonly Value[]>(
  name: string,
  text: string,
): (...values: V) => Statement<R[]> {
  declare(name, text);
  const read = (found: Row[]): R[] => found as R[];
  return (...values) => ({ name, text, values, read });
}

/** Declares a query that is answered with its first row, or null. Throws when `name` already stands for another text. */
export function row<R, V extends readonly Value[] = readonly Value[]>(
  name: string,
  text: string,
): (...values: V) => Statement<R | null> {
  declare(name, text);
  const read = (found: Row[]): R | null => (found[0] as R | undefined) ?? null;
  return (...values) => ({ name, text, values, read });
}

/** The same query, its answer passed through `f`. */
export function mapped<A, B>(statement: Statement<A>, f: (answer: A) => B): Statement<B> {
  const { read, ...rest } = statement;
  return { ...rest, read: (found) => f(read(found)) };
}

/**
 * The same query, whose transaction has 50 seconds for each statement instead of nine: one that is all or nothing, is rare, and grows with what a person is part of or has done, such
 * as the deals that somebody leaves.
 */
export const takingLong = <T>(statement: Statement<T>): Statement<T> => ({ ...statement, takesLong: true });

/** The same query, which enters with the credential of this digest; `isUse` false: what it is entered for is no use of it. */
export function entering<T>(digest: Buffer | null, statement: Statement<T>, isUse = true): Statement<T> {
  return digest === null ? statement : { ...statement, holder: digest.toString('latin1'), isUse };
}

/** The same query, which looks for the credential of this digest itself: a share of the connections like that of what enters with it, and no use of it. */
export const presenting = <T>(digest: Buffer | null, statement: Statement<T>): Statement<T> =>
  entering(digest, statement, false);
