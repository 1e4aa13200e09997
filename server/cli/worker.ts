/**
 * A worker: a process that answers requests for its parent process (workers.ts), which opened the database and decides
 * when to stop.
 */

import type { Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import { createApp } from '../app.ts';
import { startBackground } from '../background.ts';
import { readConfig, settled } from '../config/config.ts';
import type { MetricsReader } from '../http/operations.ts';
import { openServices, type OpenServices } from '../services.ts';
import { openHandedPort } from './handed-port.ts';
import { listenBy, type Listener } from './listen.ts';
import { openTelemetry } from './telemetry.ts';
import type { Counters, FromWorker, ToWorker } from './worker-messages.ts';

/** Resolves when the message has been sent. */
const say = (message: FromWorker): Promise<void> =>
  new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });

/** Milliseconds that /metrics waits for the counters of the other processes. */
const metricsMillis = 5_000;

/** Runs the worker with this id until it is asked to stop; then the process ends. */
export async function runWorker(id: number): Promise<never> {
  const config = readConfig();
  const { log: logOfAll, tracing } = await openTelemetry(config);
  const log = logOfAll.child({ worker: id });
  let listener: Listener | undefined;
  let opened: OpenServices | undefined;
  let stopBackground = async () => {};
  let ending: Promise<void> | undefined;
  const over = Promise.withResolvers<void>();
  const end = (code: number) =>
    (ending ??= (async () => {
      process.exitCode = code;
      const drained = async () => void (await Promise.all([listener?.close(config.shutdownSeconds), stopBackground()]));
      await (opened ? opened.close(drained) : drained());
      over.resolve();
    })());

  // A terminal and some supervisors send these signals to every process: the parent process decides what follows.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const fault = (error: unknown) => {
    log.fatal({ err: error }, 'an uncaught error');
    void end(1);
  };
  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);

  const wanted = new Map<number, (text: string) => void>();
  let nextWanted = 0;
  let counters = async (): Promise<Counters> => [];
  const metricsOfAll: MetricsReader = (own) => {
    counters = async () => (await own.getMetricsAsJSON()) as Counters;
    return () =>
      new Promise((resolve, reject) => {
        const nth = (nextWanted += 1);
        const late = setTimeout(() => {
          wanted.delete(nth);
          reject(new Error('The counters of the other processes did not arrive in time.'));
        }, metricsMillis);
        wanted.set(nth, (text) => {
          clearTimeout(late);
          wanted.delete(nth);
          resolve(text);
        });
        void say({ is: 'metrics wanted', id: nth });
      });
  };

  let connection: ClientConfig = {};
  let take = (socket: Socket): boolean => !socket.destroy();
  async function obey(message: ToWorker, socket: Socket | undefined): Promise<void> {
    switch (message.to) {
      case 'listen': {
        listener = await listenBy(async (server) => {
          const handed = openHandedPort(server, message.port);
          ({ take } = handed);
          return handed;
        });
        connection = message.connection;
        return say({ is: 'listening' });
      }
      case 'answer': {
        opened = await openServices(settled(config, listener?.port ?? config.port), connection, { log, tracing });
        listener?.answerWith(createApp(opened.services, metricsOfAll), opened.services);
        stopBackground = startBackground(opened.services);
        return say({ is: 'answering' });
      }
      case 'take':
        // A connection that closed in transit counts as accepted.
        return say({ is: 'took', took: socket === undefined || take(socket) });
      case 'leave': {
        opened?.leave();
        return listener?.leave();
      }
      case 'stop':
        return end(0);
      case 'send counters':
        return say({ is: 'counters', id: message.id, counters: await counters() });
      case 'take metrics':
        return wanted.get(message.id)?.(message.text);
    }
  }
  process.on('message', (message: ToWorker, socket?: Socket) => {
    obey(message, socket).catch(async ({ message: why }: Error) => {
      await say({ is: 'failed', message: why });
      void end(1);
    });
  });
  await say({ is: 'started' });
  await over.promise;
  // Everything is closed; handles that a library may still hold must not keep the process alive.
  process.exit();
}
