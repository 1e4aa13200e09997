/** Writes ZIP archives without compression (APPNOTE.TXT, 4.3). */

import { crc32 } from 'node:zlib';

/** What stands both before a file and in the directory. */
function descriptionOf(name: Buffer, body: Buffer): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0); // version 2.0; no flags, no compression, no time
  fields.writeUInt32LE(crc32(body), 10);
  fields.writeUInt32LE(body.length, 14);
  fields.writeUInt32LE(body.length, 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

const marked = (mark: number, ...parts: readonly Buffer[]): Buffer => {
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(mark);
  return Buffer.concat([signature, ...parts]);
};

/** An archive of these files. */
export function storedArchive(files: readonly (readonly [name: string, body: Buffer])[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [path, body] of files) {
    const name = Buffer.from(path);
    const description = descriptionOf(name, body);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(marked(0x02014b50, Buffer.from([20, 0]), description, place, name));
    const part = marked(0x04034b50, description, name, body);
    parts.push(part);
    at += part.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...parts, listed, marked(0x06054b50, end)]);
}
