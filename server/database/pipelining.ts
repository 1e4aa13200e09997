/**
 * Sends several statements with one `sync`: one round trip, and one implicit transaction that PostgreSQL commits at the
 * `sync` or, when anything in it fails, rolls back as a whole (PostgreSQL documentation, "Extended Query", pipelining).
 */

import pg from 'pg';
import { ConnectionLost } from './errors.ts';
import { ResultMemory, TooMuchAtOnce } from './result-memory.ts';
import type { Row, Statement } from './statement.ts';
import { decoderOf, encode, type Decoder } from './types.ts';

/** The part of pg's connection that is used here; the published types still ask for an argument it no longer takes. */
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

/** A statement whose parameters are ready for the wire. */
export interface Bound {
  readonly name: string;
  readonly text: string;
  readonly parameters: (string | Buffer | null)[];
}

/** Encodes the parameters. Throws what `encode` throws. */
export const bound = ({ name, text, values }: Statement<unknown>): Bound => ({
  name,
  text,
  parameters: values.map(encode),
});

/** The columns of a result; null when the statement yields none. */
type RowDescription = { readonly names: string[]; readonly decoders: (Decoder | undefined)[] } | null;

// PostgreSQL refuses to run a prepared statement whose columns have changed, so they need to be described only once.
const prepared = new WeakMap<object, Map<string, RowDescription>>();

function preparedOn(connection: object): Map<string, RowDescription> {
  let names = prepared.get(connection);
  if (!names) prepared.set(connection, (names = new Map()));
  return names;
}

/** Makes the client prepare every statement anew: after a migration or a failover. */
export function forgetPrepared(client: pg.Client): void {
  prepared.delete(client.connection);
}

/** The transaction was rolled back because of what `next` threw, which is the cause. */
export class RolledBack extends Error {
  override readonly name = 'RolledBack';
}

/** Makes of the answers to the first statements what ends the transaction; what it throws takes everything back. */
export type Next = (answers: Row[][]) => readonly Bound[];

class OneSync {
  #statements: readonly Bound[];
  /** Until the answers to the first statements are there. */
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

  /** Sends the statements, and what ends the transaction with them when nothing follows. */
  #send(wire: Wire, statements: readonly Bound[]): void {
    const sent = new Set<string>();
    wire.stream.cork();
    try {
      for (const { name, text, parameters } of statements) {
        const statement = this.#prepare ? name : '';
        const fresh = !this.#prepare || !(this.#known.has(name) || sent.has(name));
        if (fresh) {
          // An earlier run may have failed after this name was parsed, or before: closing settles it either way.
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

  /** Goes on when the first statements are answered: PostgreSQL holds their transaction open until the `sync`. */
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
    // What comes after it cannot be used, and is not kept.
    if (this.#unreadable) return;
    try {
      if (!this.#memory.keeps(length, this.#rows.length === 0))
        throw new TooMuchAtOnce('This is too much at once: ask for less, or try again in a moment.');
      this.#rows.push(decoded(fields, this.#description));
    } catch (error) {
      // Thrown from here it would end the process: this is called by the socket.
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
    // PostgreSQL has overlooked the first one while it waited for data.
    connection.sync();
  }

  handleCopyData(): void {}

  handleReadyForQuery(): void {
    if (this.#takenBack) this.#reject(this.#takenBack);
    else if (this.#unreadable) this.#reject(this.#unreadable);
    else this.#resolve(this.#answers);
  }

  /** An error of the server is reported once the connection is ready again, that is, once the rollback is done. */
  handleError(error: Error, connection: Wire): void {
    // Until a sync, PostgreSQL passes over whatever comes after an error.
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
 * behind on the connection, as a transaction-mode pooler needs. Rejects with pg's DatabaseError when the server refused
 * (everything is rolled back, and the client is ready for the next run) or `ConnectionLost` (the client is of no more use).
 * Into `answered` goes when the answer to each statement was read (`performance.now()`). With `next` the transaction takes
 * a second round trip, for the statements that it makes of the answers to the first; it may be called again when a
 * connection's prepared statements have gone stale.
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
