/** The life of a running server: everything is opened in order, and closed in the reverse one. */

import { setTimeout as pause } from 'node:timers/promises';
import { createApp } from '../app.ts';
import { localOrigin, type Config } from '../config.ts';
import { openConnections, type Connections } from '../database/connections.ts';
import { checkStore } from '../documents/one-store.ts';
import type { Logger } from '../log.ts';
import { openServices, type Services } from '../services.ts';
import { listen } from './listen.ts';
import { buildWeb, needsBuild } from './web-build.ts';

export interface Running {
  readonly services: Services;
  readonly connections: Connections;
  /** Is not ready any more and closes each connection with its next answer, but answers, for these seconds or until `hurry`. */
  drain(seconds: number, hurry: AbortSignal): Promise<void>;
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

    const listener = await listen(config.host, config.port);
    closers.push(() => listener.close(config.shutdownSeconds));
    const settled = { ...config, baseUrl: settledUrl(config, listener.port) };
    const { services, leave, close } = await openServices(settled, connections.server, { log });
    // Requests in flight still need the services.
    closers.push(() => close(() => listener.close(config.shutdownSeconds)));

    await checkStore(services, signal);

    if (config.buildWeb && needsBuild()) {
      log.info('building the web application');
      // The interfaces work without it, so its failure does not keep them from starting.
      await buildWeb(signal).catch((error: Error) =>
        log.error({ reason: error.message }, 'the web application is not built'),
      );
      signal.throwIfAborted();
    }
    await prepare(services, connections);
    signal.throwIfAborted();
    listener.answerWith(createApp(services), services.load);
    const drain = async (seconds: number, hurry: AbortSignal) => {
      leave();
      listener.leave();
      await pause(seconds * 1000, undefined, { signal: hurry }).catch(() => {});
    };
    return { services, connections, drain, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Our public origin; with PORT=0 the system chose the port, and with it our address. */
function settledUrl({ host, port, baseUrl }: Config, chosen: number): string {
  return port === 0 && baseUrl === localOrigin(host, 0) ? localOrigin(host, chosen) : baseUrl;
}
