/** The mails kept in files when no mail server is configured. */

import { opendir, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isUuid } from '../lib/uuid.ts';

/** Returns the directory of the files. */
export const mailDirectory = (dataDir: string): string => path.join(dataDir, 'mail');

/**
 * Returns the mail's id in the outbox: the common part of the names of its files, including one still being written.
 */
const mailOf = (file: string): string => file.replace(/\..*$/, '');

async function filesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** Returns the ids of the mails in the directory. */
export async function mailsIn(directory: string): Promise<string[]> {
  const ids = new Set((await filesIn(directory)).map(mailOf));
  return [...ids].filter(isUuid);
}

/**
 * Returns the content of a file; empty when it was removed or renamed meanwhile, since other processes remove and write
 * mails.
 */
async function contentOf(file: string): Promise<Buffer> {
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
}

const bytesOf = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));

/**
 * Returns a mail without the headers that we add, except recipient and subject: they contain the sender address of all
 * mails, and an account with that address would match every mail.
 */
function withoutOurHead(mail: string): string {
  const [head = ''] = /^[^]*?\r?\n\r?\n/.exec(mail) ?? [];
  const lines = head.replaceAll(/\r?\n[\t ]+/g, ' ').split(/\r?\n/);
  return [...lines.filter((line) => /^(?:to|subject):/i.test(line)), '', mail.slice(head.length)].join('\n');
}

/**
 * Returns the texts of a mail in lower case: decoded from quoted-printable and base64 (RFC 2045, section 6), or a .txt
 * file as it is.
 */
function textsOf(file: string, content: Buffer): string[] {
  const raw = content.toString('latin1');
  const encoded = raw.match(/(?:^[A-Za-z0-9+/]+={0,2}\r?\n)+/gm) ?? [];
  const texts = file.startsWith('.txt', mailOf(file).length)
    ? [content]
    : [Buffer.from(bytesOf(withoutOurHead(raw)), 'latin1'), ...encoded.map((block) => Buffer.from(block, 'base64'))];
  return texts.map((text) => text.toString('utf8').toLowerCase());
}

/** Returns the text as a regular expression that matches it alone. */
export const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/**
 * Matches an address only as a whole: "ann@people.example" matches neither "jo-ann@people.example" nor
 * "ann@people.example.org".
 */
const addressPattern = (address: string): RegExp =>
  new RegExp(
    String.raw`(?<![\p{L}\p{M}\p{N}][!#$%&'*+./=?^_\x60{|}~-]{0,64})${escaped(address.toLowerCase())}(?![\p{L}\p{M}\p{N}]|[.-]+[\p{L}\p{N}])`,
    'u',
  );

/**
 * Removes the mails with these ids, and those to an address or with it in their text; returns how many. Rejects when a
 * file cannot be read or removed. Names are not searched for: people and brokerages choose them freely, and some are
 * words that occur in every mail.
 */
export async function removeMails(directory: string, ids: readonly string[], address?: string): Promise<number> {
  const files = await filesIn(directory);
  const removed = new Set(ids);
  const pattern = address === undefined ? null : addressPattern(address);
  const found = new Set<string>();
  for (const file of files) {
    const mail = mailOf(file);
    if (found.has(mail)) continue;
    const isFound =
      removed.has(mail) ||
      (pattern !== null &&
        textsOf(file, await contentOf(path.join(directory, file))).some((text) => pattern.test(text)));
    if (isFound) found.add(mail);
  }
  await Promise.all(
    files.filter((file) => found.has(mailOf(file))).map((file) => rm(path.join(directory, file), { force: true })),
  );
  return found.size;
}

/**
 * Removes files of mails that were last written before a time, at most `most` of them; returns how many. Files that are
 * not mails stay; another process may remove the same ones at the same time.
 */
export async function removeOldMails(directory: string, before: Date, most: number): Promise<number> {
  const entries = await opendir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  let removed = 0;
  for await (const { name } of entries ?? []) {
    if (!isUuid(mailOf(name))) continue;
    const file = path.join(directory, name);
    const written = await stat(file).catch(() => null);
    if (written === null || !written.isFile() || written.mtime >= before) continue;
    await rm(file, { force: true });
    removed += 1;
    if (removed >= most) break;
  }
  return removed;
}
