/**
 * Installs missing packages in a checkout, and finds its Node.js and tools; the packed file installs nothing. Plain
 * JavaScript, because it also runs on Node 20.
 */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

export const root = path.dirname(import.meta.dirname);
export const tools = path.join(root, 'node_modules', '.bin');

/** Whether this is the packed file, installed by npm: it contains the compiled server instead of its sources. */
export const isPacked = !existsSync(path.join(root, 'server', 'cli', 'main.ts'));

const leastMajor = 24;

/**
 * The Node.js to run the server on: the one that npm installed for this platform, otherwise the current one if it is
 * new enough. Ends the process if there is neither.
 */
export function nodeProgram() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return path.join(path.dirname(manifest), 'bin', platform === 'win' ? 'node.exe' : 'node');
  } catch {
    // Omitted (npm install --omit=optional), or not available for this platform.
  }
  if (Number(process.versions.node.split('.')[0]) >= leastMajor) return process.execPath;
  process.stderr.write(
    `Dealkeep runs on Node.js ${leastMajor} or later; this is ${process.versions.node}, and the package ${name}, which includes one, is not installed. Install it, or run with Node.js ${leastMajor}.\n`,
  );
  process.exit(1);
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(path.join(root, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * Whether every package of the lock file is installed in that version; optional ones, such as those for other
 * platforms, may be missing.
 */
function isInstalled() {
  const installed = packagesOf('node_modules/.package-lock.json');
  if (!installed) return false;
  return Object.entries(packagesOf('package-lock.json')).every(([name, { version, integrity, optional, peer }]) => {
    if (name === '') return true;
    const found = installed[name];
    if (!found) return Boolean(optional || peer);
    return found.version === version && found.integrity === integrity;
  });
}

/** Installs with npm if the lock file differs from what is installed. Ends the process when that fails. */
export function ensureInstalled() {
  if (isPacked || isInstalled()) return;
  process.stderr.write('Installing what is missing (npm ci) …\n');
  // npm's output goes to standard error: standard output belongs to the program.
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) {
    process.stderr.write('npm ci failed: see its message above, fix the cause and start again.\n');
    process.exit(1);
  }
}

/** Runs a program in place of this process: same input and output, signals forwarded, and the same exit code. */
export function become(file, args, options = {}) {
  const env = { ...process.env, PATH: `${tools}${path.delimiter}${process.env.PATH ?? ''}` };
  const child = spawn(file, args, { stdio: 'inherit', env, ...options });
  child.on('error', (error) => {
    process.stderr.write(`${file} cannot be started: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const forwarded of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(forwarded);
    process.kill(process.pid, signal);
  });
  // Ctrl-C in a terminal reaches the whole process group, so the child has received it already; this process must only
  // not end first.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  endWith(child);
}

/**
 * Under `npm start`, npm is the parent process: when it is killed without being able to forward a signal, this process
 * stops the child.
 */
function endWith(child) {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, 250);
  watch.unref();
}
