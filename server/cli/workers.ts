/**
 * A service of several processes. This process, the primary, opens the database, migrates, listens and does one-time
 * work, and distributes client connections (connection-sharing.ts) among workers (worker.ts), which answer requests. A
 * worker that ends without being asked to is replaced.
 */

import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { AggregatorRegistry, Gauge } from 'prom-client';
import type { ClientConfig } from 'pg';
import { settled, type Config } from '../config/config.ts';
import type { Logger } from '../lib/log.ts';
import { openServiceMetrics, type ServiceMetrics } from '../telemetry/metrics.ts';
import { openCoreServices } from '../services.ts';
import { ConnectionSharing } from './connection-sharing.ts';
import { openPortForOthers } from './port.ts';
import { makeReady, opening, opensPortFirst, type Start } from './startup.ts';
import type { Counters, FromWorker, ToWorker } from './worker-messages.ts';

/** Workers cannot be started or do not keep running; the message says why. */
class WorkersFailed extends Error {
  override readonly name = 'WorkersFailed';
}

/** After this many consecutive failed starts of one worker, no further start is attempted. */
const mostFailures = 5;
/**
 * Milliseconds between the end of a worker and the next start: doubled after each end, up to `most`, and reset by a
 * worker that ran for `forgottenAfter`.
 */
const backOff = { first: 100, most: 10_000, forgottenAfter: 60_000 } as const;
/** Milliseconds to wait for the counters of a worker. */
const countersMillis = 1_000;
/** Milliseconds after a worker's exit in which its last messages may still arrive. */
const lastWordsMillis = 100;
/** Milliseconds that a worker may take to end beyond its own limit before it is killed. */
const graceMillis = 5_000;

type Stage = 'starting' | 'listening' | 'answering';
interface Place {
  worker: Worker;
  stage: Stage;
  began: number;
  /** Consecutive ends of the worker that came soon after its start. */
  ends: number;
  /** Consecutive failed starts. */
  failures: number;
  /** The worker's message about its failure. */
  complaint: string;
}

interface Workers {
  /** The port whose connections the workers are given. */
  readonly port: number;
  /** Resolves when all workers answer. Rejects with {@link WorkersFailed}. */
  answer(): Promise<void>;
  /** Resolves with a sentence when the workers cannot be kept running. */
  readonly failed: Promise<string>;
  leave(): void;
  stop(): Promise<void>;
}

/**
 * Starts the workers; resolves when all are listening or answering, depending on `first`. With `listening` the port is
 * opened immediately, with `answering` only after all workers answer. Rejects with {@link WorkersFailed} and with
 * CannotListen, also when `signal` asks to stop before that.
 */
async function openWorkers(
  { workers: count, host, port: wantedPort, shutdownSeconds }: Config,
  connection: ClientConfig,
  log: Logger,
  { registry }: ServiceMetrics,
  signal: AbortSignal,
  first: 'listening' | 'answering',
): Promise<Workers> {
  const sharing = new ConnectionSharing();
  const openPort = () => openPortForOthers(host, wantedPort, (socket) => sharing.share(socket));
  let opened = first === 'listening' ? await openPort() : undefined;
  const port = opened?.port ?? wantedPort;
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const places: Place[] = [];
  const failure = Promise.withResolvers<string>();
  let goal: Stage = first;
  let isUp = false;
  let isLeaving = false;
  let isStopping = false;
  let reached = Promise.withResolvers<void>();
  let nextId = 0;
  const asked = new Map<number, (counters: Counters) => void>();
  new Gauge({
    name: 'dealkeep_workers',
    help: 'Processes that answer requests.',
    registers: [registry],
    collect() {
      this.set(places.filter(({ stage }) => stage === 'answering').length);
    },
  });

  const send = ({ worker }: Place, message: ToWorker) => {
    if (worker.isConnected()) worker.send(message, () => {});
  };

  /** The counters of all answering workers, summed. A worker that does not send its counters in time is left out. */
  async function metrics(): Promise<string> {
    const answering = places.filter(({ stage }) => stage === 'answering');
    const all = answering.map(
      (place) =>
        new Promise<Counters>((resolve) => {
          const id = (nextId += 1);
          const done = (counters: Counters) => {
            clearTimeout(late);
            asked.delete(id);
            resolve(counters);
          };
          const late = setTimeout(() => done([]), countersMillis);
          asked.set(id, done);
          send(place, { to: 'send counters', id });
        }),
    );
    const counters = [...(await Promise.all(all)), (await registry.getMetricsAsJSON()) as Counters];
    return AggregatorRegistry.aggregate(counters as object[]).metrics();
  }

  function heard(place: Place, message: FromWorker): void {
    switch (message.is) {
      case 'started':
        return send(place, { to: 'listen', connection, port });
      case 'listening': {
        place.stage = 'listening';
        // While other workers answer, a worker that cannot answer yet gets no connections.
        if (goal === 'answering') send(place, { to: 'answer' });
        else sharing.admit(place.worker);
        break;
      }
      case 'answering': {
        place.stage = 'answering';
        place.failures = 0;
        sharing.admit(place.worker);
        if (isLeaving) send(place, { to: 'leave' });
        log.info({ worker: place.worker.id, pid: place.worker.process.pid }, 'a worker is answering requests');
        break;
      }
      case 'failed': {
        place.complaint = message.message;
        break;
      }
      case 'counters':
        return asked.get(message.id)?.(message.counters);
      case 'metrics wanted':
        metrics().then(
          (text) => send(place, { to: 'take metrics', id: message.id, text }),
          (error: unknown) => log.error({ err: error }, 'the counters of the workers are not available'),
        );
    }
    if (places.every(({ stage }) => stage === goal || stage === 'answering')) reached.resolve();
  }

  function begin(place: Place): void {
    place.stage = 'starting';
    place.began = performance.now();
    place.complaint = '';
    const { worker } = place;
    place.worker.on('message', (message: FromWorker) => {
      if (message.is === 'took') sharing.answered(worker, message.took);
      else heard(place, message);
    });
    // The worker's last messages may arrive after its exit. Node.js reports nothing when a channel closes with a
    // connection in transit.
    place.worker.once('exit', () => setTimeout(() => sharing.dismiss(worker), lastWordsMillis));
    place.worker.once('exit', (code, by) => void ended(place, by === null ? `code ${code}` : by));
    // A worker that cannot be started emits no exit.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) notStarted(place, error);
    });
  }

  function notStarted(place: Place, { message }: Error): void {
    place.began = performance.now();
    place.complaint = `A worker cannot be started: ${message}.`;
    void ended(place, message);
  }

  async function ended(place: Place, how: string): Promise<void> {
    const { stage, complaint, worker } = place;
    place.stage = 'starting';
    if (isStopping) return;
    const isStarted = stage === 'answering' || stage === goal;
    if (!isStarted) place.failures += 1;
    const why = complaint || `worker ${worker.id} ended with ${how} before it was ready`;
    // During the first start, retrying gains nothing.
    if (place.failures >= mostFailures || !isUp) {
      failure.resolve(complaint || `Workers could not be started: ${why}; see the log.`);
      return;
    }
    place.ends = performance.now() - place.began > backOff.forgottenAfter ? 1 : place.ends + 1;
    const millis = Math.min(backOff.first * 2 ** (place.ends - 1), backOff.most);
    log.error({ worker: worker.id, pid: worker.process.pid, how, again: millis }, 'a worker ended: starting another');
    await pause(millis, undefined, { ref: false });
    if (isStopping) return;
    try {
      place.worker = cluster.fork();
    } catch (error) {
      return notStarted(place, error as Error);
    }
    begin(place);
  }

  for (let nth = 0; nth < count; nth += 1) {
    const place: Place = { worker: cluster.fork(), stage: 'starting', began: 0, ends: 0, failures: 0, complaint: '' };
    places.push(place);
    begin(place);
  }

  /** Waits until all workers have reached the goal. */
  async function come(): Promise<void> {
    const reason = await Promise.race([reached.promise, failure.promise, aborted(signal)]);
    if (typeof reason === 'string') throw new WorkersFailed(reason);
  }
  function leave(): void {
    isLeaving = true;
    for (const place of places) send(place, { to: 'leave' });
  }
  async function stop(): Promise<void> {
    isStopping = true;
    const alive = places.filter(({ worker }) => !worker.isDead());
    const ends = alive.map((place) => new Promise((resolve) => place.worker.once('exit', resolve)));
    const late = setTimeout(
      () => {
        for (const { worker } of alive) worker.process.kill('SIGKILL');
      },
      shutdownSeconds * 1000 + graceMillis,
    );
    // Otherwise clients with open connections would send the next request while they are closed.
    leave();
    await opened?.shut();
    await sharing.emptied();
    for (const place of alive) send(place, { to: 'stop' });
    await Promise.all(ends);
    clearTimeout(late);
  }

  try {
    await come();
    opened ??= await openPort();
  } catch (error) {
    await stop();
    throw error;
  }
  isUp = true;
  return {
    port: opened.port,
    failed: failure.promise,
    async answer() {
      goal = 'answering';
      reached = Promise.withResolvers();
      for (const place of places) if (place.stage === 'listening') send(place, { to: 'answer' });
      await come();
    },
    leave,
    stop,
  };
}

/** Resolves with a sentence when the signal asks to stop. */
const aborted = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    const say = () => resolve('It was asked to stop before it was ready.');
    if (signal.aborted) say();
    else signal.addEventListener('abort', say, { once: true });
  });

/** Starts the server with `config.workers` processes that answer requests. */
export const startWorkers: Start = (config, { log, tracing }, prepare, signal) =>
  opening(config, log, signal, async ({ connections, closers, stop }) => {
    const metrics = openServiceMetrics();
    const open = (first: 'listening' | 'answering') =>
      openWorkers(config, connections.server, log, metrics, signal, first);
    let listening = opensPortFirst(config) ? await open('listening') : null;
    closers.push(async () => listening?.stop());
    // This process does one-time work only, one task after another.
    const own = { ...settled(config, listening?.port ?? config.port), poolSize: Math.min(config.poolSize, 2) };
    closers.push(async () => tracing?.close());
    const services = await openCoreServices(own, connections.server, { log, metrics, tracing });
    closers.push(() => services.database.close());
    closers.push(() => services.storage.close());

    await makeReady(services, { connections, closers }, prepare, config, signal);
    if (listening) await listening.answer();
    const workers = (listening ??= await open('answering'));
    const drain = async (seconds: number, hurry: AbortSignal) => {
      workers.leave();
      await pause(seconds * 1000, undefined, { signal: hurry }).catch(() => {});
    };
    return { services, died: Promise.race([connections.died, workers.failed]), drain, stop };
  });
