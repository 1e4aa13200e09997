/**
 * The tool server compared with the bare SDK and with pgbench, the cost of a call's audit record, and token refreshes
 * compared with pgbench.
 */

import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import type { Statement } from '../server/database/statement.ts';
import { dealAnswer } from '../server/domain/deals/participants.ts';
import { offersAnswer } from '../server/domain/offers/offers.ts';
import { booksAndPeriods } from '../server/domain/diligence/period-list.ts';
import { enterToRead, type EnteringRead } from '../server/domain/clients/tokens.ts';
import { ClientBackends } from './backends.ts';
import { concurrencies, type Bench } from './bench.ts';
import { cells, comparisonHeads, inTurns, portOf } from './compare.ts';
import { request } from './load.ts';
import { findPgbench, runPgbench } from './pgbench.ts';
import { freePort } from './free-port.ts';
import { median } from './median.ts';
import { startBareSdk, startDealkeep, type Service } from './processes.ts';
import { millis, percent, table, whole } from './table.ts';
import { clientOf, deals, openToolsData, perDeal, type ToolsData } from './tools-data.ts';

interface Setting {
  readonly bench: Bench;
  readonly data: ToolsData;
  readonly port: number;
}

const addressAt = (port: number) => `http://127.0.0.1:${port}`;

/** Starts Dealkeep with its limits out of the way. */
const start = ({ bench, port }: Setting, env: NodeJS.ProcessEnv = {}) =>
  startDealkeep(bench.databaseUrl, {
    PORT: String(port),
    RATE_LIMIT_TOOLS: '1000000',
    RATE_LIMIT_TOKEN_CLIENT: '1000000',
    RATE_LIMIT_TOKEN_IP: '1000000',
    ...env,
  });

// Tools ---------------------------------------------------------------------------------------------------------------

interface ToolCase {
  readonly tool: string;
  readonly era: '2026-07-28' | '2025-11-25';
  /**
   * Either one statement that authenticates and answers, or a statement after authentication, with SQL for its
   * parameters.
   */
  readonly entering?: EnteringRead<unknown>;
  readonly statement?: Statement<unknown>;
  readonly parameters?: readonly string[];
}

const dealOf = `bench.uuid_of('deal', :t)`;
const nobody = randomUUID();
const cases: readonly ToolCase[] = [
  { tool: 'svc_deals_get', era: '2026-07-28', entering: dealAnswer },
  { tool: 'svc_deals_get', era: '2025-11-25', entering: dealAnswer },
  { tool: 'svc_offers_list', era: '2026-07-28', entering: offersAnswer(nobody, true) },
  {
    tool: 'svc_qoe_pl_periods',
    era: '2026-07-28',
    statement: booksAndPeriods(nobody, null, null),
    // As from a node that has nothing of the deal in its cache.
    parameters: [dealOf, `'{}'::text[]`, `'{}'::text[]`, 'null::date', 'null::date'],
  },
];

const withParameters = (text: string, parameters: readonly string[]): string =>
  `${text.replaceAll(/\$(\d+)/g, (_, at: string) => parameters[Number(at) - 1] ?? 'null').replaceAll(/\s+/g, ' ')};`;

const read = { tool: '', subjectId: null, dealId: null, from: { address: null, requestId: null } };
const entered = [Buffer.alloc(32), '', null, read] as const;

/** Returns the transaction of a call as a script for pgbench. */
function script({ tool, entering, statement, parameters = [] }: ToolCase, baseUrl: string): string {
  const token = `sha256(bench.secret_of('dka_', :t)::bytea)`;
  const enter = entering ? entering.enter(...entered) : enterToRead(...entered);
  const record = [`'${tool}'`, 'null', dealOf, `'127.0.0.1'::inet`, `'bench'`, 'app.uuid_v7()'];
  return [
    `\\set t random(1, ${deals})`,
    '\\startpipeline',
    withParameters(enter.text, [token, `'${baseUrl}/api/mcp'`, `'deals'`, dealOf, ...record]),
    ...(statement ? [withParameters(statement.text, parameters)] : []),
    '\\endpipeline',
    '',
  ].join('\n');
}

type Called = Pick<ToolCase, 'tool' | 'era'>;

/** Returns the message that calls a tool about a deal. */
export function message({ tool, era }: Called, dealId: string): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  };
  const params = { name: tool, arguments: { deal_id: dealId }, ...(era === '2026-07-28' ? { _meta: meta } : {}) };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
}

/** Returns the headers of the request with the message. */
export const headersOf = ({ tool, era }: Called, token: string): Record<string, string> => ({
  Authorization: `Bearer ${token}`,
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': era,
  ...(era === '2026-07-28' ? { 'Mcp-Method': 'tools/call', 'Mcp-Name': tool } : {}),
});

/** Returns a tool's result for the first deal; throws unless it is a success. */
async function answerOf(ours: Service, data: ToolsData, asked: ToolCase): Promise<Record<string, unknown>> {
  const response = await fetch(`${ours.origin}/api/mcp`, {
    method: 'POST',
    headers: { ...headersOf(asked, data.accessToken(1)), 'Content-Type': 'application/json' },
    body: message(asked, data.dealId(1)),
  });
  const text = await response.text();
  const { result } = JSON.parse(text) as { result?: { isError?: boolean; structuredContent: Record<string, unknown> } };
  if (!result || result.isError) throw new Error(`${asked.tool} (${asked.era}) failed: ${text.slice(0, 500)}`);
  return result.structuredContent;
}

async function calls(setting: Setting): Promise<void> {
  const { bench, data } = setting;
  const { cluster, seconds, say } = bench;
  const pgbench = findPgbench();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-bench-results-'));
  const ours = await start(setting);
  const services = [ours];
  const watcher = new pg.Client(cluster.owner);
  await watcher.connect();
  const backends = new ClientBackends(watcher);
  try {
    const results: Record<string, unknown> = {};
    for (const asked of cases) results[asked.tool] = await answerOf(ours, data, asked);
    await writeFile(path.join(directory, 'results.json'), JSON.stringify(results));
    const bare = await startBareSdk(path.join(directory, 'results.json'));
    services.push(bare);
    const lines: string[][] = [];
    const named = cases.map((asked) => ({
      asked,
      name: `${asked.tool} (${asked.era})`,
      requests: Array.from({ length: deals }, (_, at) =>
        request('POST', '/api/mcp', headersOf(asked, data.accessToken(at + 1)), message(asked, data.dealId(at + 1))),
      ),
    }));
    // A process that has answered few requests has not compiled its code yet, which would show in the first row.
    for (const { name, requests } of named)
      for (const service of services) {
        const label = `warm-up ${name} ${service.origin}`;
        await bench.generator.send({
          label,
          port: portOf(service),
          requests,
          connections: 16,
          seconds: 2,
          warmUp: 0,
          expect: 200,
        });
      }
    for (const { asked, name, requests } of named) {
      for (const connections of concurrencies) {
        say(`Measuring ${name} at concurrency ${connections}`);
        const load = { connections, seconds: Math.ceil(seconds) };
        const limit = pgbench
          ? whole(await runPgbench(pgbench, cluster.server, script(asked, addressAt(setting.port)), load))
          : '–';
        const sides = {
          bare: { service: bare, requests, expect: 200 },
          ours: { service: ours, requests, expect: 200 },
        };
        const compared = await inTurns(bench, name, connections, sides, backends);
        const { postgres } = compared.ours;
        lines.push([name, String(connections), limit, ...cells(compared), postgres === null ? '–' : whole(postgres)]);
      }
    }
    say(
      `\nTool calls: ${perDeal.offers} offers, ${perDeal.periods} periods; "bare" is the SDK alone, returning the same as a constant\n`,
    );
    say(table(['', 'conc.', 'pgbench /s', ...comparisonHeads, 'PostgreSQL µs'], lines));
    say(
      '\nCPU µs: processor time of Node.js for an answer; PostgreSQL µs: that of its backends for an answer of ours.',
    );
    if (!pgbench) say('\npgbench is not installed here: its column is left out.');
    say(`\nPeak memory: ours ${ours.peakMemory()} MB, bare ${bare.peakMemory()} MB\n`);
  } finally {
    for (const service of services) await service.stop();
    await watcher.end();
    await rm(directory, { recursive: true });
  }
}

// The audit record ----------------------------------------------------------------------------------------------------

/** Number of turns, and of calls in each, with the record and without. */
const recorded = { turns: 200, calls: 30 };

/**
 * Prints what the audit record of a call costs PostgreSQL: the same call with it and without, alternately on one
 * connection.
 */
async function auditRecord({ bench: { cluster, say }, data, port }: Setting): Promise<void> {
  const watcher = new pg.Client(cluster.owner);
  const client = new pg.Client(cluster.server);
  await watcher.connect();
  await client.connect();
  const backends = new ClientBackends(watcher);
  const call = async (deal: number, isRecorded: boolean): Promise<void> => {
    const digest = createHash('sha256').update(data.accessToken(deal)).digest();
    const id = data.dealId(deal);
    const from = { address: '127.0.0.1', requestId: 'bench' };
    const called = { tool: 'svc_deals_get', subjectId: null, dealId: id, from };
    const { text, values } = dealAnswer.enter(digest, `${addressAt(port)}/api/mcp`, { table: 'deals', id }, called);
    // The fifth parameter is the tool; a call without one leaves no record.
    const { rows } = await client.query({
      name: 'call',
      text,
      values: isRecorded ? [...values] : values.with(4, null),
    });
    if (rows.length !== 1) throw new Error('The token of a deal lets nobody in.');
  };
  const spent = async (isRecorded: boolean): Promise<number> => {
    const before = (await backends.spent()) ?? Number.NaN;
    for (let n = 0; n < recorded.calls; n++) await call(1 + (n % deals), isRecorded);
    return ((((await backends.spent()) ?? Number.NaN) - before) / recorded.calls) * 1e6;
  };
  try {
    say('Measuring the audit record of a call');
    for (let n = 0; n < 20; n++) for (const isRecorded of [true, false]) await spent(isRecorded);
    const kept: number[] = [];
    const unkept: number[] = [];
    for (let turn = 0; turn < recorded.turns; turn++) {
      for (const isRecorded of turn % 2 === 0 ? [true, false] : [false, true])
        (isRecorded ? kept : unkept).push(await spent(isRecorded));
    }
    const most = (part: number) => (numbers: number[]) =>
      numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * part)] ?? Number.NaN;
    const row = (name: string, of: (numbers: number[]) => number) => [
      name,
      ...[of(kept), of(unkept), of(kept) - of(unkept)].map((micros) => (Number.isNaN(micros) ? '–' : whole(micros))),
    ];
    say('\nsvc_deals_get on one connection: PostgreSQL µs a call\n');
    say(
      table(
        ['', 'with its record', 'without', 'the audit record'],
        [row('least tenth', most(0.1)), row('median', median)],
      ),
    );
    say('');
  } finally {
    await client.end();
    await watcher.end();
  }
}

// Refreshes -----------------------------------------------------------------------------------------------------------

const rotation = `
select outcome from (select nextval('bench.unused') as n) x, lateral app.refresh_tokens(${clientOf('n')},
  sha256(bench.secret_of('dkr_', n)::bytea), null, null, null, 0, sha256(('access' || n)::bytea), sha256(('refresh' || n)::bytea),
  null, '127.0.0.1', 'bench');
`;

/**
 * Tokens are prepared for at most this many refreshes per second; on a faster machine an error says that there are too
 * few.
 */
const fastest = 2_500;

async function refreshes(setting: Setting): Promise<void> {
  const { bench, data } = setting;
  const { cluster, generator, seconds, say } = bench;
  const pgbench = findPgbench();
  const lines: string[][] = [];
  const held = '(held on purpose)';
  for (const overlap of ['off', 'on']) {
    const ours = await start(setting, { REFRESH_OVERLAP: overlap });
    try {
      for (const connections of concurrencies) {
        say(`Measuring refreshes with REFRESH_OVERLAP=${overlap} at concurrency ${connections}`);
        const limit =
          pgbench && overlap === 'off'
            ? await runPgbench(pgbench, cluster.server, rotation, { connections, seconds: Math.ceil(seconds) })
            : null;
        const warmUp = 0.5;
        const most = overlap === 'off' ? fastest : connections * 12;
        const tokens = await data.refreshTokens(Math.ceil(most * (seconds / 2 + warmUp)));
        const { rate, p50, p99 } = await generator.send({
          label: `refresh ${overlap} ${connections}`,
          port: portOf(ours),
          requests: tokens.map(({ token, clientId }) =>
            request(
              'POST',
              '/api/mcp/token',
              {},
              JSON.stringify({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token }),
            ),
          ),
          connections,
          seconds: seconds / 2,
          warmUp,
          expect: 200,
        });
        const share = limit === null ? (overlap === 'on' ? held : '–') : percent(rate, limit);
        const best = limit === null ? '–' : whole(limit);
        lines.push([`overlap ${overlap}`, String(connections), best, whole(rate), millis(p50), millis(p99), share]);
      }
    } finally {
      await ours.stop();
    }
  }
  say('\nRefreshes of tokens, each of a family of its own\n');
  say(table(['REFRESH_OVERLAP', 'conc.', 'pgbench /s', 'ours /s', 'p50 ms', 'p99 ms', 'of pgbench'], lines));
  say('\nWith overlap on, each refresh waits 100 ms for others of the same token, so that all of them get one answer.');
}

/** Prints the three tables. */
export async function benchTools(bench: Bench): Promise<void> {
  bench.say('Loading deals, offers, accounts and tokens');
  const port = await freePort();
  const tokens = Math.ceil(concurrencies.length * bench.seconds * fastest * 3);
  const data = await openToolsData(bench.cluster, addressAt(port), tokens);
  try {
    await auditRecord({ bench, data, port });
    await calls({ bench, data, port });
    await refreshes({ bench, data, port });
  } finally {
    await data.close();
  }
}
