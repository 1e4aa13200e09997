/**
 * Hostile requests, generated from a seed: the fields that a route or a tool takes, filled with values that nobody
 * should send.
 */

import { z } from 'zod';
import type { Services } from '../../server/services.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import { toolFacts } from '../../server/tools/catalog/index.ts';
import { checkOf } from '../../server/web/api/input.ts';
import { apiRoutes } from '../../server/web/api/routes.ts';
import type { Route } from '../http/routes.ts';
import { anyId } from '../ids.ts';

/** A request to send; `pattern` names its route or tool. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly pattern: string;
}

/** What a schema says about a field. */
interface Described {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly enum?: unknown;
  readonly properties?: Fields;
  readonly anyOf?: readonly Described[];
}
type Fields = Readonly<Record<string, Described>>;

const names: readonly string[] = ['__proto__', 'constructor', 'id', 'cursor', 'no_such_field'];

/**
 * Returns the fields that each route of the web application's interface takes in its body and in its query, according
 * to its schemas.
 */
function taken(services: Services): ReadonlyMap<string, { json: Fields; query: Fields }> {
  const all = new Map<string, { json: Fields; query: Fields }>();
  for (const { method, path, handler } of apiRoutes(services, toolFacts(services.config.features), null).routes) {
    const check = checkOf(handler);
    if (!check) continue;
    const { properties = {} } = z.toJSONSchema(check.schema, { unrepresentable: 'any' }) as Described;
    const route = `${method} /api/web${path}`;
    all.set(route, { ...(all.get(route) ?? { json: {}, query: {} }), [check.target]: properties });
  }
  return all;
}

/** Texts that nobody should send. */
export const texts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202egnp.exe',
  '\ufeff',
  '__proto__',
  'constructor',
  "' or 1=1; drop table users; --",
  '<script>alert(1)</script>',
  '../../../etc/passwd',
  '%00%ff%c0%ae',
  '${jndi:ldap://x}',
  '{{7*7}}',
  '-1',
  '0',
  '1e999',
  'NaN',
  '9'.repeat(400),
  `0.${'0'.repeat(5_000)}1`,
  '2025-02-31',
  '0000-01-01',
  '99999-12-31',
  '2025-01-01T00:00:00.000000000000000000Z',
  'a@b-.com',
  `${'a'.repeat(64)}@${'b'.repeat(250)}.com`,
  'é'.repeat(3_000),
  'a\u0301\u0316'.repeat(2_000),
  '🙂'.repeat(2_000),
  'x'.repeat(70_000),
  'null',
  '[]',
  'listed',
  'USD',
  'buyer',
  'done',
  'true',
];

function nested(depth: number): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/**
 * Returns functions that generate requests; `ids` are real ids, of this tenant and of others, and `deal` is the deal of
 * most records.
 */
export function generator(
  random: () => number,
  services: Services,
  routes: readonly Route[],
  ids: readonly string[],
  deal: string,
) {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const often = (share: number): boolean => random() < share;
  const fields = taken(services);

  function value(): unknown {
    const kind = Math.floor(random() * 12);
    if (kind < 5) return pick(texts);
    if (kind < 7) return pick(ids);
    if (kind === 7) return pick([0, -1, 1e308, -0, 2 ** 53, 1.5, 5e-324, 12]);
    if (kind === 8) return pick([null, true, false]);
    if (kind === 9) return Array.from({ length: Math.floor(random() * 40) }, () => pick(texts));
    if (kind === 10) return nested(pick([3, 29, 31, 33, 1_000]));
    return Object.fromEntries([pick(names), pick(names)].map((name) => [name, pick(texts)]));
  }

  /**
   * Returns a plausible value for a field, by its schema or else by its name, so that hostile values beside it are
   * reached.
   */
  function fitting(name: string, described: Described = {}): unknown {
    const { type, format, enum: listed, properties } = described.anyOf?.[0] ?? described;
    if (properties) return record(properties);
    if (Array.isArray(listed)) return pick(listed as unknown[]);
    if (name === 'deal_id' && often(0.8)) return deal;
    if (format === 'uuid' || /(^|_)id$/.test(name)) return pick(ids);
    if (format === 'date' || /date|deadline/.test(name)) return pick(['2026-03-01', '1999-12-31']);
    if (/(_at|until)$/.test(name)) return '2027-03-01T12:00:00Z';
    if (type === 'integer') return Math.floor(random() * 1_000);
    if (/amount|price|revenue/.test(name)) return pick(['125000.50', '-7', '0']);
    if (type === 'boolean') return pick([true, false]);
    return pick(['Two words', 'A line\nand another', '12']);
  }

  function record(described: Fields): Record<string, unknown> {
    const chosen = Object.keys(described).filter(() => often(0.9));
    if (often(0.15)) chosen.push(pick(names));
    const share = pick([0, 0.5, 0.9, 1]);
    return Object.fromEntries(
      chosen.map((name) => [
        name,
        often(share) ? fitting(name, Object.hasOwn(described, name) ? described[name] : {}) : value(),
      ]),
    );
  }

  function json(given: unknown): string {
    const text = JSON.stringify(given);
    if (often(0.9)) return text;
    return pick([
      text.slice(0, -1),
      `${text}${text}`,
      `\ufeff${text}`,
      text.replace('{', '{"__proto__":{"x":1},'),
      `${text.slice(0, -1)},"a":1,"a":2}`,
      `"${'\\"'.repeat(30_000)}`,
      '['.repeat(20_000),
      `[${'1,'.repeat(20_000)}1]`,
      `{${Array.from({ length: 5_000 }, (_, at) => `"k${at}":${at}`).join(',')}}`,
      '1e400',
      '',
    ]);
  }

  const types = [
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-7',
    'x',
    'application/xml',
  ];
  const bodies = [
    '--x\r\nContent-Disposition: form-data; name="a"; filename="\u0000"\r\n\r\n\r\n--x--',
    '--x\r\n'.repeat(2_000),
    '%'.repeat(10_000),
    'a=b&'.repeat(5_000),
    `name${','.repeat(40_000)}\nx\n`,
    `name,email\n${'"'.repeat(10_001)}`,
    'PK\u0003\u0004'.repeat(2_000),
    '\ufffe\u0000<svg/>',
  ];

  function queryOf(known: Fields): string {
    if (often(0.2)) return '';
    const given = Object.entries(record(known)).map(([name, one]) => {
      const text = typeof one === 'string' ? one : JSON.stringify(one);
      // A query longer than the limit of all headers is rejected before any route is reached.
      const encoded = encodeURIComponent(text.slice(0, 2_000).toWellFormed());
      return `${encodeURIComponent(name)}=${often(0.05) ? pick(['%zz', '%ff', '%00']) : encoded}`;
    });
    const twice = often(0.1) ? [...given, ...given] : given;
    return `?${twice.join('&').slice(0, 8_000)}`;
  }

  const idsIn = (path: string) =>
    path.replaceAll(anyId, (id) => {
      if (often(0.6)) return id;
      return often(0.7)
        ? pick(ids)
        : encodeURIComponent(pick(texts).slice(0, 500).toWellFormed()).replaceAll('.', '%2E.') || '0';
    });

  return {
    /** Returns a request to a route of the web application's interface. */
    ofRoute(): HostileRequest {
      const { method, path, pattern } = pick(routes);
      const { json: inBody, query: inQuery } = fields.get(`${method} ${pattern}`) ?? { json: {}, query: {} };
      const asked = idsIn(path).replaceAll(/\/(?:\.|%2E){1,2}(?=\/|$)/gi, '/0');
      const target = `${asked}${queryOf(inQuery)}`;
      const extra: Record<string, string> = often(0.05)
        ? { accept: pick(['text/html', '*/*;q=', ',,,']), range: pick(['bytes=0-', 'bytes=-', 'bytes=9-1']) }
        : {};
      if (method === 'GET') return { method, path: target, headers: extra, pattern };
      if (often(0.1))
        return {
          method,
          path: target,
          headers: { 'content-type': pick(types), ...extra },
          body: pick(bodies),
          pattern,
        };
      const body = often(0.04) ? json(value() ?? null) : json(record(inBody));
      return { method, path: target, headers: { 'content-type': 'application/json', ...extra }, body, pattern };
    },

    /** Returns a call of a tool. */
    ofTool(): HostileRequest {
      const { name, listed } = pick(catalog);
      const described = (listed.inputSchema.properties ?? {}) as Fields;
      const call = {
        jsonrpc: '2.0',
        id: often(0.9) ? 1 : value(),
        method: often(0.95) ? 'tools/call' : pick(['tools/list', 'initialize', 'ping', '__proto__', '']),
        params: often(0.97)
          ? {
              name: often(0.97) ? name : pick(texts),
              arguments: often(0.95) ? record(described) : value(),
            }
          : value(),
      };
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      return {
        method: 'POST',
        path: pick(['/api/mcp', '/mcp']),
        headers,
        body: json(often(0.97) ? call : [call, call]),
        pattern: `tool ${name}`,
      };
    },
  };
}
