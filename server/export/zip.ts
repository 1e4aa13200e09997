/**
 * Streams a ZIP archive (PKWARE's APPNOTE 6.3.10): of each file only its entry in the central directory is held in
 * memory. Sizes and digests follow each file (4.3.9), so that nothing has to be known before; offsets and the number of
 * files may take 64 bits (4.5.3).
 */

import { createHash } from 'node:crypto';
import { crc32, createDeflateRaw } from 'node:zlib';
import { through } from '../backup/backups.ts';

/** A file as it was archived. */
export interface ArchivedFile {
  readonly path: string;
  /** Uncompressed size. */
  readonly bytes: number;
  readonly sha256: string;
}

export interface FileToArchive {
  readonly path: string;
  readonly content: AsyncIterable<Uint8Array | string>;
  /** Whether the content is compressed already, and is stored uncompressed. */
  readonly compressed?: boolean;
  /** Called when the whole file has been written. */
  readonly written?: (file: ArchivedFile) => void;
}

/** A file is too large for the archive; the message names it. */
class TooLargeToArchive extends Error {
  override readonly name = 'TooLargeToArchive';
}

const most = 0xffff_ffff;
/** General purpose bits: sizes follow the file; its name is UTF-8. */
const flags = 0x0808;
const deflated = 8;

function numbers(...fields: readonly [bytes: 2 | 4 | 8, value: number][]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields) {
    if (bytes === 8) buffer.writeBigUInt64LE(BigInt(value), at);
    else buffer.writeUIntLE(value, at, bytes);
    at += bytes;
  }
  return buffer;
}

/** The time in MS-DOS format, in UTC, with a resolution of two seconds. */
const dosTime = (at: Date): [time: number, date: number] => [
  (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
  ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
];

interface Listed {
  readonly name: Buffer;
  readonly crc: number;
  readonly packed: number;
  readonly bytes: number;
  readonly offset: number;
}

/** The file's entry in the central directory. */
function listing({ name, crc, packed, bytes, offset }: Listed, [time, date]: [number, number]): Buffer {
  const extra = offset < most ? Buffer.alloc(0) : numbers([2, 1], [2, 8], [8, offset]);
  const head = numbers(
    [4, 0x0201_4b50],
    [2, (3 << 8) | 45],
    [2, 45],
    [2, flags],
    [2, deflated],
    [2, time],
    [2, date],
    [4, crc],
    [4, packed],
    [4, bytes],
    [2, name.length],
    [2, extra.length],
    [2, 0],
    [2, 0],
    [2, 0],
    // Unix mode of a regular file that only its owner can read and write.
    [4, 0o100600 * 0x1_0000],
    [4, Math.min(offset, most)],
  );
  return Buffer.concat([head, name, extra]);
}

/** The records after the central directory: number of files, and where the directory begins. */
function ending(count: number, size: number, offset: number, mostFiles: number): Buffer {
  const isLarge = count >= mostFiles || offset + size >= most;
  const large = isLarge
    ? [
        numbers(
          [4, 0x0606_4b50],
          [8, 44],
          [2, (3 << 8) | 45],
          [2, 45],
          [4, 0],
          [4, 0],
          [8, count],
          [8, count],
          [8, size],
          [8, offset],
        ),
        numbers([4, 0x0706_4b50], [4, 0], [8, offset + size], [4, 1]),
      ]
    : [];
  const small = numbers(
    [4, 0x0605_4b50],
    [2, 0],
    [2, 0],
    [2, isLarge ? 0xffff : count],
    [2, isLarge ? 0xffff : count],
    [4, isLarge ? most : size],
    [4, isLarge ? most : offset],
    [2, 0],
  );
  return Buffer.concat([...large, small]);
}

/**
 * Yields the archive of these files, each of which is read when its turn comes. `mostFiles`: from how many files on
 * their number takes 64 bits. Throws {@link TooLargeToArchive} at a file of 4 GB.
 */
export async function* zipped(
  files: AsyncIterable<FileToArchive>,
  at: Date,
  mostFiles = 0xffff,
): AsyncGenerator<Uint8Array> {
  const [time, date] = dosTime(at);
  const list: Buffer[] = [];
  let place = 0;
  for await (const { path, content, compressed = false, written } of files) {
    const name = Buffer.from(path);
    const head = numbers(
      [4, 0x0403_4b50],
      [2, 45],
      [2, flags],
      [2, deflated],
      [2, time],
      [2, date],
      [4, 0],
      [4, 0],
      [4, 0],
      [2, name.length],
      [2, 0],
    );
    yield Buffer.concat([head, name]);
    const digest = createHash('sha256');
    let crc = 0;
    let bytes = 0;
    let packed = 0;
    async function* measured(): AsyncGenerator<Uint8Array> {
      for await (const part of content) {
        const chunk = typeof part === 'string' ? Buffer.from(part) : part;
        digest.update(chunk);
        crc = crc32(chunk, crc);
        bytes += chunk.byteLength;
        yield chunk;
      }
    }
    for await (const part of through(measured(), createDeflateRaw({ level: compressed ? 0 : 6 }))) {
      packed += part.byteLength;
      yield part;
    }
    if (Math.max(bytes, packed) >= most)
      throw new TooLargeToArchive(`${path} is too large: a file in an archive must be smaller than 4 GB.`);
    yield numbers([4, 0x0807_4b50], [4, crc], [4, packed], [4, bytes]);
    list.push(listing({ name, crc, packed, bytes, offset: place }, [time, date]));
    place += head.length + name.length + packed + 16;
    written?.({ path, bytes, sha256: digest.digest('hex') });
  }
  let size = 0;
  for (const line of list) {
    yield line;
    size += line.length;
  }
  yield ending(list.length, size, place, mostFiles);
}
