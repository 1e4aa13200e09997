/**
 * Two worlds behind two running services that receive the same requests at the same times, and the differences between
 * their responses.
 */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { unzipSync } from 'fflate';
import { createApp } from '../../server/app.ts';
import { readConfig, type Config } from '../../server/config/config.ts';
import { csrfToken } from '../../server/http/csrf.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import { openService, type TestService } from '../harness.ts';
import { anyId } from '../ids.ts';
import { connect } from '../policies/scene.ts';
import { withoutTriggers } from '../triggers.ts';
import { beginning, secretsOf } from './names.ts';
import type { World, WorldRow } from './world.ts';

export interface Ask {
  readonly method: string;
  readonly path: string;
  readonly as: 'session' | 'client' | 'key' | 'nobody';
  readonly body?: unknown;
}

export interface Difference {
  readonly what: string;
  readonly first: string;
  readonly second: string;
}

export interface Pair {
  readonly caller: string;
  readonly services: readonly [TestService, TestService];
  /** Headers with the caller's own credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The routes of the live app. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  /** Sends a request to both services and compares the responses; returns both. */
  ask(ask: Ask): Promise<readonly [Answer, Answer]>;
  /** How many answers were compared so far. */
  readonly compared: number;
  readonly differences: readonly Difference[];
  /** Compares two texts that are not responses. */
  compare(what: string, first: string, second: string): void;
  /** Runs a statement in both databases, bypassing every policy. */
  sql(text: string, values?: readonly unknown[]): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /**
   * Status, headers and body as they are compared: without the headers that are `uncompared`, with archives unpacked.
   */
  readonly whole: string;
}

// Every difference between two responses that is allowed, and why; nothing else is replaced before the comparison.
const random: readonly (readonly [what: RegExp, by: string, why: string])[] = [
  [
    /"next_?cursor":"[^"]+"/gi,
    '"next_cursor":"…"',
    'a cursor is sealed with a random nonce; the page behind it is asked for and compared',
  ],
  [/http:\/\/127\.0\.0\.1:\d+|127\.0\.0\.1:\d+/g, '<origin>', 'each service listens on a port of its own'],
  [/accept-invitation[?#]token=[\w-]{20,}/g, '<invitation>', 'the token of an invitation is random'],
  [/"nextCursor":"[\w-]{99}"/g, '<cursor>', 'a cursor of events is encrypted'],
  [/nonce-[\w+/=-]+|nonce="[\w+/=-]+"/g, '<nonce>', 'a nonce of the content security policy is random'],
];
// Ids that exist in neither world were created by this request or an earlier one: new records, or the ids of requests.
/**
 * Whether a header is left out of the comparison: headers that describe the single request, and entity tags that reveal
 * no more than the body, which is compared itself: a digest of the body, a digest with a secret key, or a digest of a
 * body that contains the service's port.
 */
const uncompared = (name: string, value: unknown, path: string, bytes: Buffer, origin: string): boolean =>
  name === 'date' ||
  name === 'x-request-id' ||
  (name === 'etag' &&
    (value === `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"` ||
      path.startsWith('/api/v1/events') ||
      bytes.includes(origin)));

/**
 * The files of an archive, line by line. Lines are sorted because new records come in the order of their random ids;
 * sizes and digests in the manifest are removed because the files themselves are compared.
 */
function unpacked(archive: Uint8Array, known: ReadonlySet<string>): string {
  return Object.entries(unzipSync(archive))
    .map(([name, content]) => {
      const lines = Buffer.from(content)
        .toString()
        .replaceAll(anyId, (id) => (known.has(id) ? id : '<new>'))
        .replaceAll(/"(?:bytes|sha256)": ?(?:\d+|"[0-9a-f]{64}")/g, '')
        .split(/,?\r?\n/);
      return [`${name}:`, ...lines.toSorted()].join('\n');
    })
    .join('\n\n');
}

function normalised(text: string, known: ReadonlySet<string>): string {
  let plain = text;
  for (const [what, by] of random) plain = plain.replaceAll(what, by);
  const fresh = new Map<string, string>();
  return plain.replaceAll(anyId, (id) => {
    if (known.has(id)) return id;
    if (!fresh.has(id)) fresh.set(id, `<new ${fresh.size + 1}>`);
    return fresh.get(id)!;
  });
}

/** Inserts the rows of a world into an empty database, without the triggers, which would add more. */
async function fill(service: TestService, rows: readonly WorldRow[]): Promise<void> {
  const owner = await connect(service.connections.owner);
  try {
    await owner.query('begin');
    const tables = [...new Set(rows.map(({ table }) => table))];
    await withoutTriggers(owner, tables);
    const bundles = new Map<string, WorldRow[]>();
    for (const row of rows) {
      const bundle = `${row.table} (${Object.keys(row.values).join(', ')})`;
      bundles.set(bundle, [...(bundles.get(bundle) ?? []), row]);
    }
    const resource = canonicalResource(service.config.baseUrl);
    // Tables are filled in the order of the world's rows, referenced tables first.
    const inOrder = [...bundles].toSorted(([, [a]], [, [b]]) => tables.indexOf(a!.table) - tables.indexOf(b!.table));
    for (const [bundle, same] of inOrder) {
      const { table, values } = same[0]!;
      await owner.query(
        `insert into ${bundle} select ${Object.keys(values).join(', ')} from jsonb_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(same.map((row) => row.values)).replaceAll('{resource}', resource)],
      );
    }
    await owner.query('set constraints all immediate');
    await owner.query(tables.map((table) => `alter table ${table} enable trigger user`).join('; '));
    await owner.query('commit');
  } finally {
    await owner.end();
  }
  for (const { table, values, hidden } of rows)
    if (!hidden && ['documents', 'production_documents'].includes(table))
      await service.services.storage.write(
        values['storage_key'] as string,
        (async function* () {
          yield Buffer.from('Some bytes.');
        })(),
      );
}

async function openWorld(world: World): Promise<TestService> {
  const service = await openService({
    config: {
      features: { findings: true, financing: true },
      smtpUrl: 'smtp://127.0.0.1:9',
      // Concurrent requests share one connection, so that each statement is planned once for all.
      poolSize: 1,
      rateLimits: Object.fromEntries(
        Object.keys(readConfig({}).rateLimits).map((kind) => [kind, 1_000_000]),
      ) as unknown as Config['rateLimits'],
    },
  });
  service.clock.stand(beginning);
  await fill(service, world.rows);
  return service;
}

export interface Worlds {
  /** Sends requests as one of the callers for whom the two worlds are alike. */
  as(caller: string): Pair;
  close(): Promise<void>;
}

/** Opens a service for each of two worlds. */
export async function openWorlds(first: World, second: World): Promise<Worlds> {
  const services = await Promise.all([openWorld(first), openWorld(second)]);
  const known = new Set(
    [...first.rows, ...second.rows].flatMap(({ values }) =>
      Object.values(values).flatMap((value) => (typeof value === 'string' ? (value.match(anyId) ?? []) : [])),
    ),
  );
  const routes = createApp(services[0].services).routes.filter(({ method }) => method !== 'ALL');
  return {
    as: (caller) => pairOf(services, known, routes, caller),
    async close() {
      connections.destroy();
      await Promise.all(services.map((service) => service.close()));
    },
  };
}

/** Connections are kept alive, because some ten thousand requests are sent. */
const connections = new Agent({ keepAlive: true, maxSockets: 16 });

function pairOf(
  services: readonly [TestService, TestService],
  known: ReadonlySet<string>,
  routes: Pair['routes'],
  caller: string,
): Pair {
  const secrets = secretsOf(caller);
  const differences: Difference[] = [];
  let compared = 0;
  const compare = (what: string, one: string, other: string) => {
    compared += 1;
    if (one === other) return;
    const [a, b] = [normalised(one, known), normalised(other, known)];
    if (a !== b) differences.push({ what, first: a, second: b });
  };
  const credentials = {
    session: { cookie: `dealkeep=${secrets.session}`, 'x-csrf-token': csrfToken(secrets.session) },
    client: { authorization: `Bearer ${secrets.access}`, accept: 'application/json, text/event-stream' },
    key: { authorization: `Bearer ${secrets.key}` },
    nobody: {},
  };
  async function send(service: TestService, { method, path, as, body }: Ask): Promise<Answer> {
    const sent = request(service.origin + path, {
      agent: connections,
      method,
      headers: {
        accept: '*/*',
        ...credentials[as],
        // Compressed responses would differ in length where only their new ids differ.
        'accept-encoding': 'identity',
        ...(as === 'session' || as === 'nobody' ? { origin: service.config.baseUrl } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const bytes = await buffer(response);
    // Workbooks are archives, too.
    const isArchive = /^application\/(zip|vnd\.openxmlformats)/.test(response.headers['content-type'] ?? '');
    const text = isArchive ? unpacked(bytes, known) : bytes.toString();
    const headers = Object.entries(response.headers).filter(
      ([name, value]) =>
        !uncompared(name, value, path, bytes, service.origin) && !(isArchive && name === 'content-length'),
    );
    const status = response.statusCode ?? 0;
    const whole = [status, ...headers.map(([name, value]) => `${name}: ${String(value)}`), '', text].join('\n');
    return { status, text, whole };
  }
  return {
    caller,
    services,
    headers: caller === 'API key' ? credentials.key : caller === 'nobody' ? {} : credentials.session,
    routes,
    differences,
    get compared() {
      return compared;
    },
    compare,
    async ask(ask) {
      for (const service of services) service.clock.advance(1000);
      const answers = await Promise.all(services.map((service) => send(service, ask)));
      const [one, other] = answers as [Answer, Answer];
      const said = ask.body === undefined ? '' : ` ${JSON.stringify(ask.body)}`;
      compare(`${caller}: ${ask.as} ${ask.method} ${ask.path}${said}`, one.whole, other.whole);
      return [one, other];
    },
    async sql(text, values = []) {
      for (const service of services) await service.sql(text, values);
    },
  };
}
