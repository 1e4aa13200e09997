/**
 * Writes what a brokerage has into an archive: each table as CSV and as JSON, the bodies of its documents, and a manifest, which comes last.
 * Who asks is a matter of the source: the owner of the database reads every row, a person what the policies let them read.
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

/** Where rows and bodies come from, in a person's name. */
export interface ExportSource {
  run<T>(statement: Statement<T>): Promise<T>;
  /** Opens documents of this table; what is answered reads their bodies, each when it is its turn: null when it may not be opened, or is not in the store. */
  open(
    table: string,
    documents: readonly string[],
  ): Promise<(document: string) => Promise<AsyncIterable<Uint8Array> | null>>;
}

export interface ExportManifest {
  readonly format: 1;
  readonly brokerage: { readonly id: string; readonly slug: string; readonly name: string };
  readonly made_at: string;
  readonly release: string;
  readonly complete: string;
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[]; readonly rows: number }[];
  readonly documents: {
    readonly count: number;
    readonly bytes: number;
    /** Not in the store. */
    readonly missing: readonly string[];
    /** Not as they were taken in. */
    readonly damaged: readonly string[];
  };
  readonly files: readonly ArchivedFile[];
}

interface ExportTask {
  readonly brokerage: ExportManifest['brokerage'];
  readonly source: ExportSource;
  readonly release: string;
  readonly now: Date;
  /** Whose sight it is, as a sentence for the manifest and the first page. */
  readonly sight: string;
  /** Tables that are left out. */
  readonly without?: readonly string[];
}

/** Reads bodies from the store by where they are. */
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

/** How many rows are read at once, and held, unless these are too much. */
const portion = 1_000;
/** A table with as many characters of JSON is held from its first file to its second. */
const mostHeld = 2_000_000;
/** How many documents are opened at once, and of how many bytes: what may be read yet when its reader may no more. */
const mostOpened = { documents: 50, bytes: 10_000_000 };
/** After how long those that were not read yet are opened anew, in milliseconds: a slow reader may no longer be allowed to. */
const openedFor = 5_000;
/** A table as its two files need it. */
type Columns = Pick<ExportedTable, 'name' | 'columns' | 'texts'>;
const people: Columns = { name: 'people', columns: ['id', 'name', 'email'], texts: [false, true, true] };

const readme = ({ brokerage, now, sight }: ExportTask): string => `${brokerage.name}, exported on ${now.toISOString()}.

${sight}

data/        each table as CSV, for spreadsheets, and as JSON, for programs. Columns that end in _id or _by name a row of another table, or
             somebody in people.csv. In the CSV files an apostrophe stands before text that a spreadsheet would run as a formula; the
             JSON files have everything as it is.
logo.*       the brokerage's logo, if it has one.
documents/   the documents, in a folder for each deal, each named by its id and its name.
manifest.json  how many rows and documents there are, and size and SHA-256 of each file. It is written last: an archive without it is not
             complete.

Left out are secrets: what keys, sessions and passwords are checked by, and what is sealed.
`;

/** Every portion of a table: of the brokerage, or of its deals one batch after another. */
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

/** Everybody once, although they may be on many deals. */
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
 * The portions of a table for two files, one after the other, as an archive takes them: a table that can be held is read once. Another one is read again
 * for its second file, so that memory does not grow with it.
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

/** How much of a name is kept, in bytes: with the id before it and its ending, systems of files take 255. */
const mostOfName = 120;

/** A name that every system of files takes. */
function fileName(name: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = name.replaceAll(/[\u0000-\u001f\u007f"*/:<>?\\|]/g, '_').replace(/[. ]+$/, '');
  const ending = /\.[^.]{1,10}$/.exec(plain)?.[0] ?? '';
  const stem = plain.slice(0, plain.length - ending.length);
  // Of whole characters: half of one would have another name in the archive than in the manifest.
  const { read } = new TextEncoder().encodeInto(stem, new Uint8Array(mostOfName));
  return `${stem.slice(0, read)}${ending}`;
}

interface DocumentRow {
  readonly id: string;
  readonly deal_id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly size_bytes: number;
  /** Of those that only the owner sees. */
  readonly removed_at?: string | null;
  /** As bytea is written; null in rows of before it was kept. */
  readonly sha256?: string | null;
}

/** What the manifest says of the documents; filled while they are archived. */
interface Tally {
  count: number;
  bytes: number;
  readonly missing: string[];
  readonly damaged: string[];
}

/** The ids of those from `at` on that are opened at once. */
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

/** Each of these documents of a table with its body. */
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
    tables: held,
    documents: tally,
    files,
  };
  yield { path: 'manifest.json', content: one(`${JSON.stringify(manifest, null, 1)}\n`) };
  return manifest;
}

/**
 * The archive, read from the source as it is taken; `finished` is called with its manifest at the end. Throws what source and store throw: then the
 * archive has broken off, without a manifest.
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
