/**
 * Sends several statements with one `sync`: one round trip, and one implicit transaction that PostgreSQL commits at the
 * `sync` or, when anything in it fails, rolls back as a whole (PostgreSQL documentation, "Extended Query", pipelining).
 */

import pg from 'pg';
import { ConnectionLost } from './errors.ts';
import { ResultMemory, TooMuchAtOnce } from './result-memory.ts';
import type { Row, Statement } from './statement.ts';
import { decoderOf, encode, type Decoder } from './types.ts';

/** The part of pg's connection that is used here; the published types still require an argument that was removed. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: (string | Buffer | null)[] }): void;
  describe(message: { type: 'P' }): void;
  execute(message: object): void;
  close(message: { type: 'S'; name: string }): void;
  flush(): void;
  sync(): void;
  sendCopyFail(message: string): void;
  once(event: 'readyForQuery' | 'end', listener: () => void): void;
  off(event: 'readyForQuery' | 'end', listener: () => void): void;
}

/** A statement whose parameters are encoded for the wire. */
export interface Bound {
  readonly name: string;
  readonly text: string;
  readonly parameters: (string | Buffer | null)[];
}

/** Encodes the parameters of a statement. Throws what `encode` throws. */
export const bound = ({ name, text, values }: Statement<unknown>): Bound => ({
  name,
  text,
  parameters: values.map(encode),
});

/** The columns of a result; null when the statement returns none. */
type RowDescription = { readonly names: string[]; readonly decoders: (Decoder | undefined)[] } | null;

// PostgreSQL refuses to run a prepared statement whose columns have changed, so they need to be described only once.
const prepared = new WeakMap<object, Map<string, RowDescription>>();

function preparedOn(connection: object): Map<string, RowDescription> {
  let names = prepared.get(connection);
  if (!names) prepared.set(connection, (names = new Map()));
  return names;
}

/** Makes the client prepare every statement again, after a migration or a failover. */
export function forgetPrepared(client: pg.Client): void {
  prepared.delete(client.connection);
}

/** The transaction was rolled back because `next` threw the error in `cause`. */
export class RolledBack extends Error {
  override readonly name = 'RolledBack';
}

/**
 * Makes the last statements of the transaction from the results of the first; an error that it throws rolls the
 * transaction back.
 */
export type Next = (answers: Row[][]) => readonly Bound[];

class OneSync {
  #statements: readonly Bound[];
  /** Undefined once the results of the first statements have arrived. */
  #next: Next | undefined;
  #isSynced = false;
  #takenBack: RolledBack | null = null;
  readonly #prepare: boolean;
  readonly #resolve: (answers: Row[][]) => void;
  readonly #reject: (error: Error) => void;
  readonly #answers: Row[][] = [];
  #known = new Map<string, RowDescription>();
  #rows: Row[] = [];
  #description: RowDescription = null;
  #unreadable: Error | null = null;
  readonly #memory = new ResultMemory();
  readonly #answered: number[] | undefined;

  constructor(
    statements: readonly Bound[],
    prepare: boolean,
    answered: number[] | undefined,
    next: Next | undefined,
    resolve: (answers: Row[][]) => void,
    reject: (error: Error) => void,
  ) {
    this.#statements = statements;
    this.#next = next;
    this.#prepare = prepare;
    this.#answered = answered;
    this.#resolve = (answers) => {
      this.#memory.release();
      resolve(answers);
    };
    this.#reject = (error) => {
      this.#memory.release();
      reject(error);
    };
  }

  submit(connection: unknown): void {
    const wire = connection as Wire;
    if (this.#prepare) this.#known = preparedOn(wire);
    this.#send(wire, this.#statements);
    this.#begin();
  }

  /** Sends the statements, with the `sync` that ends the transaction unless `next` follows. */
  #send(wire: Wire, statements: readonly Bound[]): void {
    const sent = new Set<string>();
    wire.stream.cork();
    try {
      for (const { name, text, parameters } of statements) {
        const statement = this.#prepare ? name : '';
        const fresh = !this.#prepare || !(this.#known.has(name) || sent.has(name));
        if (fresh) {
          // An earlier run may have failed before or after this name was parsed: closing it is right in both cases.
          if (statement) wire.close({ type: 'S', name: statement });
          wire.parse({ name: statement, text });
          sent.add(name);
        }
        wire.bind({ statement, values: parameters });
        if (fresh) wire.describe({ type: 'P' });
        wire.execute({});
      }
      if (this.#next) wire.flush();
      else this.#sync(wire);
    } finally {
      wire.stream.uncork();
    }
  }

  #sync(wire: Wire): void {
    this.#isSynced = true;
    wire.sync();
  }

  /**
   * Calls `next` when the first statements have completed: PostgreSQL keeps their transaction open until the `sync`.
   */
  #goOn(wire: Wire): void {
    const next = this.#next;
    if (!next || this.#answers.length < this.#statements.length) return;
    this.#next = undefined;
    try {
      if (this.#unreadable) throw this.#unreadable;
      const more = next(this.#answers);
      this.#statements = [...this.#statements, ...more];
      this.#send(wire, more);
    } catch (error) {
      this.#takenBack = new RolledBack('It was taken back.', { cause: error });
      wire.parse({ name: '', text: 'rollback' });
      wire.bind({ statement: '', values: [] });
      wire.execute({});
      this.#sync(wire);
    }
    this.#begin();
  }

  #begin(): void {
    this.#rows = [];
    const next = this.#statements[this.#answers.length];
    this.#description = (next && this.#known.get(next.name)) ?? null;
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    this.#description = {
      names: fields.map(({ name }) => name),
      decoders: fields.map(({ dataTypeID }) => decoderOf(dataTypeID)),
    };
  }

  handleDataRow({ fields, length }: { fields: (string | null)[]; length: number }): void {
    // Rows after an error cannot be used and are not kept.
    if (this.#unreadable) return;
    try {
      if (!this.#memory.keeps(length, this.#rows.length === 0))
        throw new TooMuchAtOnce('The response is too large to be sent right now: ask for less, or try again shortly.');
      this.#rows.push(decoded(fields, this.#description));
    } catch (error) {
      // The socket calls this handler, so an error thrown here would end the process.
      this.#unreadable = error as Error;
      this.#rows = [];
      for (const rows of this.#answers) rows.length = 0;
      this.#memory.release();
    }
  }

  handleCommandComplete(_message: unknown, connection: unknown): void {
    const statement = this.#statements[this.#answers.length];
    if (this.#prepare && statement) this.#known.set(statement.name, this.#description);
    this.#answers.push(this.#rows);
    this.#answered?.push(performance.now());
    this.#begin();
    this.#goOn(connection as Wire);
  }

  handleEmptyQuery(connection: unknown): void {
    this.handleCommandComplete(null, connection);
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(connection: Wire): void {
    connection.sendCopyFail('Statements that copy cannot be sent with others.');
    // PostgreSQL ignored the first `sync` while it waited for data.
    connection.sync();
  }

  handleCopyData(): void {}

  handleReadyForQuery(): void {
    if (this.#takenBack) this.#reject(this.#takenBack);
    else if (this.#unreadable) this.#reject(this.#unreadable);
    else this.#resolve(this.#answers);
  }

  /** Reports an error of the server once the connection is ready again, that is, after the rollback. */
  handleError(error: Error, connection: Wire): void {
    // After an error, PostgreSQL ignores all messages until a `sync`.
    if (!this.#isSynced && error instanceof pg.DatabaseError) this.#sync(connection);
    if (!(error instanceof pg.DatabaseError)) {
      this.#reject(new ConnectionLost('The connection to the database broke.', { cause: error }));
      return;
    }
    const ready = () => {
      connection.off('end', ended);
      this.#reject(error);
    };
    const ended = () => {
      connection.off('readyForQuery', ready);
      this.#reject(new ConnectionLost('The database closed the connection.', { cause: error }));
    };
    connection.once('readyForQuery', ready);
    connection.once('end', ended);
  }
}

function decoded(fields: (string | null)[], description: RowDescription): Row {
  if (description?.names.length !== fields.length) throw new Error('A result came without its description.');
  const { names, decoders } = description;
  const row: Row = {};
  for (let index = 0; index < fields.length; index += 1) {
    const text = fields[index] as string | null;
    const decode = decoders[index];
    row[names[index] as string] = text === null || decode === undefined ? text : decode(text);
  }
  return row;
}

/**
 * Runs the statements on `client` as one transaction and returns the rows of each. `prepare: false` leaves nothing
 * behind on the connection, as a transaction-mode pooler requires. Rejects with pg's DatabaseError when the server
 * reported an error (everything is rolled back, and the client is ready for the next run) or `ConnectionLost` (the
 * client can no longer be used). The time at which each statement's result was read (`performance.now()`) is appended
 * to `answered`. With `next` the transaction takes a second round trip, for the statements that `next` makes from the
 * first results; `next` may be called again when the connection's prepared statements are stale.
 */
export function pipelined(
  client: pg.Client,
  statements: readonly Bound[],
  {
    prepare = true,
    answered,
    next,
  }: { prepare?: boolean; answered?: number[] | undefined; next?: Next | undefined } = {},
): Promise<Row[][]> {
  return new Promise((resolve, reject) => {
    client.query(new OneSync(statements, prepare, answered, next, resolve, reject));
  });
}
