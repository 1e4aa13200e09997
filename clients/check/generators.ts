/** The generators of others that clients are made with, as the versions in generators/package.json and the lock beside it have them. */

import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { npmEnvironment } from './environment.ts';

const run = promisify(execFile);

const from = path.join(import.meta.dirname, 'generators');
const files = ['package.json', 'package-lock.json'];

/** How long npm may take, in milliseconds. */
const millis = 60_000;

/** Each with its exact version, and what they need beside them. */
export const generatorPackages = async (): Promise<Readonly<Record<string, string>>> =>
  (JSON.parse(await readFile(path.join(from, 'package.json'), 'utf8')) as { dependencies: Record<string, string> })
    .dependencies;

/**
 * Installs them once into a folder of `cache`, without running what they bring; other runs find them there. Answers with the folder, or with a sentence that says why npm
 * could not: no network, or one that is too slow.
 */
export async function installGenerators(cache: string): Promise<{ directory: string } | { fault: string }> {
  let unfinished: string | undefined;
  try {
    const lock = await readFile(path.join(from, 'package-lock.json'));
    const directory = path.join(cache, `generators-${hash('sha256', lock).slice(0, 16)}`);
    if (existsSync(directory)) return { directory };
    await mkdir(cache, { recursive: true });
    unfinished = await mkdtemp(path.join(cache, 'unfinished-'));
    for (const file of files) await copyFile(path.join(from, file), path.join(unfinished, file));
    const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', ['ci', ...quietly, '--prefer-offline', '--fetch-retries=0'], {
      cwd: unfinished,
      env: npmEnvironment(),
      timeout: millis,
      killSignal: 'SIGKILL',
    });
    // Whole or not at all; of two that install at once, the second finds that the first has.
    await rename(unfinished, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
    return { directory };
  } catch (error) {
    const { killed, stderr, message } = error as { killed?: boolean; stderr?: string; message: string };
    const why = killed ? `it took longer than ${millis / 1_000} seconds` : (stderr || message).trim().slice(0, 500);
    return { fault: `npm could not install the generators of clients: ${why}` };
  } finally {
    if (unfinished !== undefined) await rm(unfinished, { recursive: true, force: true });
  }
}
