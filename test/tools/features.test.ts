/** The findings and financing tools, switched off as they are by default, and each switched on alone. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { asking } from './ask.ts';
import { addFullDeal, addToken, send, type FullDeal } from './scene.ts';

describe('tools switched off by default', () => {
  let service: TestService;
  let scene: FullDeal;
  beforeAll(async () => {
    service = await openService();
    scene = await addFullDeal(service);
  });
  afterAll(() => service.close());

  const unavailable = catalog.filter((tool) => tool.feature !== undefined).map((tool) => tool.name);

  test('include the eight of the specification', () => {
    expect(unavailable).toEqual(
      expect.arrayContaining([
        'svc_findings_list',
        'svc_findings_get',
        'svc_financing_stack_get',
        'svc_findings_create',
        'svc_findings_update_status',
        'svc_findings_comment',
        'svc_financing_source_create',
        'svc_financing_source_update_status',
      ]),
    );
  });

  test.each(unavailable)(
    '%s returns feature_not_available before any other check, whatever its input',
    async (name) => {
      const reader = await addToken(service, scene.people.broker.userId, { scopes: ['mcp:read'] });
      for (const input of [
        {},
        { nonsense: true },
        { deal_id: scene.deal },
        { deal_id: 5, finding_id: [], source_id: null },
      ]) {
        for (const { token } of [scene.people.broker, reader]) {
          expect(await asking(service, { token }).refused(name, input)).toEqual({
            error: 'feature_not_available',
            message: expect.stringContaining('calling again will not help'),
          });
        }
      }
      expect(
        (
          await send(service, `dka_${'Z'.repeat(43)}`, {
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name },
          })
        ).status,
      ).toBe(401);
    },
  );
});

describe.each([
  {
    on: 'findings',
    features: { findings: true, financing: false },
    works: 'svc_findings_list',
    not: 'svc_financing_stack_get',
  },
  {
    on: 'financing',
    features: { findings: false, financing: true },
    works: 'svc_financing_stack_get',
    not: 'svc_findings_list',
  },
])('with only $on switched on', ({ features, works, not }) => {
  test('its tools work, and those of the other feature are unavailable', async () => {
    const service = await openService({ config: { features } });
    try {
      const scene = await addFullDeal(service);
      const broker = asking(service, scene.people.broker);
      await broker.ok(works, { deal_id: scene.deal });
      expect(await broker.refused(not, { deal_id: scene.deal })).toMatchObject({ error: 'feature_not_available' });
    } finally {
      await service.close();
    }
  });
});
