/**
 * Encrypts files of a backup: AES-256-GCM in chunks of 64 KiB under a key for each file (HKDF, RFC 5869), with nonces
 * that count the chunks and mark the last one (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár).
 * Decryption detects chunks that were changed, exchanged, added or cut off, and files that were swapped: the file's
 * name is part of its key.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { derived, keyIdBytes, type BackupKey } from '../lib/backup-key.ts';

/** The file cannot be decrypted with this key, or was changed after it was written; the message says which. */
export class Damaged extends Error {
  override readonly name = 'Damaged';
}

const magic = Buffer.from('DKBACK1\n');
const saltBytes = 16;
const headBytes = magic.length + keyIdBytes + saltBytes;
const tagBytes = 16;
const chunkBytes = 65_536;

/** The encrypted size of a file of `bytes` bytes. */
export const sealedSize = (bytes: number): number =>
  headBytes + bytes + tagBytes * Math.max(1, Math.ceil(bytes / chunkBytes));

/** The same bytes in chunks of `size`; the last one may be shorter. */
export async function* regrouped(body: AsyncIterable<Uint8Array>, size = chunkBytes): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let held = 0;
  for await (const part of body) {
    parts.push(part);
    held += part.byteLength;
    if (held < size) continue;
    const whole = Buffer.concat(parts);
    let at = 0;
    for (; held - at >= size; at += size) yield whole.subarray(at, at + size);
    parts = at < held ? [whole.subarray(at)] : [];
    held -= at;
  }
  if (held > 0) yield Buffer.concat(parts);
}

function nonceOf(chunk: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(chunk, 5, 6);
  nonce.writeUInt8(isLast ? 1 : 0, 11);
  return nonce;
}

/** Each chunk, with a flag for the last one; a single empty chunk when the body is empty. */
async function* withLast(body: AsyncIterable<Buffer>): AsyncGenerator<[chunk: Buffer, isLast: boolean]> {
  let held: Buffer | null = null;
  for await (const chunk of body) {
    if (held) yield [held, false];
    held = chunk;
  }
  yield [held ?? Buffer.alloc(0), true];
}

/** Encrypts `body` as the file `name`. */
export async function* sealed(
  body: AsyncIterable<Uint8Array>,
  { secret, id }: BackupKey,
  name: string,
): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(saltBytes);
  yield Buffer.concat([magic, Buffer.from(id, 'hex'), salt]);
  const key = derived(secret, salt, name, 32);
  let count = 0;
  for await (const [chunk, isLast] of withLast(regrouped(body))) {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(count, isLast));
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
    count += 1;
  }
}

async function head(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let held = 0; held < headBytes;) {
    const next = await source.next();
    if (next.done) break;
    parts.push(next.value);
    held += next.value.byteLength;
  }
  return Buffer.concat(parts);
}

async function* following(first: Buffer, source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
}

/** Decrypts the output of {@link sealed}. Throws {@link Damaged}. */
export async function* opened(
  body: AsyncIterable<Uint8Array>,
  { secret, id }: BackupKey,
  name: string,
): AsyncGenerator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  try {
    const beginning = await head(source);
    if (beginning.length < headBytes || !beginning.subarray(0, magic.length).equals(magic))
      throw new Damaged(`${name} is not an encrypted file of a backup.`);
    const salt = beginning.subarray(headBytes - saltBytes, headBytes);
    const itsId = beginning.subarray(magic.length, magic.length + keyIdBytes).toString('hex');
    if (itsId !== id)
      throw new Damaged(
        `${name} was encrypted with another key: it needs the one with the id ${itsId}, this is ${id}.`,
      );
    const key = derived(secret, salt, name, 32);
    let count = 0;
    const chunks = regrouped(following(beginning.subarray(headBytes), source), chunkBytes + tagBytes);
    for await (const [chunk, isLast] of withLast(chunks)) {
      yield openChunk(chunk, key, nonceOf(count, isLast), name);
      count += 1;
    }
  } finally {
    await source.return?.();
  }
}

function openChunk(chunk: Buffer, key: Buffer, nonce: Buffer, name: string): Buffer {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
    decipher.setAuthTag(chunk.subarray(-tagBytes));
    return Buffer.concat([decipher.update(chunk.subarray(0, -tagBytes)), decipher.final()]);
  } catch (error) {
    throw new Damaged(`${name} was changed or cut off after it was written.`, { cause: error });
  }
}

/** The number of leading bytes of a file that {@link keyIdIn} needs. */
export const keyIdEnd = magic.length + keyIdBytes;

/** The id of the key that the file was encrypted with, from its first bytes; null when it is not encrypted. */
export function keyIdIn(beginning: Uint8Array): string | null {
  const bytes = Buffer.from(beginning);
  return bytes.subarray(0, magic.length).equals(magic)
    ? bytes.subarray(magic.length, magic.length + keyIdBytes).toString('hex')
    : null;
}
