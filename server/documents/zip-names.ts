/** The names of the files in a ZIP archive whose headers are in its beginning. */

/** Longer than any name by which a kind is recognized; a header of thirty bytes can announce a name of 65,535. */
const longestName = 1_024;

const signature = Buffer.from([0x50, 0x4b, 0x03, 0x04]);

/** Yields the names of the entries whose headers are in `head` (APPNOTE 4.3.7). */
export function* zipNames(head: Uint8Array): Generator<string> {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  for (let at = bytes.indexOf(signature); at !== -1; at = bytes.indexOf(signature, at + 4)) {
    if (at + 30 > bytes.length) return;
    const name = bytes.subarray(at + 30, at + 30 + Math.min(bytes.readUInt16LE(at + 26), longestName));
    yield name.toString('utf8');
  }
}
