/**
 * The rows of the database in PostgreSQL's COPY text format, which is the same in every version. One file holds all of
 * them: for each table a line of JSON with its name and columns, its rows, and `\.`; at the end the line
 * `{"end":true}`.
 */

import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { Damaged, regrouped } from './encryption.ts';

export interface Table {
  /** Including the schema, as in public.deals. */
  readonly name: string;
  readonly columns: readonly string[];
}

/** Row count and digest of a table. */
export interface Held {
  readonly rows: number;
  /** Independent of the order of the rows. */
  readonly digest: string;
}

/** A partition of a partitioned table. */
export interface Part {
  readonly parent: string;
  readonly name: string;
  readonly bound: string;
}

/** A policy hides rows from the owner, so they would be missing from the backup. The message names the table. */
class HiddenRows extends Error {
  override readonly name = 'HiddenRows';
}

/** Settings that fix the text form of values, and timeouts. */
export const textSettings = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres';
  set extra_float_digits = 1; set bytea_output = 'hex'; set xmloption = 'content'; set lc_monetary = 'C';
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = '30s'`;

/** The schema-qualified name, quoted where necessary. */
export const quoted = (name: string): string => name.split('.').map(pg.escapeIdentifier).join('.');

// Our tables belong to the owner of app.migrations. Unlogged tables hold nothing that must survive a crash.
const ours = `c.relowner = (select m.relowner from pg_class m where m.oid = 'app.migrations'::regclass)
  and c.relpersistence = 'p' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;

/** The tables with the columns that are backed up, ordered by name. */
export async function tablesOf(client: pg.ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table & { hidden: boolean }>(`
    select n.nspname || '.' || c.relname as name,
      (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
      row_security_active(c.oid) and not exists (select from pg_policy p
        where p.polrelid = c.oid and p.polpermissive and p.polcmd in ('*', 'r') and pg_get_expr(p.polqual, p.polrelid) = 'true'
          and exists (select from unnest(p.polroles) r where r = 0 or pg_has_role(current_user, r, 'usage'))) as hidden
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and ${ours}
    order by n.nspname collate "C", c.relname collate "C"`);
  const hidden = rows.find((table) => table.hidden);
  if (hidden)
    throw new HiddenRows(`A policy hides rows of ${hidden.name} from this login: use the one that ran the migrations.`);
  return rows.map(({ name, columns }) => ({ name, columns: columns ?? [] }));
}

/** The partitions of partitioned tables. */
export async function partsOf(client: pg.ClientBase): Promise<Part[]> {
  const { rows } = await client.query<Part>(`
    select pn.nspname || '.' || p.relname as parent, n.nspname || '.' || c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
    where c.relkind = 'r' and c.relispartition and ${ours}
    order by n.nspname collate "C", c.relname collate "C"`);
  return rows;
}

interface Sequence {
  readonly name: string;
  readonly last: string;
  readonly called: boolean;
}

/** The current values of the sequences. */
export async function sequencesOf(client: pg.ClientBase): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string }>(`
    select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'S' and ${ours} order by 1`);
  const found: Sequence[] = [];
  for (const { name } of rows) {
    const stand = await client.query<Omit<Sequence, 'name'>>(
      `select last_value::text as last, is_called as called from ${quoted(name)}`,
    );
    if (stand.rows[0]) found.push({ name, ...stand.rows[0] });
  }
  return found;
}

/** Adds up the digests of rows, so that their order does not matter. */
class RowDigest {
  #rows = 0;
  readonly #sums = new Uint32Array(8);

  /** `lines` must be complete lines. */
  add(lines: Buffer): void {
    for (let at = 0; at < lines.length;) {
      const end = lines.indexOf(10, at) + 1;
      const digest = hash('sha256', lines.subarray(at, end), 'buffer');
      // Each lane by itself, modulo 2^32.
      for (let lane = 0; lane < 8; lane += 1)
        this.#sums[lane] = (this.#sums[lane] ?? 0) + digest.readUInt32BE(lane * 4);
      this.#rows += 1;
      at = end;
    }
  }

  get held(): Held {
    return { rows: this.#rows, digest: hash('sha256', `${this.#rows} ${[...this.#sums].join(' ')}`) };
  }
}

/** The same bytes, in chunks of complete lines. Throws {@link Damaged} when the last line has no end. */
export async function* wholeLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const part of source) {
    const bytes = Buffer.isBuffer(part) ? part : Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    const end = bytes.lastIndexOf(10) + 1;
    if (end > 0) {
      yield begun.length > 0 ? Buffer.concat([...begun, bytes.subarray(0, end)]) : bytes.subarray(0, end);
      begun = [];
    }
    if (end < bytes.length) begun.push(bytes.subarray(end));
  }
  if (begun.length > 0) throw new Damaged('The file ends in the middle of a line.');
}

/** The result of a query in COPY format, in chunks of complete lines. */
export async function* copied(client: pg.ClientBase, query: string): AsyncGenerator<Buffer> {
  yield* wholeLines(regrouped(client.query(copyTo(`copy (${query}) to stdout`))));
}

const rowsQuery = ({ name, columns }: Table): string =>
  `select ${columns.map(pg.escapeIdentifier).join(', ')} from ${quoted(name)}`;

/** Counts and digests the rows of a table in the database. */
export async function heldIn(client: pg.ClientBase, table: Table): Promise<Held> {
  const digest = new RowDigest();
  for await (const lines of copied(client, rowsQuery(table))) digest.add(lines);
  return digest.held;
}

const end = Buffer.from('\\.\n');
const endAfterRows = Buffer.from('\n\\.\n');

/** The file with all rows; `written` is called with each table's count and digest. */
export async function* rowsOf(
  client: pg.ClientBase,
  tables: readonly Table[],
  written: (table: Table, held: Held) => void,
): AsyncGenerator<Buffer> {
  for (const table of tables) {
    yield Buffer.from(`${JSON.stringify({ table: table.name, columns: table.columns })}\n`);
    const digest = new RowDigest();
    for await (const lines of copied(client, rowsQuery(table))) {
      digest.add(lines);
      yield lines;
    }
    yield end;
    written(table, digest.held);
  }
  yield Buffer.from('{"end":true}\n');
}

/** Reads the file that {@link rowsOf} writes; `load` gets the rows of each table. Throws {@link Damaged}. */
export async function readRows(
  source: AsyncIterable<Uint8Array>,
  load: (table: Table, rows: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const blocks = wholeLines(source)[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const more = async (): Promise<Buffer> => {
    if (rest.length > 0) return rest;
    const next = await blocks.next();
    if (next.done) throw new Damaged('The file with the rows ends too early.');
    return next.value;
  };
  async function* section(): AsyncGenerator<Buffer> {
    for (;;) {
      const block = await more();
      const at = block.subarray(0, end.length).equals(end) ? 0 : block.indexOf(endAfterRows) + 1;
      const ends = at > 0 || block.subarray(0, end.length).equals(end);
      rest = ends ? block.subarray(at + end.length) : Buffer.alloc(0);
      if (!ends) yield block;
      else if (at > 0) yield block.subarray(0, at);
      if (ends) return;
    }
  }
  try {
    for (;;) {
      const block = await more();
      const lineEnd = block.indexOf(10) + 1;
      const line = JSON.parse(block.subarray(0, lineEnd).toString()) as {
        end?: true;
        table: string;
        columns: string[];
      };
      rest = block.subarray(lineEnd);
      // Reads the source to its end, where its digest is checked.
      if (line.end) {
        if (rest.length > 0 || !(await blocks.next()).done)
          throw new Damaged('The file with the rows continues after its end.');
        return;
      }
      await load({ name: line.table, columns: line.columns }, section());
    }
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Damaged('This is not a file with the rows of a backup.', { cause: error });
    throw error;
  } finally {
    await blocks.return?.(undefined);
  }
}

/** Loads rows into an empty table; returns their count and digest. */
export async function loadRows(
  client: pg.ClientBase,
  { name, columns }: Table,
  rows: AsyncIterable<Buffer>,
): Promise<Held> {
  const digest = new RowDigest();
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const lines of rows) {
      digest.add(lines);
      yield lines;
    }
  }
  const into = client.query(
    copyFrom(`copy ${quoted(name)} (${columns.map(pg.escapeIdentifier).join(', ')}) from stdin`),
  );
  await pipeline(Readable.from(counted(), { objectMode: false }), into);
  return digest.held;
}
