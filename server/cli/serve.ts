/** The life of a running server: everything is opened in order, and closed in the reverse one. */

import { createApp } from '../app.ts';
import { localOrigin, type Config } from '../config.ts';
import type { Services } from '../services.ts';
import { openConnections, type Connections } from '../database/connections.ts';
import { openChanges } from '../database/changes.ts';
import { openDatabase, type Database } from '../database/database.ts';
import { openLimits } from '../http/limits.ts';
import { listen } from './listen.ts';
import type { Logger } from '../log.ts';
import { createMailer } from '../mail.ts';
import { openStorage } from '../storage/open.ts';
import { buildWeb, needsBuild } from './web-build.ts';

export interface Running {
  readonly services: Services;
  readonly connections: Connections;
  /** Finishes the requests in flight, then closes everything. Calling it again waits for the same end. */
  stop(): Promise<void>;
}

/** What is done between the opening of the database and the first answer. */
export type Prepare = (services: Services, connections: Connections) => Promise<void>;

/**
 * Starts the server. Rejects, with everything closed again, when something is not as it must be, and when `signal`
 * asks to stop before it is ready.
 */
export async function start(config: Config, log: Logger, prepare: Prepare, signal: AbortSignal): Promise<Running> {
  const closers: (() => Promise<void>)[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () =>
    (stopped ??= (async () => {
      for (const close of closers.toReversed()) await close();
    })());
  try {
    const connections = await openConnections(config, (files) => {
      if (files.length > 0) log.info({ files }, 'applied migrations');
    });
    closers.push(() => connections.stop());
    if (connections.directory) log.info({ directory: connections.directory }, 'the embedded PostgreSQL is running');
    signal.throwIfAborted();

    const clock = () => new Date();
    const database = openPool(config, connections, log);
    closers.push(() => database.close());
    const store = config.rateLimitStore === 'postgres' ? { store: connections.server } : {};
    const limits = openLimits({ ceilings: config.rateLimits, clock, log, ...store });
    closers.push(() => limits.close());

    const { listenDatabaseUrl } = config;
    if (!config.prepare && !listenDatabaseUrl)
      log.warn('pages do not hear what changes through a pooler: set DATABASE_LISTEN_URL to the database itself');
    const listening = listenDatabaseUrl ? { connectionString: listenDatabaseUrl } : connections.server;
    const changes = openChanges(listening, (reason) =>
      log.warn({ reason }, 'not hearing what changes: connecting again'),
    );
    closers.push(() => changes.close());

    const storage = await openStorage(config);
    closers.push(() => storage.close());

    // Opened last, closed first: requests in flight still need everything above.
    const listener = await listen(config.host, config.port);
    closers.push(() => listener.close(config.shutdownSeconds));
    const stopping = new AbortController();
    closers.push(async () => stopping.abort());
    const settled = { ...config, baseUrl: settledUrl(config, listener.port) };

    if (config.buildWeb && needsBuild()) {
      log.info('building the web application');
      // The interfaces work without it, so its failure does not keep them from starting.
      await buildWeb(signal).catch((error: Error) =>
        log.error({ reason: error.message }, 'the web application is not built'),
      );
      signal.throwIfAborted();
    }
    const services: Services = {
      config: settled,
      database,
      clock,
      log,
      mail: createMailer(settled, log),
      limits,
      storage,
      changes,
      stopping: stopping.signal,
    };
    await prepare(services, connections);
    signal.throwIfAborted();
    listener.answerWith(createApp(services));
    return { services, connections, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openPool({ poolSize, prepare }: Config, { server }: Connections, log: Logger): Database {
  return openDatabase({
    ...(server.connectionString === undefined ? { connection: server } : { url: server.connectionString }),
    poolSize,
    prepare,
    onConnectionLost: (error) => log.warn({ reason: error.message }, 'a connection to the database was lost'),
  });
}

/** Our public origin; with PORT=0 the system chose the port, and with it our address. */
function settledUrl({ host, port, baseUrl }: Config, chosen: number): string {
  return port === 0 && baseUrl === localOrigin(host, 0) ? localOrigin(host, chosen) : baseUrl;
}
