/**
 * `node drill/served.ts <folder>`, run where there is no network: starts the product that npm installed in the folder
 * as a person would, requests something of each interface, starts it five times on its data, and prints the results as
 * one line of JSON.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { printedUrl } from '../bench/printed-url.ts';

const folder = process.argv[2] ?? '.';
const dataDir = path.join(folder, '.data');

export interface Served {
  /** Each request with the status of its response, or the error without one. */
  readonly answers: Readonly<Record<string, number | string>>;
  /** Milliseconds from the start of the command to its first answer, on existing data, for each start. */
  readonly readyMillis: readonly number[];
  /** Milliseconds of processor time of all processes in each of these starts: more telling on a busy machine. */
  readonly processorMillis: readonly number[];
}

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly millis: number;
}

async function started(command: 'serve' | 'demo'): Promise<Started> {
  const began = performance.now();
  const child = spawn('npx', ['--no-install', 'dealkeep', command, '--json'], {
    cwd: folder,
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'error', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await printedUrl(child, `dealkeep ${command}`);
  return { child, url, millis: performance.now() - began };
}

/**
 * Milliseconds of processor time that a process and its descendants have used so far (proc_pid_stat(5)), at a hundred
 * ticks a second.
 */
function processorMillis(root: number): number {
  const used = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one)))
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0);
      used.set(Number(name), { parent: fields[1] ?? 0, ticks });
    } catch {
      // The process has ended meanwhile.
    }
  const isOf = (pid: number): boolean => pid === root || (used.has(pid) && isOf(used.get(pid)!.parent));
  return [...used].reduce((sum, [pid, { ticks }]) => sum + (isOf(pid) ? ticks * 10 : 0), 0);
}

async function stop({ child }: Started): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** The status of the response at `where`; with `holds`, also whether the body contains that text. */
async function status(where: string, init: RequestInit = {}, holds = ''): Promise<number | string> {
  try {
    const answer = await fetch(where, { ...init, redirect: 'manual' });
    const text = await answer.text();
    return text.includes(holds) ? answer.status : `${answer.status} without ${holds}`;
  } catch (error) {
    return String(error);
  }
}

async function look(): Promise<Served> {
  const demo = await started('demo');
  const at = (where: string) => new URL(where, demo.url).href;
  const { people, keys } = JSON.parse(readFileSync(path.join(dataDir, 'demo.json'), 'utf8')) as {
    people: Record<string, { email: string; password: string }>;
    keys: Record<string, string>;
  };
  const page = await (await fetch(at('/'))).text();
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '/no-script';
  const { email, password } = people['broker'] ?? { email: '', password: '' };
  const answers = {
    'the network': await status('http://192.0.2.1/', { signal: AbortSignal.timeout(2_000) }),
    'the first page': await status(at('/'), {}, '<script'),
    'its script': await status(at(script)),
    'a page of the server in our colours': await status(at('/page.css'), {}, '--'),
    ready: await status(at('/readyz')),
    'the reference': await status(at('/api/v1/docs/reader.js'), {}, 'createApiReference'),
    'the guide': await status(at('/api/v1/docs/guide.md'), {}, 'Idempotency-Key'),
    'contacts by REST': await status(
      at('/api/v1/contacts'),
      { headers: { authorization: `Bearer ${keys['full']}` } },
      '"data"',
    ),
    'the tool server, without a token': await status(at('/api/mcp'), { method: 'POST' }),
    'sign-in': await status(
      at('/api/auth/sign-in'),
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: new URL(demo.url).origin },
        body: JSON.stringify({ email, password }),
      },
      'signed_in',
    ),
  };
  await stop(demo);
  const readyMillis: number[] = [];
  const processor: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const again = await started('serve');
    readyMillis.push(again.millis);
    processor.push(processorMillis(again.child.pid ?? 0));
    await stop(again);
  }
  return { answers, readyMillis, processorMillis: processor };
}

process.stdout.write(`${JSON.stringify(await look())}\n`);
