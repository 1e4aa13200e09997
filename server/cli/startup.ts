/** Preparations before the first request is answered, shared by a service of one process and of several. */

import { announceNode } from '../background/announced-node.ts';
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
  /** Resolves with a sentence when something that the service cannot run without has ended. */
  readonly died: Promise<string>;
  /**
   * Reports not ready and closes each connection after its next response, but keeps answering, for this many seconds or
   * until `hurry`.
   */
  drain(seconds: number, hurry: AbortSignal): Promise<void>;
  /** Finishes the requests in flight, then closes everything. May be called again. */
  stop(): Promise<void>;
}

/** Work between the opening of the database and the first response. */
export type Prepare = (services: CoreServices, connections: Connections) => Promise<void>;

/**
 * Starts the server. Rejects, with everything closed again, when a precondition is not met, and when `signal` asks to
 * stop before the server is ready.
 */
export type Start = (config: Config, telemetry: Telemetry, prepare: Prepare, signal: AbortSignal) => Promise<Running>;

/**
 * What a start works with: the migrated database, functions that close what was opened, called in reverse order, and
 * `stop`, which calls them once.
 */
interface Opened {
  readonly connections: Connections;
  readonly closers: (() => Promise<unknown>)[];
  readonly stop: () => Promise<void>;
}

/**
 * Opens the database, then what `open` opens; when the start fails or `signal` aborts it, closes everything opened so
 * far.
 */
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

/** Opens the database and migrates it. */
async function openPrepared(config: Config, log: Logger): Promise<Connections> {
  const connections = await openConnections(config, (files) => {
    if (files.length > 0) log.info({ files }, 'applied migrations');
  });
  if (connections.directory) log.info({ directory: connections.directory }, 'the embedded PostgreSQL is running');
  return connections;
}

/**
 * Whether the port is opened before everything else is ready, and meanwhile answers that the service is starting. With
 * a database that other nodes may use the port is opened last: a load balancer without health checks goes to another
 * node when a connection is refused, but passes on any response.
 */
export const opensPortFirst = ({ databaseUrl, port, buildWeb: builds }: Config): boolean =>
  databaseUrl === undefined || port === 0 || (builds && needsBuild());

/** Builds the web application if configured and its sources are newer. */
async function prepareWeb(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  if (!config.buildWeb || !needsBuild()) return;
  log.info('building the web application');
  // The other interfaces work without the web application, so a failed build does not prevent the start.
  await buildWeb(signal).catch((error: Error) =>
    log.error({ reason: error.message }, 'the web application could not be built'),
  );
  signal.throwIfAborted();
}

/** Checks the store and the secrets, builds the web application if needed, and runs `prepare`. */
export async function makeReady(
  services: CoreServices,
  { connections, closers }: Pick<Opened, 'connections' | 'closers'>,
  prepare: Prepare,
  config: Config,
  signal: AbortSignal,
): Promise<void> {
  // Before the store and the keys are checked: who adopts a store or rotates secrets either sees this node, or has ended
  // and the other store or key is noticed here.
  closers.push(await announceNode(services));
  await checkStoreMarker(services, signal);
  await requireKeysOfSecrets(services);
  await prepareWeb(config, services.log, signal);
  await prepare(services, connections);
  signal.throwIfAborted();
}
