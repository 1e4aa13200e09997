/** The mails that are kept in files where no mail server is configured. */

import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';

/** Where they lie. */
export const mailDirectory = (dataDir: string): string => path.join(dataDir, 'mail');

const bytesOf = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));

/** What a mail says, in lower case: as it is, out of quoted-printable, and out of base64 (RFC 2045, section 6). */
function wordsOf(mail: Buffer): string[] {
  const raw = mail.toString('latin1');
  const encoded = raw.match(/(?:^[A-Za-z0-9+/]+={0,2}\r?\n)+/gm) ?? [];
  return [mail, Buffer.from(bytesOf(raw), 'latin1'), ...encoded.map((block) => Buffer.from(block, 'base64'))].map(
    (text) => text.toString('utf8').toLowerCase(),
  );
}

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** Of a mail there are several files, and one that was being written: what their names have in common. */
const mailOf = (file: string): string => file.replace(/\..*$/, '');

/** Removes the mails that name one of these; how many there were. Rejects when a file cannot be read or removed. */
export async function removeMailsNaming(directory: string, names: readonly string[]): Promise<number> {
  const files = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  // As words of their own: "Ann" is not in "channel".
  const sought = names.map(
    (name) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(name.toLowerCase())}(?![\\p{L}\\p{N}])`, 'u'),
  );
  const found = new Set<string>();
  for (const name of files) {
    const texts = wordsOf(await readFile(path.join(directory, name)));
    if (texts.some((text) => sought.some((word) => word.test(text)))) found.add(mailOf(name));
  }
  await Promise.all(
    files.filter((name) => found.has(mailOf(name))).map((name) => rm(path.join(directory, name), { force: true })),
  );
  return found.size;
}
