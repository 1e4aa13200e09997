/** Endpoints for operators: is the process up, is it ready, and how is it doing. */

import { timingSafeEqual } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { gathering } from '../telemetry/metrics.ts';
import type { Services } from '../services.ts';
import { NotWritable } from '../database/errors.ts';
import { keyOfCursors } from '../database/cursor-secret.ts';
import { missingMigrations, migrationFiles } from '../database/migrate.ts';
import { row } from '../database/statement.ts';
import {
  deliveryState,
  mailCounts,
  serviceState,
  type DeliveryState,
  type MailCounts,
  type ServiceState,
} from '../domain/service/status.ts';
import { beganBefore } from './direct-answers.ts';
import { statusPath } from './links.ts';
import { isForOperators } from './load-shedding.ts';
import { originOf, type RequestOrigin } from './origin.ts';

interface Answered {
  readonly method: string;
  readonly path: string;
  readonly asked: ReturnType<typeof routeOf>;
  readonly from: RequestOrigin;
  readonly status: number;
  readonly millis: number;
}

/** The counters of one running app. */
interface Metrics {
  readonly registry: Registry;
  /** Counts and times every request, and writes one line for it. */
  readonly observe: MiddlewareHandler;
  /** Does the same for a request that was answered without the middleware. */
  note(answered: Answered): void;
}

/**
 * In milliseconds: the age at which figures from the database are read again, how long /metrics waits for new ones, and
 * the maximum age of figures returned when new ones are late. The last is longer than the minute after which Prometheus
 * usually scrapes again, so that the result of a slow reading is returned by the next scrape.
 */
const readingMillis = { kept: 10_000, awaited: 500, shown: 90_000 } as const;

interface Reading {
  readonly mails: MailCounts;
  readonly state: ServiceState | null;
  readonly deliveries: DeliveryState | null;
}

/**
 * Returns a function that reads the state of mails, events, webhooks and backups, at most every `kept` milliseconds;
 * null if the database has not answered recently.
 */
function readingOf(database: Services['database']): () => Promise<Reading | null> {
  let known: Reading | null = null;
  let readAt = -Infinity;
  let asking: Promise<Reading | null> | undefined;
  const isOlderThan = (millis: number): boolean => performance.now() - readAt >= millis;
  return async () => {
    if (!isOlderThan(readingMillis.kept)) return known;
    asking ??= database
      .together(mailCounts(), serviceState(), deliveryState())
      .then(([mails, state, deliveries]) => {
        readAt = performance.now();
        return (known = { mails, state, deliveries });
      })
      .catch(() => null)
      .finally(() => (asking = undefined));
    const read = await Promise.race([asking, wait(readingMillis.awaited, null, { ref: false })]);
    return read ?? (isOlderThan(readingMillis.shown) ? null : known);
  };
}

/** Unix time in seconds; 0 for never. */
const secondsOf = (at: string | null): number => (at === null ? 0 : Date.parse(at) / 1000);

/** Registers the gauges that are the same on every node because their figures come from the database. */
function measureService({ database, config, clock }: Services, registers: Registry[]): void {
  const read = readingOf(database);
  const gauge = (
    name: string,
    help: string,
    collect: (gauge: Gauge, found: Reading) => void,
    labelNames: string[] = [],
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      aggregator: 'max',
      async collect() {
        this.reset();
        // A gauge without labels would otherwise be reported as 0, which looks like a real figure.
        if (labelNames.length === 0) this.remove();
        const found = await read();
        if (found !== null) collect(this, found);
      },
    });
  gauge(
    'dealkeep_mails',
    'E-mails in the outbox of all nodes that are waiting or were given up.',
    (of, { mails }) => {
      of.set({ state: 'waiting' }, mails.waiting);
      of.set({ state: 'given_up' }, mails.given_up);
    },
    ['state'],
  );
  gauge('dealkeep_mail_oldest_seconds', 'How long the oldest waiting e-mail has waited.', (of, { mails }) =>
    of.set(mails.oldest_seconds),
  );
  gauge(
    'dealkeep_events',
    'Events that people are still to be notified of, and those of them that have failed so far.',
    (of, { state }) => {
      of.set({ state: 'waiting' }, state?.events_waiting ?? 0);
      of.set({ state: 'failing' }, state?.events_failing ?? 0);
    },
    ['state'],
  );
  const sinceThen = (at: string | null | undefined): number =>
    at == null ? 0 : Math.max(0, clock().getTime() / 1000 - secondsOf(at));
  gauge('dealkeep_event_oldest_seconds', 'How long the oldest waiting event has waited.', (of, { state }) =>
    of.set(sinceThen(state?.oldest_event_at)),
  );
  gauge('dealkeep_changes_waiting', 'Changes not yet passed on to other systems.', (of, { deliveries }) =>
    of.set(deliveries?.changes_waiting ?? 0),
  );
  gauge(
    'dealkeep_changes_waiting_seconds',
    'How long changes have waited for running transactions.',
    (of, { deliveries }) => of.set(sinceThen(deliveries?.changes_since)),
  );
  gauge(
    'dealkeep_webhooks',
    'Webhooks that are on, and those that were turned off because nothing was accepted.',
    (of, { deliveries }) => {
      of.set({ state: 'on' }, deliveries?.webhooks_on ?? 0);
      of.set({ state: 'failed' }, deliveries?.webhooks_failed ?? 0);
    },
    ['state'],
  );
  gauge(
    'dealkeep_webhook_deliveries',
    'Deliveries waiting for webhooks that are on, and those of them that have failed so far.',
    (of, { deliveries }) => {
      of.set({ state: 'waiting' }, deliveries?.deliveries_waiting ?? 0);
      of.set({ state: 'failing' }, deliveries?.deliveries_failing ?? 0);
    },
    ['state'],
  );
  gauge(
    'dealkeep_webhook_delivery_oldest_seconds',
    'How long the oldest waiting delivery has waited.',
    (of, { deliveries }) => of.set(sinceThen(deliveries?.oldest_delivery_at)),
  );
  gauge(
    'dealkeep_backup_last_success_timestamp_seconds',
    'When a backup was last made, on any node, in Unix time; 0 for never.',
    (of, { state }) => of.set(secondsOf(state?.last_backup_at ?? null)),
  );
  gauge(
    'dealkeep_backup_last_failure_timestamp_seconds',
    'When a backup last failed, on any node, in Unix time; 0 for never.',
    (of, { state }) => of.set(secondsOf(state?.last_backup_failure_at ?? null)),
  );
  gauge(
    'dealkeep_backup_missing_documents',
    'How many documents the last backup lacks, because their files were missing from the store or changed.',
    (of, { state }) => of.set(state?.last_backup_missing ?? 0),
  );
  new Gauge({
    name: 'dealkeep_backup_interval_seconds',
    help: 'How often the service makes a backup (BACKUP_EVERY); 0 when it does not.',
    registers,
    aggregator: 'max',
  }).set((config.backup.everyMillis ?? 0) / 1000);
}

/** The label values of a request that matches no declared route. */
export const noRoute = { method: 'any', route: 'none' };

/** The route of a request as declared; never contains any part of the actual path. */
export function routeOf(c: Context): { readonly method: string; readonly route: string } {
  const found = matchedRoutes(c).findLast(({ method }) => method !== 'ALL');
  return found ? { method: found.method, route: found.path } : noRoute;
}

/** Starts counting by interface, which `nameAt` finds for a path; the state of the pool is read at each scrape. */
export function startMetrics(services: Services, nameAt: (path: string) => string): Metrics {
  const { database, load, log, metrics } = services;
  const own = new Registry();
  const registers = [own];
  const requests = new Counter({
    name: 'dealkeep_requests_total',
    help: 'Answered requests.',
    labelNames: ['interface', 'status'],
    registers,
    collect: () => answers.countAll(),
  });
  const durations = new Histogram({
    name: 'dealkeep_request_duration_seconds',
    help: 'Time from a request to its response.',
    labelNames: ['interface'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
    collect: () => answers.countAll(),
  });
  const byRoute = new Counter({
    name: 'dealkeep_route_requests_total',
    help: 'Answered requests by the template of their route.',
    labelNames: ['method', 'route', 'status'],
    registers,
    collect: () => answers.countAll(),
  });
  const routeTimes = new Histogram({
    name: 'dealkeep_route_duration_seconds',
    help: 'Time from a request to its response by the template of its route.',
    labelNames: ['method', 'route'],
    buckets: [0.01, 0.05, 0.25, 1, 5],
    registers,
    collect: () => answers.countAll(),
  });
  new Gauge({
    name: 'dealkeep_database_connections',
    help: 'Connections to the database, and work waiting for one.',
    labelNames: ['state'],
    registers,
    collect() {
      const { total, idle, waiting } = database.connections();
      this.set({ state: 'busy' }, total - idle);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Gauge({
    name: 'dealkeep_requests',
    help: 'Requests being answered, and those waiting for their turn.',
    labelNames: ['state'],
    registers,
    collect() {
      const { answering, waiting } = load.state();
      this.set({ state: 'answering' }, answering);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  measureService(services, registers);
  new Counter({
    name: 'dealkeep_requests_refused_total',
    help: 'Requests refused with 503 because the service was overloaded; no other metric counts them.',
    labelNames: ['interface'],
    registers,
    collect() {
      this.reset();
      for (const [name, count] of load.state().refused) this.inc({ interface: name }, count);
    },
  });

  interface Answer {
    readonly name: string;
    readonly asked: ReturnType<typeof routeOf>;
    readonly status: string;
    readonly seconds: number;
  }
  const answers = gathering<Answer>(({ name, asked, status, seconds }) => {
    requests.inc({ interface: name, status });
    durations.observe({ interface: name }, seconds);
    byRoute.inc({ ...asked, status });
    routeTimes.observe(asked, seconds);
  });

  function note({ method, path, asked, from, status, millis }: Answered): void {
    const name = isForOperators(path) ? 'operations' : nameAt(path);
    answers.note({ name, asked, status: `${Math.floor(status / 100)}xx`, seconds: millis / 1000 });
    if (name === 'operations' || !log.isLevelEnabled('info')) return;
    const { requestId, address } = from;
    // Only the path is logged: a query can carry codes, tokens and search terms. And without an id that another system
    // chose, which may be somebody's e-mail address.
    const shown = path.replace(/(\/by-external-id\/).*/s, '$1{externalId}');
    log.info({ requestId, address, method, path: shown, status, ms: Math.round(millis * 10) / 10 }, 'request');
  }

  const observe: MiddlewareHandler = async (c, next) => {
    const start = beganBefore((c.env as Partial<HttpBindings>).incoming) ?? performance.now();
    await next();
    const millis = performance.now() - start;
    const { status } = c.res;
    // After the response is sent: counting takes a few per cent of the time of a response, ten with a log line for
    // each.
    setImmediate(() => {
      const { method, path } = c.req;
      note({ method, path, asked: routeOf(c), from: originOf(c), status, millis });
    });
  };
  return { registry: Registry.merge([metrics.registry, own]), observe, note };
}

const loopback = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

function mayReadMetrics(c: Context, token: string | undefined): boolean {
  if (token === undefined) {
    // Only direct connections from this machine: a local proxy forwards requests of others.
    return loopback.has(getConnInfo(c).remote.address ?? '') && c.req.header('x-forwarded-for') === undefined;
  }
  const expected = Buffer.from(`Bearer ${token}`);
  const given = Buffer.from(c.req.header('authorization') ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

// Changes no row, but fails on a server that accepts no writes.
const writeNothing = row('write_nothing', 'delete from limits.counters where false');
const notWritable = 'The database accepts no writes: it is a standby, or was set to read-only.\n';

/**
 * How long /readyz waits for the database, in milliseconds: a load balancer gives up soon, and would take a missing
 * response for a fault of the node.
 */
const readyMillis = 2_000;
const silent = `The database has not answered for ${readyMillis / 1000} seconds.\n`;

/** Given the counters of this process, returns a function that writes these, or those of several processes, as text. */
export type MetricsReader = (own: Registry) => () => Promise<string>;

/**
 * Routes for operators. /healthz: the process answers. /readyz: the database answers and accepts writes, its schema is
 * current, and its secrets can be decrypted. /metrics: for Prometheus.
 */
export function operations(
  { config, database, log, leaving, secrets }: Services,
  { registry }: Metrics,
  readerOf: MetricsReader = (own) => () => own.metrics(),
): Hono {
  const app = new Hono();
  const readMetrics = readerOf(registry);
  const files = migrationFiles();
  let asking: Promise<string | null> | undefined;
  /**
   * What keeps the node from being ready, or null. Concurrent requests share one check, so that one connection is
   * enough.
   */
  const lackingNow = (): Promise<string | null> =>
    (asking ??= files
      .then((known) => database.together(missingMigrations(known), writeNothing(), keyOfCursors()))
      .then(([missing, , key]) => {
        if (missing > 0) return `The database lacks ${missing} migrations: run dealkeep migrate.\n`;
        if (key === null || secrets.keyIds.includes(key)) return null;
        return `Secrets in the database are encrypted with the key ${key}, which SECRETS_KEY does not contain: add it, and restart this node.\n`;
      })
      .finally(() => (asking = undefined)));
  app.get('/healthz', (c) => c.text('ok\n'));
  app.get('/readyz', async (c) => {
    if (leaving.aborted) return c.text('Stopping.\n', 503);
    try {
      const lacking = await Promise.race([lackingNow(), wait(readyMillis, undefined, { ref: false })]);
      if (lacking === undefined) {
        log.warn({ reason: silent.trim() }, 'not ready');
        return c.text(silent, 503);
      }
      if (lacking !== null) return c.text(lacking, 503);
      return c.text('ready\n');
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'not ready');
      if (error instanceof NotWritable) return c.text(notWritable, 503);
      return c.text('The database does not respond correctly; see the log.\n', 503);
    }
  });
  // The status page for admins of a brokerage, which is part of the application.
  app.get('/status', (c) => c.redirect(statusPath));
  app.get('/metrics', async (c) => {
    if (!mayReadMetrics(c, config.metricsToken)) return c.text('Not found.\n', 404);
    return c.body(await readMetrics(), 200, { 'Content-Type': registry.contentType });
  });
  return app;
}
