/** What the database's errors mean to a caller, in words that reveal nothing about the structure of the database. */

import pg from 'pg';

/** The database refused the request, with a message meant for the person (app.refuse). */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: string;
  /** Seconds until the request may be retried; null when the database does not know. */
  readonly retryAfter: number | null;
  constructor(reason: string, message: string, options?: ErrorOptions & { readonly retryAfter?: number | null }) {
    super(message, options);
    this.reason = reason;
    this.retryAfter = options?.retryAfter ?? null;
  }
}

/** The caller lacks the right: row-level security or a missing grant. */
export class Denied extends Error {
  override readonly name = 'Denied';
}

/** A value was not valid; `field` names it when the database knows. */
export class Invalid extends Error {
  override readonly name = 'Invalid';
  readonly field: string | null;
  constructor(message: string, field: string | null = null, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

/** The request conflicts with an existing record, or with one that depends on it. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

/**
 * A concurrent transaction interfered, or a limit of time or load was reached; nothing was changed and the same request
 * may be retried.
 */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/**
 * The database cannot be reached. When the connection broke during the request, it is unknown whether the request took
 * effect.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** The server that was reached accepts no writes: a standby, or a demoted primary. Nothing was changed. */
export class NotWritable extends Unavailable {}

/** The database has no storage left; nothing was changed. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull';
}

/** The connection broke before the outcome was known. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

const away = 'The database cannot be reached: try again shortly.';

const unfit: Record<string, string> = {
  '22001': 'A text is too long.',
  '22003': 'A number is out of range.',
  '22007': 'A date or time is not written correctly.',
  '22008': 'A date or time is out of range.',
  '22021': 'A text contains characters that cannot be stored.',
  '22P05': 'A text contains characters that cannot be stored.',
  '22P02': 'A value is not written correctly.',
};

// Column names are the names of the fields that callers know; only `public` holds records that callers see.
function fieldOf({ schema, table, column, constraint }: pg.DatabaseError): string | null {
  if (schema !== 'public') return null;
  if (column) return column;
  const named = table && constraint?.startsWith(`${table}_`) ? constraint.slice(table.length + 1) : '';
  // A reference within a deal is a foreign key of two columns, the second of which is the deal.
  return /^([a-z_]+?)(?:_deal_id)?_(?:check\d*|fkey)$/.exec(named)?.[1] ?? null;
}

const about = (field: string | null, sentence: string): string => (field ? `${field}: ${sentence}` : sentence);

function fromServer(error: pg.DatabaseError): Error {
  const code = error.code ?? '';
  const options = { cause: error };
  const field = fieldOf(error);
  switch (code) {
    case 'DK001':
      return new Refusal(error.hint ?? 'refused', error.message, {
        ...options,
        retryAfter: /^\d+$/.test(error.detail ?? '') ? Number(error.detail) : null,
      });
    case 'DK002':
      return new Invalid(error.message, error.column ?? null, options);
    case '42501':
      return new Denied('Your access does not allow this.', options);
    case '23505':
    case '23P01':
      return new Conflict('There is already one like it.', options);
    case '23001':
      return new Conflict('Something else still depends on it.', options);
    case '23503':
      return /still referenced/.test(error.detail ?? '')
        ? new Conflict('Something else still depends on it.', options)
        : new Invalid(about(field, 'The record that it refers to does not exist.'), field, options);
    case '23502':
      return new Invalid(about(field, 'A value is required.'), field, options);
    case '23514':
      return new Invalid(about(field, 'The value is not allowed.'), field, options);
    case '40001':
    case '40P01':
    case '55P03':
    case '57014':
      return new Busy('This is taking too long, or somebody else is changing it: try again shortly.', options);
    case '26000':
    case '42P05':
      // A prepared statement is missing, or already exists: another client uses the same connection in turns.
      return unavailable(
        new Error(`${error.message}: a pooler in transaction mode needs DATABASE_PREPARE=off.`, { cause: error }),
      );
    case '25006':
      return new NotWritable(away, options);
    case '53100':
      return new StorageFull('There is no room left to store this.', options);
  }
  if (code.startsWith('22')) return new Invalid(unfit[code] ?? 'A value is not valid.', null, options);
  if (code.startsWith('54')) return new Invalid('A value is too large or nested too deeply.', null, options);
  if (/^(08|53|57P|58)/.test(code)) return unavailable(error);
  return error;
}

/** Returns an `Unavailable` with `error` as its cause. */
export function unavailable(error: unknown): Unavailable {
  return new Unavailable(away, { cause: error });
}

/**
 * Returns what `error` means to the caller: one of the classes here with the original as its cause, or `error` itself.
 */
export function classify(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    const meaning = fromServer(error);
    // The detail quotes the row, and errors end up in logs.
    error.detail = undefined;
    return meaning;
  }
  if (error instanceof ConnectionLost) return unavailable(error);
  return error;
}
