/** Third-party clients of both eras: every tool called once with success, and every kind of refusal. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { leastInput } from './inputs.ts';
import { peers, type Peer } from './peers.ts';
import { addFullDeal, addToken, allow, insert, type Access, type FullDeal } from './scene.ts';

let service: TestService;
let scene: FullDeal;
let finding: string;
let source: string;

const names = catalog.map((tool) => tool.name);

/** An input with which the exclusive buyer succeeds. */
const inputOf = (tool: string) => leastInput(tool, { deal_id: scene.deal, finding_id: finding, source_id: source });

beforeAll(async () => {
  service = await openService({ config: { features: { findings: true, financing: true } } });
  scene = await addFullDeal(service);
  const own = { deal_id: scene.deal, participant_id: scene.participants['exclusive buyer'] };
  finding = await insert(service, 'findings', { ...own, category: 'tax', title: 'Sales tax', severity: 'minor' });
  source = await insert(service, 'financing_sources', {
    ...own,
    source_type: 'sba_7a',
    source_name: 'First Bank',
    commitment_amount: 1,
    currency: 'USD',
  });
  await allow(service, scene.people['exclusive buyer'], names, [scene.deal]);
});
afterAll(() => service.close());

async function connected<T>(name: string, access: Access, path: string, use: (peer: Peer) => Promise<T>): Promise<T> {
  const peer = await peers[name]!(service.mcpUrl + path, access.token);
  try {
    return await use(peer);
  } finally {
    await peer.close();
  }
}

const versions: Record<string, string | undefined> = {
  'client 2.4.0, legacy': '2025-11-25',
  'client 2.4.0, auto': '2026-07-28',
  'client 2.4.0, pinned to 2026-07-28': '2026-07-28',
  'sdk 1.32.2': '2025-11-25',
};

describe.each(Object.keys(peers))('%s', (name) => {
  test('agrees on a version, lists all tools and calls each with success', async () => {
    await connected(name, scene.people['exclusive buyer'], '/api/mcp', async (peer) => {
      expect(peer.version).toBe(versions[name]);
      expect(await peer.list()).toEqual(names);
      for (const tool of names) {
        const answer = await peer.call(tool, inputOf(tool));
        expect(answer.isError ?? false, `${tool}: ${JSON.stringify(answer)}`).toBe(false);
        expect(JSON.parse(answer.content[0]!.text)).toEqual(answer.structuredContent);
      }
    });
  });

  test('receives every kind of refusal, even after it has read the output schemas', async () => {
    const reader = await addToken(service, scene.people['other buyer'].userId, { scopes: ['mcp:read'] });
    const create = 'svc_qoe_normalization_create';
    const refusals = async (access: Access, tool: string, input: Record<string, unknown>) =>
      connected(name, access, '/mcp', async (peer) => {
        await peer.list();
        const { isError, structuredContent, content } = await peer.call(tool, input);
        expect(isError).toBe(true);
        expect(JSON.parse(content[0]!.text)).toEqual(structuredContent);
        return structuredContent as Record<string, unknown>;
      });
    const { people } = scene;
    const writing = inputOf(create);
    expect(await refusals(people.broker, create, { ...writing, adjustment_amount: 'x' })).toMatchObject({
      error: 'validation_error',
    });
    expect(await refusals(reader, create, writing)).toMatchObject({
      error: 'permission_denied',
      reason: 'missing_scope',
    });
    const other = await addToken(service, people['other buyer'].userId);
    expect(await refusals(other, create, writing)).toMatchObject({ reason: 'missing_tool_grant' });
    await allow(service, other, [create, 'svc_questions_create'], []);
    expect(await refusals(other, create, { ...writing, deal_id: crypto.randomUUID() })).toMatchObject({
      reason: 'missing_deal_opt_in',
    });
    await allow(service, other, [], [scene.deal]);
    expect(await refusals(other, create, writing)).toMatchObject({ error: 'rls_denied' });
    const newcomer = await addToken(service, people['new buyer'].userId);
    await allow(service, newcomer, ['svc_questions_create'], [scene.deal]);
    expect(await refusals(newcomer, 'svc_questions_create', inputOf('svc_questions_create'))).toMatchObject({
      error: 'submission_rejected',
      message:
        "There is no active NDA for the buyer's side on this deal. If one waits, the buyer signs it on the deal's NDA page; otherwise ask a broker of the deal to send one.",
    });
    await service.sql('delete from deal_opt_ins where user_id = $1', [people['other buyer'].userId]);
  });
});
