/** Opens a service for a test file: the whole service with its own database, listening on its own port. */

import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { expect, inject } from 'vitest';
import type { Demo } from '../database/demo/load.ts';
import { createApp } from '../server/app.ts';
import { readConfig, type Config } from '../server/config/config.ts';
import { openServices, type Services } from '../server/services.ts';
import { keepDemoBodies } from '../server/cli/demo.ts';
import { isKnownAction } from '../server/domain/audit/actions.ts';
import type { Database, Results } from '../server/database/database.ts';
import type { Statement } from '../server/database/statement.ts';
import { listen } from '../server/cli/listen.ts';
import { createLog } from '../server/lib/log.ts';
import { openDelivery } from '../server/mail/delivery.ts';
import type { Mail } from '../server/mail/transport.ts';
import type { Storage } from '../server/storage/storage.ts';
import type { Tracing } from '../server/telemetry/tracing.ts';
import { noteCalls } from './mutation/called.ts';
import type { Scene } from './policies/scene.ts';

export interface ServiceOptions {
  /** Whether the database starts with the demo brokerages instead of empty. */
  readonly demo?: boolean;
  /** Whether the database starts with the scene of docs/visibility.md, whose ids {@link TestService.scene} returns. */
  readonly scene?: boolean;
  readonly config?: Partial<Config>;
  /** The node's tracing; closed with the node. */
  readonly tracing?: Tracing;
  /** Number of nodes that share the database; with 2 they share their rate-limit counts in it. */
  readonly nodes?: 1 | 2;
  /**
   * Milliseconds that a request waits for a database connection and for the shared rate-limit count; the default is
   * long enough for a busy machine.
   */
  readonly waitMillis?: number;
}

/** A clock that can be moved and stopped; it runs otherwise. */
export interface TestClock {
  now(): Date;
  /** The time `days` days from now, in RFC 3339. */
  inDays(days: number): string;
  advance(millis: number): void;
  /** Advances to the start of the next minute, so that counts per minute do not happen to be split between two. */
  startMinute(): void;
  set(date: Date): void;
  /** Sets the clock to a time and stops it there until it is moved. */
  stand(date: Date): void;
}

/** One listening node. */
export interface TestNode {
  readonly origin: string;
  readonly restUrl: string;
  readonly mcpUrl: string;
  readonly services: Services;
}

export interface TestService extends TestNode {
  readonly nodes: readonly TestNode[];
  readonly config: Config;
  /** The server's own database access: its role, subject to row-level security. */
  readonly database: Database;
  readonly clock: TestClock;
  /** What demo.json would hold; throws unless the service was opened with demo data. */
  readonly demo: Demo & { readonly rest_url: string; readonly mcp_url: string };
  /** The ids of the scene; throws unless the service was opened with the scene. */
  readonly scene: Scene;
  /** Log lines so far, as JSON text. */
  readonly log: readonly string[];
  /** The emails that {@link TestService.deliver} has delivered so far. */
  readonly mails: readonly Mail[];
  /** Delivers the emails that are due in the outbox; returns all emails so far. Nothing else delivers email. */
  deliver(): Promise<readonly Mail[]>;
  /** Has every node write the last use of credentials to the database, as each does once a minute. */
  noteUses(): Promise<void>;
  /**
   * Runs a query as the owner, bypassing every policy, to set up or inspect data. `app.now()` returns the test clock's
   * time here too.
   */
  sql<R extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Runs statements as the server, in one transaction. */
  asServer<const S extends readonly Statement<unknown>[]>(...statements: S): Promise<Results<S>>;
  /** Connection settings of this service's database, as the owner and as the server. */
  readonly connections: { readonly owner: pg.ClientConfig; readonly server: pg.ClientConfig };
  close(): Promise<void>;
}

function createClock(): TestClock {
  let offset = 0;
  let real = () => Date.now();
  return {
    now: () => new Date(real() + offset),
    inDays: (days) => new Date(real() + offset + days * 86_400_000).toISOString(),
    advance: (millis) => void (offset += millis),
    startMinute: () => void (offset += 60_000 - ((real() + offset) % 60_000)),
    set: (date) => void (offset = date.getTime() - real()),
    stand: (date) => {
      real = () => 0;
      offset = date.getTime();
    },
  };
}

/** Enough for all concurrent requests of a test, however slow the machine is. */
const roomy: Config['load'] = { atOnce: 1_000, waitMillis: 60_000 };

/** Long enough that a statement waiting for a lock that a test holds does not time out on a busy machine. */
const longStatements = { statementMillis: 40_000, lockMillis: 30_000, silenceMillis: 45_000 };

/** The lowest parameters that Argon2 allows: most tests are not about the cost of a hash. */
const leastParameters = '$argon2id$v=19$m=8,t=1,p=1';

/** A storage that writes the bodies of the demo's documents when the first body is read. */
function withDemoBodies(storage: Storage): Storage {
  let kept: Promise<void> | undefined;
  return { ...storage, read: (key, span) => (kept ??= keepDemoBodies(storage)).then(() => storage.read(key, span)) };
}

let administration: Promise<pg.Client> | undefined;

/**
 * A connection of the owner to a database that is never dropped, kept for all services of this process: PostgreSQL
 * spends more time on starting and ending a connection than on most statements.
 */
function administer(owner: pg.ClientConfig): Promise<pg.Client> {
  const lost = () => (administration = undefined);
  return (administration ??= (async () => {
    const client = new pg.Client({ ...owner, database: 'dealkeep' });
    client.on('error', lost);
    await client.connect();
    // It does not keep the process from ending.
    (client.connection.stream as Socket).unref();
    return client;
  })().catch((error: unknown) => {
    lost();
    throw error;
  }));
}

async function createDatabase(owner: pg.ClientConfig, template: string): Promise<string> {
  const name = `service_${randomBytes(6).toString('hex')}`;
  const client = await administer(owner);
  // Copying the files takes half the processor time of the default strategy, which copies block by block through the
  // write-ahead log.
  await client.query(`create database ${name} template ${template} strategy file_copy`);
  return name;
}

/** PostgreSQL error code: a client is connected to the database. */
const objectInUse = '55006';

async function dropDatabase(owner: pg.ClientConfig, name: string): Promise<void> {
  const client = await administer(owner);
  // Connections that were just closed may still be ending: PostgreSQL waits five seconds for them, but a busy machine
  // may take longer.
  for (let tries = 1; ; tries += 1) {
    try {
      return void (await client.query(`drop database ${name}`));
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== objectInUse || tries === 6) throw error;
    }
  }
}

/** Opens a service; call it in beforeAll, and `close` the service in afterAll. */
export async function openService({
  demo = false,
  scene = false,
  config: changes = {},
  nodes: count = 1,
  tracing,
  waitMillis = 30_000,
}: ServiceOptions = {}): Promise<TestService> {
  const templates = inject('templates');
  const template = demo ? templates.demo : scene ? templates.scene : templates.plain;
  const name = await createDatabase(inject('owner'), template);
  const owner: pg.ClientConfig = { ...inject('owner'), database: name };
  const server: pg.ClientConfig = { ...inject('server'), database: name };
  const clock = createClock();
  const lines: string[] = [];
  const mails: Mail[] = [];

  // Created with the first document; removed at the end of the run at the latest.
  const dataDir = path.join(inject('directory'), name);

  const ownerPool = new pg.Pool({ ...owner, max: 4 });
  ownerPool.on('error', () => {});
  const closers: (() => Promise<void>)[] = [];

  async function openNode(): Promise<TestNode> {
    const listener = await listen('127.0.0.1', 0);
    const origin = `http://127.0.0.1:${listener.port}`;
    const read = readConfig({ HOST: '127.0.0.1', PORT: String(listener.port), LOG_LEVEL: 'debug' });
    const config: Config = {
      ...read,
      dataDir,
      rateLimitStore: count > 1 ? 'postgres' : 'memory',
      load: roomy,
      // Few, because each connection plans every statement for itself; tests of concurrency set more.
      poolSize: 3,
      passwordParameters: leastParameters,
      rateLimits: { ...read.rateLimits, web_person: 1_000_000, web_ip: 1_000_000 },
      ...changes,
    };
    const log = createLog(config.logLevel, { write: (line) => void lines.push(line) }, tracing?.ids);
    const mail = { send: async (sent: Mail) => void mails.push(sent), close: () => {} };
    const opened = await openServices(config, server, {
      log,
      clock: clock.now,
      mail,
      waitMillis,
      databaseLimits: longStatements,
      tracing: tracing ?? null,
    });
    const services = demo ? { ...opened.services, storage: withDemoBodies(opened.services.storage) } : opened.services;
    listener.answerWith(createApp(services), services);
    closers.push(() => opened.close(() => listener.close(1)));
    return { origin, restUrl: `${config.baseUrl}/api/v1`, mcpUrl: config.baseUrl, services };
  }

  // The second node is one more address of the same service, whose public address is that of the first.
  const first = await openNode();
  const delivery = openDelivery(first.services, 1);
  const nodes = [first];
  if (count > 1) {
    changes = { ...changes, baseUrl: first.services.config.baseUrl };
    const second = await openNode();
    nodes.push({ ...second, restUrl: `${second.origin}/api/v1`, mcpUrl: second.origin });
  }

  return {
    ...first,
    restUrl: `${first.origin}/api/v1`,
    mcpUrl: first.origin,
    nodes,
    config: first.services.config,
    database: first.services.database,
    clock,
    get demo() {
      if (!demo) throw new Error('This service has no demo data: open it with { demo: true }.');
      return { ...inject('demo'), rest_url: `${first.origin}/api/v1`, mcp_url: first.origin };
    },
    get scene() {
      if (!scene) throw new Error('This service has no scene: open it with { scene: true }.');
      return inject('scene');
    },
    log: lines,
    mails,
    async deliver() {
      await delivery.deliverDue();
      return mails;
    },
    connections: { owner, server },
    async noteUses() {
      for (const { services } of nodes) await services.lastUsed.flush(services.database);
    },
    async sql<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      const client = await ownerPool.connect();
      try {
        await client.query(`select set_config('dealkeep.now', $1, false)`, [clock.now().toISOString()]);
        return (await client.query<R>(text, [...values])).rows;
      } finally {
        client.release();
      }
    },
    asServer: (...statements) => first.services.database.together(...statements),
    async close() {
      await Promise.all(closers.map((closeNode) => closeNode()));
      const { rows: noted } = await ownerPool.query<{
        action: string;
        outcome: string;
        of_deal: boolean;
        noted: boolean;
        fits: boolean;
      }>(
        `select action, outcome, deal_id is not null as of_deal, noted,
           noted is not distinct from (outcome = 'done' and action not like 'tool:%' and (deal_id is not null or action not like 'contact.%')) as fits
         from audit_records group by 1, 2, 3, 4, 5`,
      );
      await ownerPool.end();
      await rm(dataDir, { recursive: true, force: true });
      const notes = process.env['DEALKEEP_TEST_CALLED'];
      if (notes) await noteCalls(notes, expect.getState().testPath ?? '', owner);
      await dropDatabase(inject('owner'), name);
      // The types do not cover the actions that database functions write to the audit trail: they are checked against
      // the known actions here.
      expect(noted.filter(({ action }) => !isKnownAction(action))).toEqual([]);
      // The writer of an audit record sets `noted`: check that it matches the record's action and outcome.
      expect(noted.filter(({ fits }) => !fits)).toEqual([]);
    },
  };
}
