/**
 * Writes the data of a brokerage into an archive: each table as CSV and as JSON, the bodies of its documents, and last
 * a manifest. The source determines what is visible: the owner of the database reads every row, a person the rows that
 * the policies allow.
 */

import { inSmallerPortions } from '../database/result-memory.ts';
import type { Statement } from '../database/statement.ts';
import {
  exportDeals,
  exportPeople,
  exportRows,
  exportTables,
  type ExportedRow,
  type ExportedTable,
} from '../domain/people/brokerage-export.ts';
import { logoFileName, logoOf } from '../domain/people/logos.ts';
import { csvHeading, csvLines } from '../lib/csv.ts';
import { isStorageKey, type Storage } from '../storage/storage.ts';
import { zipped, type ArchivedFile, type FileToArchive } from './zip.ts';

/** Source of rows and document bodies, with the rights of a person or of the owner of the database. */
export interface ExportSource {
  run<T>(statement: Statement<T>): Promise<T>;
  /**
   * Opens documents of this table. Resolves with a function that reads the body of one document when it is called: null
   * if the document may not be opened, or its body is not in the store.
   */
  open(
    table: string,
    documents: readonly string[],
  ): Promise<(document: string) => Promise<AsyncIterable<Uint8Array> | null>>;
  /** Of these deals, those that are not wholly contained. Absent: all are. */
  inPart?(deals: readonly string[]): Promise<readonly string[]>;
}

export interface ExportManifest {
  readonly format: 1;
  readonly brokerage: { readonly id: string; readonly slug: string; readonly name: string };
  readonly made_at: string;
  readonly release: string;
  readonly complete: string;
  /** The ids of the deals of which only a part is contained, as {@link ExportTask.sight} says. */
  readonly deals_in_part: readonly string[];
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[]; readonly rows: number }[];
  readonly documents: {
    readonly count: number;
    readonly bytes: number;
    /** Paths of documents whose bodies are not in the store. */
    readonly missing: readonly string[];
    /** Paths of documents whose bodies differ from what was uploaded. */
    readonly damaged: readonly string[];
  };
  readonly files: readonly ArchivedFile[];
}

interface ExportTask {
  readonly brokerage: ExportManifest['brokerage'];
  readonly source: ExportSource;
  readonly release: string;
  readonly now: Date;
  /** Whose rights limit the export, as a sentence for the manifest and the README. */
  readonly sight: string;
  /** Names of tables to leave out. */
  readonly without?: readonly string[];
}

/** Reads the bodies of the documents found from the store, by their storage keys. */
export function storedBodies(
  storage: Storage,
  found: readonly { readonly id: string; readonly storage_key: string }[],
): (document: string) => Promise<AsyncIterable<Uint8Array> | null> {
  const keys = new Map(found.map(({ id, storage_key }) => [id, storage_key]));
  return async (document) => {
    const key = keys.get(document);
    return key !== undefined && isStorageKey(key) ? storage.read(key) : null;
  };
}

/** How many rows are read at once and held in memory; fewer when they are too large. */
const portion = 1_000;
/** A table of at most this many characters of JSON is held in memory from its first file to its second. */
const mostHeld = 2_000_000;
/**
 * How many documents, and how many bytes of them, are opened at once: the most that a reader who has lost access can
 * still read.
 */
const mostOpened = { documents: 50, bytes: 10_000_000 };
/**
 * Documents opened but not read within this time are opened again, in milliseconds: a slow reader may have lost access.
 */
const openedFor = 5_000;
/** The properties of a table that its two files need. */
type Columns = Pick<ExportedTable, 'name' | 'columns' | 'texts'>;
const people: Columns = { name: 'people', columns: ['id', 'name', 'email'], texts: [false, true, true] };

const readme = ({ brokerage, now, sight }: ExportTask): string => `${brokerage.name}, exported on ${now.toISOString()}.

${sight}

data/        each table as CSV, for spreadsheets, and as JSON, for programs. Columns that end in _id or _by refer to a row of another table, or to
             a person in people.csv. In the CSV files an apostrophe precedes text that a spreadsheet would run as a formula; the JSON
             files have everything as it is.
logo.*       the brokerage's logo, if it has one.
documents/   the documents, in a folder for each deal, each named after its id and its name.
manifest.json  the number of rows and documents, the deals that are contained in part, and the size and SHA-256 of each file. It is written
             last: an archive without it is not complete.

Secrets are left out: what keys, sessions and passwords are checked against, and encrypted values.
`;

/** Every portion of a table, found by the brokerage or by batches of its deals. */
async function* portionsOf(
  source: ExportSource,
  brokerage: string,
  table: ExportedTable,
): AsyncGenerator<readonly ExportedRow[]> {
  async function* within(of: string | null, deals: readonly string[]): AsyncGenerator<readonly ExportedRow[]> {
    for (let after: readonly string[] | null = null; ;) {
      let asked = portion;
      const rows: readonly ExportedRow[] = await inSmallerPortions(portion, (most) => {
        asked = most;
        return source.run(exportRows(table.query, of, [...deals], after && [...after], most));
      });
      if (rows.length > 0) yield rows;
      if (rows.length < asked) return;
      after = rows.at(-1)?.place ?? null;
    }
  }
  if (!table.by_deal) yield* within(brokerage, []);
  else for await (const deals of dealsOf(source, brokerage)) yield* within(null, deals);
}

async function* dealsOf(source: ExportSource, brokerage: string): AsyncGenerator<readonly string[]> {
  for (let after: string | null = null; ;) {
    const deals: readonly string[] = (await source.run(exportDeals(brokerage, after))).map(({ id }) => id);
    if (deals.length === 0) return;
    yield deals;
    after = deals.at(-1) ?? null;
  }
}

/** Each person once, although people may be on many deals. */
async function* everybody(
  source: ExportSource,
  brokerage: string,
): AsyncGenerator<readonly Omit<ExportedRow, 'place'>[]> {
  const seen = new Set<string | null>();
  const fresh = (rows: readonly Omit<ExportedRow, 'place'>[]) =>
    rows.filter(({ cells: [id = null] }) => !seen.has(id) && Boolean(seen.add(id)));
  yield fresh(await source.run(exportPeople(brokerage, [])));
  for await (const deals of dealsOf(source, brokerage)) yield fresh(await source.run(exportPeople(null, [...deals])));
}

type Portion = readonly Omit<ExportedRow, 'place'>[];
type Portions = () => AsyncIterable<Portion>;

/**
 * Provides the portions of a table for its two files, which the archive writes one after the other. A table that can be
 * held in memory is read once. A larger one is read again for its second file, so that memory does not grow with it.
 */
function heldForTwo(portions: Portions): Portions {
  let held: Portion[] | null = [];
  let isWhole = false;
  async function* read() {
    let size = 0;
    for await (const rows of portions()) {
      size += rows.reduce((sum, { json }) => sum + json.length, 0);
      if (size > mostHeld) held = null;
      held?.push(rows);
      yield rows;
    }
    isWhole = held !== null;
  }
  async function* again() {
    yield* held ?? [];
  }
  return () => (isWhole ? again() : read());
}

async function* asCsv({ columns, texts }: Columns, portions: Portions, count: (rows: number) => void) {
  yield csvHeading(columns);
  for await (const rows of portions()) {
    count(rows.length);
    yield csvLines(
      rows.map(({ cells }) => cells),
      texts,
    );
  }
}

async function* asJson(portions: Portions): AsyncGenerator<string> {
  let before = '[\n';
  for await (const rows of portions())
    for (const { json } of rows) {
      yield `${before}${json}`;
      before = ',\n';
    }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

/** At most this many bytes of a file name's stem are kept: with the id and the extension, file systems allow 255. */
const mostOfName = 120;

/** A name that is valid in every file system. */
function fileName(name: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = name.replaceAll(/[\u0000-\u001f\u007f"*/:<>?\\|]/g, '_').replace(/[. ]+$/, '');
  const ending = /\.[^.]{1,10}$/.exec(plain)?.[0] ?? '';
  const stem = plain.slice(0, plain.length - ending.length);
  // Cut between whole characters: half a character would give the file another name in the archive than in the
  // manifest.
  const { read } = new TextEncoder().encodeInto(stem, new Uint8Array(mostOfName));
  return `${stem.slice(0, read)}${ending}`;
}

interface DocumentRow {
  readonly id: string;
  readonly deal_id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly size_bytes: number;
  /** Only in rows of the owner of the database, who also sees removed documents. */
  readonly removed_at?: string | null;
  /** In PostgreSQL's text format of bytea; null in rows from before digests were stored. */
  readonly sha256?: string | null;
}

/** The manifest's entry about the documents; filled in while they are archived. */
interface Tally {
  count: number;
  bytes: number;
  readonly missing: string[];
  readonly damaged: string[];
}

/** The ids of the documents from `at` on that are opened at once. */
function batchFrom(documents: readonly DocumentRow[], at: number): string[] {
  const batch: string[] = [];
  let bytes = 0;
  for (const { id, size_bytes } of documents.slice(at, at + mostOpened.documents)) {
    bytes += size_bytes;
    if (batch.length > 0 && bytes > mostOpened.bytes) break;
    batch.push(id);
  }
  return batch;
}

async function* withBodies(source: ExportSource, table: string, documents: readonly DocumentRow[]) {
  let bodyOf: Awaited<ReturnType<ExportSource['open']>> = async () => null;
  let left = 0;
  let openedAt = 0;
  for (const [at, document] of documents.entries()) {
    if (left === 0 || performance.now() - openedAt > openedFor) {
      const batch = batchFrom(documents, at);
      bodyOf = await source.open(table, batch);
      left = batch.length;
      openedAt = performance.now();
    }
    left -= 1;
    yield [document, await bodyOf(document.id)] as const;
  }
}

async function* documentsOf(
  { source, brokerage }: ExportTask,
  tables: readonly ExportedTable[],
  tally: Tally,
): AsyncGenerator<FileToArchive> {
  for (const table of tables.filter(({ columns }) => columns.includes('filename') && columns.includes('media_type')))
    for await (const rows of portionsOf(source, brokerage.id, table)) {
      const documents = rows.map(({ json }) => JSON.parse(json) as DocumentRow);
      const kept = documents.filter(({ removed_at }) => !removed_at);
      for await (const [{ id, deal_id, filename, media_type, sha256 }, content] of withBodies(
        source,
        table.name,
        kept,
      )) {
        const path = `documents/${deal_id}/${id} ${fileName(filename)}`;
        if (content === null) {
          tally.missing.push(path);
          continue;
        }
        const written = (file: ArchivedFile) => {
          if (sha256 && sha256 !== `\\x${file.sha256}`) tally.damaged.push(path);
          tally.count += 1;
          tally.bytes += file.bytes;
        };
        yield { path, content, compressed: !media_type.startsWith('text/'), written };
      }
    }
}

async function dealsInPart({ source, brokerage }: ExportTask): Promise<string[]> {
  const found: string[] = [];
  if (source.inPart)
    for await (const deals of dealsOf(source, brokerage.id)) found.push(...(await source.inPart(deals)));
  return found;
}

async function* one<Part>(part: Part): AsyncGenerator<Part> {
  yield part;
}

async function* filesOf(
  task: ExportTask,
  tables: readonly ExportedTable[],
): AsyncGenerator<FileToArchive, ExportManifest> {
  const { brokerage, source } = task;
  const files: ArchivedFile[] = [];
  const listed = (file: FileToArchive): FileToArchive => ({
    ...file,
    written(archived) {
      files.push(archived);
      file.written?.(archived);
    },
  });
  yield listed({ path: 'README.txt', content: one(readme(task)) });
  const logo = await source.run(logoOf(brokerage.id));
  if (logo) yield listed({ path: logoFileName(logo), content: one(logo.picture), compressed: true });
  const held: ExportManifest['tables'][number][] = [];
  const all: [Columns, Portions][] = [
    ...tables.map((table): [Columns, Portions] => [table, () => portionsOf(source, brokerage.id, table)]),
    [people, () => everybody(source, brokerage.id)],
  ];
  for (const [table, read] of all) {
    let rows = 0;
    const portions = heldForTwo(read);
    yield listed({ path: `data/${table.name}.csv`, content: asCsv(table, portions, (more) => (rows += more)) });
    yield listed({ path: `data/${table.name}.json`, content: asJson(portions) });
    held.push({ name: table.name, columns: table.columns, rows });
  }
  const tally: Tally = { count: 0, bytes: 0, missing: [], damaged: [] };
  for await (const file of documentsOf(task, tables, tally)) yield listed(file);
  const manifest: ExportManifest = {
    format: 1,
    brokerage,
    made_at: task.now.toISOString(),
    release: task.release,
    complete: task.sight,
    deals_in_part: await dealsInPart(task),
    tables: held,
    documents: tally,
    files,
  };
  yield { path: 'manifest.json', content: one(`${JSON.stringify(manifest, null, 1)}\n`) };
  return manifest;
}

/**
 * Yields the archive, reading from the source as the archive is consumed; calls `finished` with the manifest at the
 * end. Throws the errors of source and store: the archive is then truncated, without a manifest.
 */
export async function* exportBrokerage(
  task: ExportTask,
  finished: (manifest: ExportManifest) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const tables = (await task.source.run(exportTables())).filter(({ name }) => !task.without?.includes(name));
  async function* files(): AsyncGenerator<FileToArchive> {
    finished(yield* filesOf(task, tables));
  }
  yield* zipped(files(), task.now);
}
