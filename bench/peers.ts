/**
 * The contacts and a tool call, compared with what other products offer for them: PostGraphile, Directus, Strapi, and
 * Fastify alone. All of them are installed from npm when this runs, use the same PostgreSQL with the same rows, and are
 * measured alternately.
 */

import { mkdtemp, rm, mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { ClientBackends } from './backends.ts';
import type { Bench } from './bench.ts';
import type { Cluster } from './cluster.ts';
import { inTurns, type Measured, type Side } from './compare.ts';
import { tenants } from './data.ts';
import { request } from './load.ts';
import { directus } from './peers/directus.ts';
import { floor } from './peers/floor.ts';
import { install, newContact, type Ask, type Known, type Peer, type Running } from './peers/peer.ts';
import { postgraphile } from './peers/postgraphile.ts';
import { strapi } from './peers/strapi.ts';
import { freePort } from './free-port.ts';
import { startDealkeep } from './processes.ts';
import { millis, table, whole } from './table.ts';
import { headersOf, message } from './tools.ts';
import { deals, openToolsData, type ToolsData } from './tools-data.ts';

const peers: readonly Peer[] = [floor, postgraphile, directus, strapi];
const connections = 16;
const toolCall = { tool: 'svc_deals_get', era: '2025-11-25' } as const;

/** The records that every product is asked for. */
interface Questions {
  readonly contacts: readonly Known[];
  readonly brokerages: readonly string[];
}

/** Starts Dealkeep, with limits that nodes share in PostgreSQL, too high to refuse anybody. */
async function ours(bench: Bench, port: number, data: ToolsData, { brokerages }: Questions): Promise<Running> {
  const service = await startDealkeep(bench.databaseUrl, {
    PORT: String(port),
    RATE_LIMIT_STORE: 'postgres',
    RATE_LIMIT_TOOLS: '1000000',
  });
  const tenantOf = new Map(brokerages.map((brokerage, at) => [brokerage, at + 1]));
  const headers = (brokerage: string) => ({
    Authorization: `Bearer ${bench.data.tokenOf(tenantOf.get(brokerage) ?? 0)}`,
  });
  let deal = 0;
  return {
    service,
    created: 201,
    get: ({ id, brokerage }) => ({ method: 'GET', target: `/api/v1/contacts/${id}`, headers: headers(brokerage) }),
    page: (brokerage) => ({ method: 'GET', target: '/api/v1/contacts', headers: headers(brokerage) }),
    create: (brokerage) => ({
      method: 'POST',
      target: '/api/v1/contacts',
      headers: headers(brokerage),
      body: { type: 'person', ...newContact },
    }),
    call() {
      deal = (deal % deals) + 1;
      const body = JSON.parse(message(toolCall, data.dealId(deal))) as object;
      return { method: 'POST', target: '/api/mcp', headers: headersOf(toolCall, data.accessToken(deal)), body };
    },
  };
}

const raw = ({ method, target, headers, body }: Ask): string =>
  request(method, target, headers, body === undefined ? '' : JSON.stringify(body));

/**
 * Sends a request and throws unless the response contains what was requested: some products report errors with status
 * 200.
 */
async function insist(name: string, { service }: Running, ask: Ask, holds: RegExp, times: number): Promise<void> {
  const { method, headers, body } = ask;
  const response = await fetch(`${service.origin}${ask.target}`, {
    method,
    headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const found = text.match(new RegExp(holds, 'g'))?.length ?? 0;
  if (found < times)
    throw new Error(`${name} answered ${method} ${ask.target} with ${response.status}: ${text.slice(0, 400)}`);
}

/** Installs and starts a peer; prints the reason and returns null when that fails. */
async function started(bench: Bench, peer: Peer, directory: string, client: pg.Client, questions: Questions) {
  const { cluster, say } = bench;
  const schema = `peer_${peer.name.replaceAll(/\W.*/g, '').toLowerCase()}`;
  let running: Running | undefined;
  try {
    say(`Installing ${peer.name} (${Object.entries(peer.packages)[0]?.join(' ')})`);
    await mkdir(directory, { recursive: true });
    const node = await install(directory, peer);
    say(`Starting ${peer.name}`);
    await client.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
    const owner = cluster.owner as Cluster['server'];
    running = await peer.start({ directory, node, schema, client, owner, visitor: cluster.server });
    const [contact] = questions.contacts as [Known];
    await insist(peer.name, running, running.get(contact), new RegExp(contact.id), 1);
    await insist(peer.name, running, running.page(contact.brokerage), /contact-\d+@example\.com/, 50);
    await insist(peer.name, running, running.create(contact.brokerage), new RegExp(newContact.email), 1);
    if (running.call) await insist(peer.name, running, running.call(contact), new RegExp(contact.id), 1);
    return running;
  } catch (error) {
    await running?.service.stop();
    say(`Without ${peer.name}: ${(error as Error).message}`);
    return null;
  }
}

const ratio = (part: number, of: number): string => (part / of).toFixed(2);
const micros = (time: number | null): string => (time === null ? '–' : whole(time));

/** Measures one kind of request on all sides alternately; returns the rows of its table, ours first. */
async function measured(bench: Bench, name: string, sides: Record<string, Side>, backends: ClientBackends) {
  bench.say(`Measuring ${name} at concurrency ${connections}`);
  const found: Record<string, Measured> = await inTurns(bench, name, connections, sides, backends);
  const us = found['ours'] as Measured;
  const processor = (side: Measured) => (side.processor ?? Number.NaN) + (side.postgres ?? Number.NaN);
  return Object.entries(found).map(([side, them]) => [
    name,
    side,
    whole(them.rate),
    millis(them.p50),
    millis(them.p99),
    micros(them.processor),
    micros(them.postgres),
    ratio(us.rate, them.rate),
    Number.isNaN(processor(them)) ? '–' : ratio(processor(them), processor(us)),
  ]);
}

/** Prints one table, and a sentence for each missing peer. */
export async function benchPeers(bench: Bench): Promise<void> {
  const { cluster, data, rows, say } = bench;
  const temporary = bench.keep === null ? await mkdtemp(path.join(os.tmpdir(), 'dealkeep-peers-')) : null;
  const client = new pg.Client(cluster.owner);
  await client.connect();
  const running = new Map<string, Running>();
  let toolsData: ToolsData | undefined;
  try {
    say(`Loading ${whole(rows)} contacts`);
    await data.growTo(rows);
    const { rows: found } = await client.query<{ id: string }>(
      `select bench.brokerage_of(t) as id from generate_series(1, ${tenants}) t order by t`,
    );
    const brokerages = found.map(({ id }) => id);
    const contacts = (await data.sample(2_000)).map(({ id, tenant }) => ({
      id,
      brokerage: brokerages[tenant - 1] ?? '',
    }));
    const questions = { brokerages, contacts };
    const port = await freePort();
    toolsData = await openToolsData(cluster, `http://127.0.0.1:${port}`, 0);

    running.set('ours', await ours(bench, port, toolsData, questions));
    for (const peer of peers) {
      const directory = path.join(bench.keep ?? temporary ?? '', peer.name.split(' ')[0]?.toLowerCase() ?? '');
      const its = await started(bench, peer, path.resolve(directory), client, questions);
      if (its) running.set(peer.name, its);
    }

    const backends = new ClientBackends(client);
    const asked: Record<string, (its: Running) => { asks: Ask[]; expect: number } | null> = {
      'get one': (its) => ({ asks: contacts.map((contact) => its.get(contact)), expect: 200 }),
      'page of 50': (its) => ({ asks: brokerages.map((brokerage) => its.page(brokerage)), expect: 200 }),
      create: (its) => ({ asks: brokerages.map((brokerage) => its.create(brokerage)), expect: its.created }),
      'tool call': (its) =>
        its.call ? { asks: contacts.map((contact) => (its.call as (of: Known) => Ask)(contact)), expect: 200 } : null,
    };
    const lines: string[][] = [];
    for (const [name, of] of Object.entries(asked)) {
      const sides = [...running].flatMap(([side, its]) => {
        const order = of(its);
        return order
          ? [[side, { service: its.service, requests: order.asks.map(raw), expect: order.expect }] as const]
          : [];
      });
      lines.push(...(await measured(bench, name, Object.fromEntries(sides), backends)));
    }
    const heads = [
      '',
      '',
      '/s',
      'p50 ms',
      'p99 ms',
      'server µs',
      'PostgreSQL µs',
      'rate: ours to theirs',
      'CPU: theirs to ours',
    ];
    say(`\nBeside others: ${whole(rows)} contacts in ${tenants} tenants, concurrency ${connections}, in turns\n`);
    say(table(heads, lines));
    say(
      '\nOurs counts its limits in PostgreSQL, as nodes do that share it, and keeps its audit records. The tool calls read one',
    );
    say('deal of ours (svc_deals_get) and one contact of theirs. The floor knows no callers, no rules and no limits.');
  } finally {
    for (const { service } of running.values()) await service.stop();
    await toolsData?.close();
    await client.end();
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
}
