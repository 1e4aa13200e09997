/** The commands serve, demo and migrate: run a server from start to end, and report to the terminal or log. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startPublisher } from '../background/publisher.ts';
import { startScheduledJobs } from '../scheduled-jobs.ts';
import { openTelemetry } from './telemetry.ts';
import { startScheduledBackups } from './scheduled-backup.ts';
import { readConfig } from '../config/config.ts';
import type { CoreServices } from '../services.ts';
import { UnusableDatabase } from '../database/client.ts';
import { migrateDatabase, type Connections } from '../database/connections.ts';
import { row } from '../database/statement.ts';
import { setUpUrl } from '../http/links.ts';
import { restPath } from '../http/rest-path.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import type { Logger } from '../lib/log.ts';

interface Output {
  readonly json?: boolean;
}

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** The URLs of the service. */
function addresses({ config }: CoreServices) {
  return { url: `${config.baseUrl}/`, rest_url: `${config.baseUrl}${restPath}`, mcp_url: config.baseUrl };
}

interface End {
  readonly reason: string;
  readonly failed: boolean;
  /** Whether load balancers and clients are given time to notice that this node leaves. */
  readonly drains?: boolean;
}

/** Resolves with the reason to stop: a signal, the end of the parent process, or an uncaught error. */
function reasonToStop(log: Logger): Promise<End> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => resolve({ reason: signal, failed: false, drains: signal === 'SIGTERM' }));
    }
    // bin/dealkeep.js holds the other end of the channel: it closes even when that process was killed and could send no
    // signal.
    process.once('disconnect', () => resolve({ reason: 'the process that started this one is gone', failed: false }));
    process.channel?.unref();
    const fault = (error: unknown) => {
      log.fatal({ err: error }, 'an uncaught error');
      resolve({ reason: 'an uncaught error', failed: true });
    };
    process.on('uncaughtException', fault);
    process.on('unhandledRejection', fault);
  });
}

/** Aborted by the next signal. */
function nextSignal(): AbortSignal {
  const asked = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => asked.abort());
  return asked.signal;
}

/** Work before the first request is answered; resolves with what to announce besides the addresses. */
type Prepare = (services: CoreServices, connections: Connections) => Promise<Announcement>;

/** Loads only the modules for a single process, or for the primary of several workers. */
const starter = async (workers: number) =>
  workers > 1 ? (await import('./workers.ts')).startWorkers : (await import('./serve.ts')).start;

/**
 * Runs the service until there is a reason to stop, then ends the process: with exit code 0 when it was asked to stop.
 */
async function run({ json }: Output, prepare: Prepare): Promise<void> {
  const config = readConfig();
  const telemetry = await openTelemetry(config);
  const { log } = telemetry;
  const starting = new AbortController();
  const asked = reasonToStop(log);
  void asked.then(() => starting.abort());
  let more: Announcement = {};
  const prepared = async (services: CoreServices, connections: Connections) => {
    more = await prepare(services, connections);
  };
  const start = await starter(config.workers);
  const running = await start(config, telemetry, prepared, starting.signal).catch((error: unknown) => {
    if (!starting.signal.aborted) throw error;
    return null;
  });
  if (running) {
    const stopScheduledJobs = startScheduledJobs(running.services);
    const stopBackups = startScheduledBackups(running.services);
    const stopPublisher = startPublisher(running.services);
    log.info(addresses(running.services), 'ready');
    announce(running.services, json, more);
    const died = running.died.then((reason): End => ({ reason, failed: true }));
    const { reason, failed, drains } = await Promise.race([asked, died]);
    if (drains && config.drainSeconds > 0) {
      log.info({ reason, seconds: config.drainSeconds }, 'shutting down: no longer ready, still answering');
      await running.drain(config.drainSeconds, nextSignal());
    }
    log[failed ? 'fatal' : 'info']({ reason }, 'stopping: finishing the requests in flight');
    stopScheduledJobs();
    stopBackups();
    stopPublisher();
    await running.stop();
    if (failed) process.exitCode = 1;
  }
  log.info('stopped');
  // Everything is closed; handles that a library may still hold must not keep the process alive.
  process.exit();
}

/** Lines printed when the service is ready; a null is left out. */
interface Announcement {
  readonly set_up_url?: string | null;
  readonly demo_file?: string;
}

const labels = {
  url: 'Dealkeep',
  rest_url: 'REST API',
  mcp_url: 'Tool server',
  set_up_url: 'Set-up',
  demo_file: 'Demo',
};

/**
 * Where the set-up link is printed: in the terminal in which the service was started; otherwise in a file that only its
 * user can read, since the output then goes to a log, whose readers could use the link.
 */
function placeOfSetUp({ config }: CoreServices, url: string): string {
  if (process.stdout.isTTY) return url;
  const file = path.join(config.dataDir, 'set-up-link');
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  rmSync(file, { force: true });
  writeFileSync(file, `${url}\n`, { mode: 0o600 });
  return `the link is in ${file}`;
}

function announce(services: CoreServices, json: boolean | undefined, more: Announcement): void {
  const printed: Record<string, string | null> = { ...addresses(services), ...more };
  if (json) return say(JSON.stringify(printed));
  if (more.set_up_url) printed['set_up_url'] = placeOfSetUp(services, more.set_up_url);
  const lines = Object.entries(labels).flatMap(([name, label]) =>
    printed[name] ? [`  ${label.padEnd(12)} ${printed[name]}`] : [],
  );
  say(['', ...lines, ''].join('\n'));
  if (more.set_up_url) {
    say(
      '  There is no account yet: the set-up link creates the first brokerage and its admin. It works once, for 24 hours.\n',
    );
  }
}

const keepSetUpLink = row<{ offered: boolean }, [digest: Buffer]>(
  'offer_set_up',
  'select app.offer_set_up($1) as offered',
);

/** A new one-time link that creates the first brokerage; null when a brokerage exists. */
async function offerSetUp({ config, database }: CoreServices): Promise<string | null> {
  const token = mintToken();
  const kept = await database.run(keepSetUpLink(tokenDigest(token)));
  return kept?.offered ? setUpUrl(config.baseUrl, token) : null;
}

/** The command serve. */
export function serve(output: Output): Promise<void> {
  return run(output, async (services) => ({ set_up_url: await offerSetUp(services) }));
}

/** The command demo. */
export async function demo(output: Output): Promise<void> {
  // Developers who try webhooks run their receiver on the same machine. Workers inherit the variable.
  process.env['WEBHOOKS_ALLOW_LOOPBACK'] ??= 'on';
  const { prepareDemo } = await import('./demo.ts');
  return run(output, async ({ config, storage }, { owner }) => {
    if (!owner)
      throw new UnusableDatabase('Loading the demo needs the connection of the owner: set MIGRATE_DATABASE_URL.');
    return { demo_file: await prepareDemo(config, owner, storage) };
  });
}

/** The command migrate. */
export async function migrateOnly({ json }: Output): Promise<void> {
  const applied = await migrateDatabase(readConfig());
  if (json) say(JSON.stringify({ applied }));
  else say(applied.length > 0 ? applied.map((name) => `applied ${name}`).join('\n') : 'The database is up to date.');
}
