/**
 * A deal that the caller cannot see and one that does not exist get the same responses from every tool, to the last
 * byte.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { leastInput } from './inputs.ts';
import { addFullDeal, allow, insert, send, type Access, type FullDeal } from './scene.ts';

let service: TestService;
/** A deal in which the callers take part, and for which they have opted in. */
let own: FullDeal;
/** A deal of another brokerage, with records of every kind. */
let foreign: FullDeal;

const names = catalog.map((tool) => tool.name);
const dealTools = catalog
  .filter(({ listed }) => 'deal_id' in (listed.inputSchema.properties ?? {}))
  .map((tool) => tool.name);

beforeAll(async () => {
  service = await openService({ config: { features: { findings: true, financing: true } } });
  own = await addFullDeal(service);
  foreign = await addFullDeal(service);
  const deal_id = foreign.deal;
  const participant_id = foreign.participants.broker;
  await insert(service, 'qoe_checklist', { deal_id, category: 'tax', title: 'Returns' });
  await insert(service, 'accounting_snapshots', { deal_id, snapshot_type: 'full', status: 'completed' });
  await insert(service, 'closing_conditions', { deal_id, name: 'Lease' });
  await insert(service, 'findings', { deal_id, participant_id, category: 'c', title: 'T', severity: 'minor' });
});
afterAll(() => service.close());

/** The whole response as text, and its headers except those that count or identify the request. */
async function whole(access: Access, name: string, deal_id: string) {
  const params = { name, arguments: leastInput(name, { deal_id }) };
  const { status, headers, text } = await send(service, access.token, {
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params,
  });
  const telling = [...headers].filter(([header]) => !/^(date|x-request-id|x-ratelimit-)/.test(header));
  return { status, headers: telling, text: text.replaceAll(deal_id, 'THE-DEAL') };
}

test('at least fourteen tools take a deal_id', () => {
  expect(dealTools.length).toBeGreaterThanOrEqual(14);
});

describe.each(['broker', 'exclusive buyer', 'admin', 'outsider'] as const)(
  'for the %s of another deal, a hidden deal and a nonexistent one get the same response',
  (role) => {
    test.each(dealTools)('%s', async (name) => {
      const access = own.people[role];
      // Without any permission, then with the grant, then with an opt-in for the hidden deal left over from earlier.
      for (const prepare of [
        async () => {},
        () => allow(service, access, names, [own.deal]),
        () => allow(service, access, [], [foreign.deal]),
      ]) {
        await prepare();
        const missing = await whole(access, name, crypto.randomUUID());
        expect(await whole(access, name, foreign.deal)).toEqual(missing);
      }
      await service.sql('delete from deal_opt_ins where user_id = $1', [access.userId]);
      await service.sql('delete from tool_grants where user_id = $1', [access.userId]);
    });
  },
);

test('a hidden deal and a nonexistent one cause the same database statements', async () => {
  const { database } = service.nodes[0]!.services;
  const { together } = database;
  const statementsFor = async (name: string, deal_id: string): Promise<string[]> => {
    const asked: string[] = [];
    database.together = (...statements) => {
      asked.push(statements.map((statement) => statement.name).join(' '));
      return together(...statements);
    };
    await whole(own.people.broker, name, deal_id).finally(() => (database.together = together));
    return asked;
  };
  await allow(service, own.people.broker, names, []);
  for (const name of dealTools) {
    const asked = await statementsFor(name, foreign.deal);
    expect(asked[0]).toMatch(/^enter_to_(read|tell|call_tool)/);
    expect(await statementsFor(name, crypto.randomUUID())).toEqual(asked);
  }
});
