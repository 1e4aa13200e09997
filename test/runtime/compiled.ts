/** The program as it is packed, for the tests that start it: compiled into few files, it starts in half the processor time. */

import { existsSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { build, newest } from '../../server/cli/web-build.ts';

const root = path.join(import.meta.dirname, '../..');
const kept = path.join(root, 'node_modules/.cache/program');
const main = 'dist/server/main.js';

/** Whether a source has changed since the program was compiled. */
function isOutdated(): boolean {
  if (!existsSync(path.join(kept, main))) return true;
  const directories = ['bin', 'server', 'database', 'web/src'].map((name) => newest(path.join(root, name)));
  const files = ['package-lock.json', 'pack.config.ts'].map((name) => statSync(path.join(root, name)).mtimeMs);
  return statSync(path.join(kept, main)).mtimeMs < Math.max(...directories, ...files);
}

/**
 * Compiles the program unless it is up to date; returns its folder, laid out like one that npm installed. The folder is
 * below node_modules, where the program finds the Node.js and the PostgreSQL of the checkout.
 */
export async function compiledProgram(): Promise<string> {
  if (!isOutdated()) return kept;
  await mkdir(path.dirname(kept), { recursive: true });
  const made = await mkdtemp(`${kept}-`);
  try {
    const outDir = path.join(made, path.dirname(main));
    await build(['--config', path.join(root, 'pack.config.ts'), '--outDir', outDir], new AbortController().signal);
    // Not a link: the program recognizes by its location that it is packed.
    await cp(path.join(root, 'bin'), path.join(made, 'bin'), { recursive: true });
    for (const name of ['web', 'database', 'deploy', 'docs', 'CHANGELOG.md', 'package.json'])
      await symlink(path.join(root, name), path.join(made, name));
    await rm(kept, { recursive: true, force: true });
    await rename(made, kept);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    throw error;
  }
  return kept;
}
