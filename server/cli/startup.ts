/** What is made ready before the first answer, by a service of one process and of several alike. */

import type { Config } from '../config/config.ts';
import { openConnections, type Connections } from '../database/connections.ts';
import { checkStoreMarker } from '../documents/store-marker.ts';
import { requireKeysOfSecrets } from '../domain/accounts/sealed-secrets.ts';
import type { Logger } from '../lib/log.ts';
import type { CoreServices } from '../services.ts';
import type { Telemetry } from './telemetry.ts';
import { buildWeb, needsBuild } from './web-build.ts';

export interface Running {
  readonly services: CoreServices;
  /** Resolves with a sentence when what the service cannot do without has ended. */
  readonly died: Promise<string>;
  /** Is not ready any more and closes each connection with its next answer, but answers, for these seconds or until `hurry`. */
  drain(seconds: number, hurry: AbortSignal): Promise<void>;
  /** Finishes the requests in flight, then closes everything. Calling it again waits for the same end. */
  stop(): Promise<void>;
}

/** What is done between the opening of the database and the first answer. */
export type Prepare = (services: CoreServices, connections: Connections) => Promise<void>;

/**
 * Starts the server. Rejects, with everything closed again, when something is not as it must be, and when `signal`
 * asks to stop before it is ready.
 */
export type Start = (config: Config, telemetry: Telemetry, prepare: Prepare, signal: AbortSignal) => Promise<Running>;

/** What a start has to hand: the migrated database, what is to be closed, last first, and what does that, once. */
interface Opened {
  readonly connections: Connections;
  readonly closers: (() => Promise<unknown>)[];
  readonly stop: () => Promise<void>;
}

/** Opens the database, then what `open` opens; a start that fails, or that `signal` ends, closes all that is open by then. */
export async function opening(
  config: Config,
  log: Logger,
  signal: AbortSignal,
  open: (opened: Opened) => Promise<Running>,
): Promise<Running> {
  const closers: (() => Promise<unknown>)[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () =>
    (stopped ??= (async () => {
      for (const close of closers.toReversed()) await close();
    })());
  try {
    const connections = await openPrepared(config, log);
    closers.push(() => connections.stop());
    signal.throwIfAborted();
    return await open({ connections, closers, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The database, migrated. */
async function openPrepared(config: Config, log: Logger): Promise<Connections> {
  const connections = await openConnections(config, (files) => {
    if (files.length > 0) log.info({ files }, 'applied migrations');
  });
  if (connections.directory) log.info({ directory: connections.directory }, 'the embedded PostgreSQL is running');
  return connections;
}

/**
 * Whether the port is opened before all else is ready, and says meanwhile that the service starts. With a database that other nodes
 * may use it is opened last: a balancer that asks nothing beforehand goes to another node when it is refused, but hands
 * on what it is answered.
 */
export const opensPortFirst = ({ databaseUrl, port, buildWeb: builds }: Config): boolean =>
  databaseUrl === undefined || port === 0 || (builds && needsBuild());

/** Builds the web application where the configuration says so and its sources are newer. */
async function prepareWeb(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  if (!config.buildWeb || !needsBuild()) return;
  log.info('building the web application');
  // The interfaces work without it, so its failure does not keep them from starting.
  await buildWeb(signal).catch((error: Error) =>
    log.error({ reason: error.message }, 'the web application is not built'),
  );
  signal.throwIfAborted();
}

/** Makes sure of the store and the secrets, builds what is to be built, and prepares. */
export async function makeReady(
  services: CoreServices,
  connections: Connections,
  prepare: Prepare,
  config: Config,
  signal: AbortSignal,
): Promise<void> {
  await checkStoreMarker(services, signal);
  await requireKeysOfSecrets(services);
  await prepareWeb(config, services.log, signal);
  await prepare(services, connections);
  signal.throwIfAborted();
}
