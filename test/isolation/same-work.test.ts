/**
 * A deal that the caller may not see takes the database the same work as one that is not there, so that the time of an
 * answer does not tell them apart: what the service sends for each of the two is run again with EXPLAIN, and the plans say
 * alike what was done how often.
 */

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Statement } from '../../server/database/statement.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { connect, type Scene } from '../policies/scene.ts';
import { addToken } from '../tools/scene.ts';
import { signInAs } from '../web/person.ts';

let service: TestService;
let scene: Scene;
let server: pg.Client;
/** What the service has sent, a transaction at a time. */
let sent: Statement<unknown>[][] = [];

beforeAll(async () => {
  service = await openService({ scene: true, config: { features: { findings: true, financing: true } } });
  scene = service.scene;
  server = await connect(service.connections.server);
  const { database } = service.services;
  const { together } = database;
  database.together = (...statements) => {
    sent.push([...statements]);
    return together(...statements);
  };
});
afterAll(async () => {
  await server?.end();
  await service?.close();
});

/** What was done for each statement of a transaction, up to the one that was refused. */
async function workOf(statements: readonly Statement<unknown>[]): Promise<string[]> {
  const done: string[] = [];
  await server.query('begin');
  try {
    for (const { name, text, values } of statements) {
      const explain = 'explain (analyze, costs off, timing off, summary off, buffers off)';
      const { rows } = await server.query<{ 'QUERY PLAN': string }>(`${explain} ${text}`, [...values]);
      done.push([name, ...rows.map((row) => row['QUERY PLAN'])].join('\n'));
    }
  } catch (error) {
    done.push(String(error));
  } finally {
    await server.query('rollback');
  }
  return done;
}

/** Asks, and says what it took, without the id of the deal. */
async function work(deal: string, ask: (deal: string) => Promise<unknown>): Promise<string[]> {
  sent = [];
  await ask(deal);
  const done: string[] = [];
  for (const statements of sent) done.push(...(await workOf(statements)));
  return done.map((plan) => plan.replaceAll(deal, '<deal>'));
}

const absent = () => `${scene.deal.slice(0, 18)}${randomUUID().slice(18)}`;
const pages = [
  '',
  '/documents',
  '/questions',
  '/offers',
  '/conditions',
  '/qoe',
  '/findings',
  '/financing',
  '/activity',
];
const tools = catalog.filter(({ scope, name }) => scope === 'mcp:read' && name !== 'svc_deals_list');

test.each(['outsider', 'removed', 'colleague'])(
  'a hidden deal is as much work as one that is not there: %s',
  async (who) => {
    const person = await signInAs(service, scene.people[who]!);
    for (const page of pages) {
      const ask = (deal: string) => person.ask(`/deals/${deal}${page}`);
      expect((await ask(scene.deal)).status, page).toBe(404);
      const hidden = await work(scene.deal, ask);
      expect(hidden.length, page).toBeGreaterThan(0);
      expect([page, hidden]).toEqual([page, await work(absent(), ask)]);
    }
    const { token } = await addToken(service, scene.people[who]!);
    for (const { name, listed } of tools) {
      if (!('deal_id' in (listed.inputSchema.properties ?? {}))) continue;
      const ask = (deal_id: string) =>
        fetch(`${service.origin}/api/mcp`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name, arguments: { deal_id } },
          }),
        }).then((response) => response.text());
      const hidden = await work(scene.deal, ask);
      expect(hidden.length, name).toBeGreaterThan(0);
      expect([name, hidden]).toEqual([name, await work(absent(), ask)]);
    }
  },
);
