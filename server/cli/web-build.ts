/** Builds the web application when its sources are newer than the last build. */

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
const sources = path.join(root, 'web');
const built = path.join(sources, 'dist');

/** When anything in or below the directory last changed, except the build's output. */
export function newest(directory: string): number {
  const times = readdirSync(directory, { withFileTypes: true }).map((entry) => {
    const inner = path.join(directory, entry.name);
    if (!entry.isDirectory()) return statSync(inner).mtimeMs;
    return inner === built || entry.name === 'node_modules' ? 0 : newest(inner);
  });
  return Math.max(statSync(directory).mtimeMs, ...times);
}

/** Whether a build is needed: there is none yet, or a source or a dependency has changed since. */
export function needsBuild(): boolean {
  if (!existsSync(path.join(sources, 'index.html'))) return false;
  const page = path.join(built, 'index.html');
  if (!existsSync(page)) return true;
  // The directory's own time also changes when dist is recreated.
  const inputs = readdirSync(sources, { withFileTypes: true }).filter(({ name }) => name !== 'dist');
  const times = inputs.map((entry) => {
    const inner = path.join(sources, entry.name);
    return entry.isDirectory() ? newest(inner) : statSync(inner).mtimeMs;
  });
  return statSync(page).mtimeMs < Math.max(statSync(path.join(root, 'package-lock.json')).mtimeMs, ...times);
}

const limitMillis = 180_000;

/** Builds the web application. */
export const buildWeb = (signal: AbortSignal): Promise<void> => build([sources], signal);

/** Builds with Vite in a separate process, so that its memory is freed. Rejects with the end of the build's output. */
export async function build(args: readonly string[], signal: AbortSignal): Promise<void> {
  const program = path.join(root, 'node_modules/vite/bin/vite.js');
  const child = spawn(process.execPath, [program, 'build', ...args, '--logLevel', 'error'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(limitMillis)]),
    killSignal: 'SIGKILL',
  });
  let said = '';
  const keep = (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4_000));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(said.trim() || `The build ended with ${code}.`);
}
