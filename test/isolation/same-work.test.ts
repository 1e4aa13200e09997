/**
 * A deal that the caller may not see costs the database the same work as a deal that does not exist, so that the
 * response time does not tell them apart: the statements that the service sends for each are run again with EXPLAIN,
 * and the plans must show the same steps, each executed equally often.
 */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Statement } from '../../server/database/statement.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import type { TestService } from '../harness.ts';
import type { Scene } from '../policies/scene.ts';
import { addToken, caller } from '../tools/scene.ts';
import { signInAs } from '../web/person.ts';
import { openSentStatements, type SentStatements } from './sent-statements.ts';

let statements: SentStatements;
let service: TestService;
let scene: Scene;

beforeAll(async () => {
  statements = await openSentStatements();
  ({ service } = statements);
  ({ scene } = service);
});
afterAll(() => statements?.close());

/** The plan of each statement of a transaction, up to the first statement that fails. */
async function workOf(transaction: readonly Statement<unknown>[]): Promise<string[]> {
  const { server } = statements;
  const done: string[] = [];
  await server.query('begin');
  try {
    for (const { name, text, values } of transaction) {
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

/** The plans of the statements that the service sends for a request, without the deal's id. */
async function work(deal: string, ask: (deal: string) => Promise<unknown>): Promise<string[]> {
  const done: string[] = [];
  for (const transaction of await statements.sentBy(() => ask(deal))) done.push(...(await workOf(transaction)));
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
  'a hidden deal costs the database the same work as a missing deal: %s',
  async (who) => {
    const person = await signInAs(service, scene.people[who]!);
    for (const page of pages) {
      const ask = (deal: string) => person.ask(`/deals/${deal}${page}`);
      expect((await ask(scene.deal)).status, page).toBe(404);
      const hidden = await work(scene.deal, ask);
      expect(hidden.length, page).toBeGreaterThan(0);
      expect([page, hidden]).toEqual([page, await work(absent(), ask)]);
    }
    const call = caller(service, await addToken(service, scene.people[who]!));
    for (const { name, listed } of tools) {
      if (!('deal_id' in (listed.inputSchema.properties ?? {}))) continue;
      const ask = (deal_id: string) => call(name, { deal_id });
      const hidden = await work(scene.deal, ask);
      expect(hidden.length, name).toBeGreaterThan(0);
      expect([name, hidden]).toEqual([name, await work(absent(), ask)]);
    }
  },
);
