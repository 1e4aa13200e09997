/** Reads and writes the contents of a backup destination: manifests, lists of bodies and bodies of documents. */

import { createHash } from 'node:crypto';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { BackupKey } from '../lib/backup-key.ts';
import { isStorageKey } from '../storage/storage.ts';
import type { BackupDestination } from './destination.ts';
import { fileOf, isFromFuture, seriesOf } from './names.ts';
import { wholeLines } from './rows.ts';
import { Damaged, keyIdEnd, keyIdIn, opened, sealed } from './encryption.ts';

/** The backup does not exist or is incomplete; the message names the destination. */
class NoBackup extends Error {
  override readonly name = 'NoBackup';
}

const file = z.object({ bytes: z.number().int(), sha256: z.string() });
const held = z.object({ rows: z.number().int(), digest: z.string() });

const manifestSchema = z.object({
  format: z.literal(1),
  name: z.string(),
  made_at: z.string(),
  release: z.string(),
  /**
   * The id of the document store, which no copy of the database shares; missing in backups of earlier releases, and
   * before the first start.
   */
  store: z.string().optional(),
  /** The version of PostgreSQL that the rows were read from. */
  postgres: z.string(),
  migrations: z.array(z.object({ name: z.string(), digest: z.string() })),
  tables: z.array(held.extend({ name: z.string(), columns: z.array(z.string()) })),
  parts: z.array(z.object({ parent: z.string(), name: z.string(), bound: z.string() })),
  sequences: z.array(z.object({ name: z.string(), last: z.string(), called: z.boolean() })),
  rows: file,
  documents: file.extend({
    count: z.number().int(),
    /** Total size of the bodies. */
    body_bytes: z.number().int(),
    /** Storage keys of bodies that the store lacked or that had changed since they were stored. */
    missing: z.array(z.string()),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;
export type Written = z.infer<typeof file>;

/** Writes a file, encrypted when there is a key; returns the size and digest of the stored file. */
export async function writeFileTo(
  destination: BackupDestination,
  name: string,
  body: AsyncIterable<Uint8Array>,
  key: BackupKey | null,
): Promise<Written> {
  const digest = createHash('sha256');
  let bytes = 0;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const part of key ? sealed(body, key, name) : body) {
      digest.update(part);
      bytes += part.byteLength;
      yield part;
    }
  }
  await destination.write(name, measured());
  return { bytes, sha256: digest.digest('hex') };
}

/** Passes a file on; `look` is called with its first bytes. */
async function* withBeginning(
  body: AsyncIterable<Uint8Array>,
  look: (beginning: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const part of body) {
    if (isFirst) look(part);
    isFirst = false;
    yield part;
  }
}

/**
 * The original contents of a file. Throws {@link Damaged} when the file is missing, and at its end when its digest is
 * not that of `written`.
 */
export async function* readFileFrom(
  destination: BackupDestination,
  name: string,
  key: BackupKey | null,
  written?: Written,
): AsyncGenerator<Uint8Array> {
  const found = await destination.read(name);
  if (found === null) throw new Damaged(`${name} is missing.`);
  const body = found;
  const digest = createHash('sha256');
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const part of withBeginning(body, refuseWithoutKey)) {
      digest.update(part);
      yield part;
    }
  }
  function refuseWithoutKey(beginning: Uint8Array): void {
    const id = keyIdIn(beginning);
    if (key === null && id !== null)
      throw new Damaged(`${name} is encrypted: give the key with the id ${id} in BACKUP_KEY or with --key-file.`);
  }
  yield* key ? opened(measured(), key, name) : measured();
  if (written && digest.digest('hex') !== written.sha256)
    throw new Damaged(`${name} was changed or cut off after it was written.`);
}

/**
 * The id of the key that a backup was encrypted with; null when it is not encrypted. Throws {@link Damaged} when there
 * is no manifest.
 */
export async function keyIdOf(destination: BackupDestination, backup: string): Promise<string | null> {
  const name = fileOf(backup, 'manifest');
  const body = await destination.read(name);
  if (body === null) throw new Damaged(`${name} is missing.`);
  let beginning = Buffer.alloc(0);
  for await (const part of body) {
    beginning = Buffer.concat([beginning, part]);
    if (beginning.length >= keyIdEnd) break;
  }
  return keyIdIn(beginning);
}

/** Runs `body` through a transform stream, such as one of node:zlib; an error in either ends both. */
export async function* through(
  body: AsyncIterable<Uint8Array>,
  change: NodeJS.ReadWriteStream,
): AsyncGenerator<Uint8Array> {
  const done = pipeline(Readable.from(body, { objectMode: false }), change);
  done.catch(() => {});
  for await (const part of change) yield part as Buffer;
  await done;
}

/** The bytes, Zstandard-compressed. */
export const compressed = (body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
  through(body, createZstdCompress());

/** Decompresses {@link compressed} bytes. Throws {@link Damaged}. */
export async function* decompressed(body: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* through(body, createZstdDecompress());
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (
      code.startsWith('ZSTD_') ||
      code === 'Z_BUF_ERROR' ||
      code.startsWith('ERR_ZLIB') ||
      /zstd|unexpected end/i.test(String(error))
    )
      throw new Damaged(`${name} was changed or cut off after it was written.`, { cause: error });
    throw error;
  }
}

/** Writes the manifest of a backup, which makes it complete. */
export async function writeManifest(
  destination: BackupDestination,
  manifest: Manifest,
  key: BackupKey | null,
): Promise<void> {
  async function* text(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify(manifest)}\n`);
  }
  await writeFileTo(destination, fileOf(manifest.name, 'manifest'), text(), key);
}

/** The maximum size of a manifest, in bytes. */
const largestManifest = 16_000_000;

/** The manifest of a complete backup. Throws {@link Damaged}. */
export async function readManifest(
  destination: BackupDestination,
  backup: string,
  key: BackupKey | null,
): Promise<Manifest> {
  const name = fileOf(backup, 'manifest');
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of readFileFrom(destination, name, key)) {
    parts.push(part);
    if ((bytes += part.byteLength) > largestManifest) throw new Damaged(`${name} is not a manifest.`);
  }
  try {
    const manifest = manifestSchema.parse(JSON.parse(Buffer.concat(parts).toString()));
    if (manifest.name === backup) return manifest;
  } catch (error) {
    throw new Damaged(`${name} was changed or cut off after it was written, or was made by a newer release.`, {
      cause: error,
    });
  }
  throw new Damaged(`${name} belongs to another backup.`);
}

export interface Found {
  readonly name: string;
  readonly isWhole: boolean;
}

/** The backups in a destination, oldest first, including incomplete ones. */
export async function backupsIn(destination: BackupDestination): Promise<Found[]> {
  const names = (await destination.folders()).filter((name) => seriesOf(name) !== null).toSorted();
  const found: Found[] = [];
  for (const name of names) {
    let isWhole = false;
    for await (const { name: inner } of destination.list(name)) if (inner === fileOf(name, 'manifest')) isWhole = true;
    found.push({ name, isWhole });
  }
  return found;
}

/** The names of the complete backups, oldest first; those dated in the future come before all others. */
export function wholeByAge(found: readonly Found[], now = new Date()): string[] {
  const whole = found.filter(({ isWhole }) => isWhole).map(({ name }) => name);
  return [...whole.filter((name) => isFromFuture(name, now)), ...whole.filter((name) => !isFromFuture(name, now))];
}

/**
 * The backup of this name, or the latest complete one without a name. Throws {@link NoBackup}, also without a name when
 * a wrong clock leaves it open which one is the latest.
 */
export async function chosenBackup(destination: BackupDestination, name: string | undefined): Promise<string> {
  const found = await backupsIn(destination);
  const whole = wholeByAge(found);
  const early = whole.findLast((one) => isFromFuture(one));
  if (name === undefined && early !== undefined && whole.length > 1)
    throw new NoBackup(
      `${early} in ${destination.label} is dated in the future: the clock was wrong when it was made, or is wrong on this machine. Give the name of the backup. The others are: ${whole
        .filter((one) => one !== early)
        .slice(-3)
        .join(', ')}${whole.length > 4 ? ' and older ones' : ''}.`,
    );
  const chosen = found.find((one) => one.name === (name ?? whole.at(-1)));
  if (chosen?.isWhole) return chosen.name;
  if (chosen) throw new NoBackup(`${chosen.name} in ${destination.label} is incomplete: choose another.`);
  throw new NoBackup(
    `There is no ${name === undefined ? 'complete backup' : `backup ${name}`} in ${destination.label}.`,
  );
}

export interface Body {
  readonly storageKey: string;
  readonly size: number;
  /** Hexadecimal; empty when it was never recorded. */
  readonly sha256: string;
}

/** Reads the list of a backup's bodies. Throws {@link Damaged}. */
export async function* bodiesOf(
  destination: BackupDestination,
  backup: string,
  key: BackupKey | null,
  written?: Written,
): AsyncGenerator<Body> {
  const name = fileOf(backup, 'documents');
  for await (const lines of wholeLines(decompressed(readFileFrom(destination, name, key, written), name))) {
    for (const line of lines.toString().split('\n')) {
      if (line === '') continue;
      const [storageKey = '', size = '', sha256 = ''] = line.split('\t');
      if (!isStorageKey(storageKey) || !/^\d{1,15}$/.test(size))
        throw new Damaged(`${name} is not a list of documents.`);
      yield { storageKey, size: Number(size), sha256 };
    }
  }
}

/** Passes a body on. Throws {@link Damaged} at its end when size or digest are not as recorded. */
export async function* checked(
  body: AsyncIterable<Uint8Array>,
  { storageKey, size, sha256 }: Body,
): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > size) break;
    digest.update(part);
    yield part;
  }
  if (bytes !== size || (sha256 !== '' && digest.digest('hex') !== sha256))
    throw new Damaged(`The file ${storageKey} of a document is not the one that was stored.`);
}
