/** Starts the measured programs as processes of their own, and watches their memory. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { program } from '../bin/program.js';

export interface Service {
  readonly origin: string;
  readonly pid: number;
  /** Peak resident memory of the process and its children, in megabytes. */
  peakMemory(): number;
  /** Current resident memory of these processes, in megabytes. */
  memory(): number;
  /** Processor time that these processes have used, in seconds; null where it cannot be measured. */
  processorTime(): number | null;
  /** The end of its standard output. */
  output(): string;
  stop(): Promise<void>;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
}

const root = path.join(import.meta.dirname, '..');

function resident(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  try {
    const kilobytes = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (kilobytes) return Number(kilobytes) / 1024;
  } catch {
    // Not on Linux: `ps` reports the current value.
  }
  return Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) / 1024 || 0;
}

/** Returns a process and its children, which share its work. */
function withChildren(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return [pid, ...children.split(' ').filter(Boolean).map(Number)];
  } catch {
    return [pid];
  }
}

/**
 * Returns the user and system time of the process and its children in seconds, which Linux counts in hundredths; null
 * where it cannot be measured.
 */
function processorTime(pid: number): number | null {
  try {
    let time = 0;
    for (const each of withChildren(pid)) {
      const afterName = readFileSync(`/proc/${each}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      const [user, system] = afterName.slice(11, 13);
      time += (Number(user) + Number(system)) / 100;
    }
    return time;
  } catch {
    return null;
  }
}

function firstLine(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    child.once('exit', (code) => reject(new Error(`${name} ended with code ${code} before it was ready.`)));
  });
}

async function started(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<[ChildProcess, string]> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return [child, await firstLine(child, name)];
}

function service(child: ChildProcess, origin: string): Service {
  let peak = 0;
  const sum = (field: 'VmHWM' | 'VmRSS') =>
    withChildren(child.pid ?? 0).reduce((total, pid) => total + resident(pid, field), 0);
  const look = () => (peak = Math.max(peak, sum('VmHWM')));
  const watch = setInterval(look, 250);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output = `${output}${chunk}`.slice(-100_000)));
  async function end(signal: NodeJS.Signals): Promise<void> {
    clearInterval(watch);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await ended;
    clearTimeout(patience);
  }
  return {
    origin,
    pid: child.pid ?? 0,
    peakMemory: () => Math.round(look()),
    memory: () => Math.round(sum('VmRSS')),
    processorTime: () => processorTime(child.pid ?? 0),
    output: () => output,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

/** Returns the error message in the output of a failed program, on one line. */
export function complaint(said: string): string {
  const from = said.search(/error:/i);
  return said.slice(Math.max(0, from)).trim().split('\n').slice(0, 4).join(' ').slice(0, 500);
}

/** Maximum time until a peer has started, in milliseconds. */
const startMillis = 180_000;

/**
 * Starts the server of another product: a program for `node` in `cwd` that is ready when the address `ready` answers
 * with a status below 500. Throws the last of its output when it ends first or takes too long.
 */
export async function startPeer(
  name: string,
  args: string[],
  { node, cwd, env, ready }: { node: string; cwd: string; env: NodeJS.ProcessEnv; ready: string },
): Promise<Service> {
  const child = spawn(node, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (said = `${said}${chunk}`.slice(-4_000)));
  }
  const running = service(child, new URL(ready).origin);
  const until = performance.now() + startMillis;
  while (child.exitCode === null && child.signalCode === null && performance.now() < until) {
    const answer = await fetch(ready).catch(() => null);
    await answer?.text();
    if (answer && answer.status < 500) return running;
    await pause(200);
  }
  await running.stop();
  throw new Error(`${name} did not start: ${complaint(said)}`);
}

/** Starts the real service as `dealkeep serve` does (bin/dealkeep.js), with its limits out of the way. */
export async function startDealkeep(databaseUrl: string, env: NodeJS.ProcessEnv = {}): Promise<Service> {
  const [child, line] = await started('dealkeep serve', [...program, 'serve', '--json'], {
    DATABASE_URL: databaseUrl,
    MIGRATE_DATABASE_URL: '',
    HOST: '127.0.0.1',
    PORT: '0',
    RATE_LIMIT_STORE: 'memory',
    RATE_LIMIT_REST_IP: '1000000',
    LOG_LEVEL: 'warn',
    WEB_BUILD: 'off',
    ...env,
  });
  return service(child, new URL((JSON.parse(line) as { url: string }).url).origin);
}

/** Starts the bare server of bare.ts on the same database. */
export async function startBare(databaseUrl: string): Promise<Service> {
  const [child, line] = await started('the bare server', ['bench/bare.ts'], { DATABASE_URL: databaseUrl });
  return service(child, line);
}

/** Starts the SDK alone, with bare-sdk.ts; `results` is a JSON file with the result of each of its tools. */
export async function startBareSdk(results: string): Promise<Service> {
  const [child, line] = await started('the bare SDK', ['bench/bare-sdk.ts'], { BENCH_RESULTS: results });
  return service(child, line);
}
