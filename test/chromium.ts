/** The Chromium that the tests use, unpacked from its npm package. */

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import chromium from '@sparticuz/chromium';

const root = path.join(import.meta.dirname, '..');
const { devDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  devDependencies: { '@sparticuz/chromium': string };
};
/** On the disk, because temporary files may be kept in memory. */
const kept = path.join(root, 'node_modules/.cache', `chromium-${devDependencies['@sparticuz/chromium']}`);
const executable = path.join(kept, 'chromium');

/**
 * The package unpacks into `TMPDIR`, which it reads when it is called, and assumes that files which are there already
 * are complete.
 */
function unpackInto(folder: string): Promise<string> {
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = folder;
  const unpacked = chromium.executablePath();
  if (TMPDIR === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = TMPDIR;
  return unpacked;
}

/**
 * Returns the path of the executable, which is unpacked on first use. When several processes unpack it at once, one
 * copy is kept.
 */
export async function chromiumProgram(): Promise<string> {
  if (existsSync(executable)) return executable;
  await mkdir(path.dirname(kept), { recursive: true });
  const made = await mkdtemp(`${kept}-`);
  try {
    await unpackInto(made);
    await rename(made, kept);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    if (!existsSync(executable)) throw error;
  }
  return executable;
}
