/** Opening a deal for a colleague, who becomes its broker: on the pages and with a key. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type WebScene } from '../web/scene.ts';
import { notifiedIn } from '../web/notified.ts';
import { as, dealScopesOf, issueKey } from './scene.ts';

let web: WebScene;
const emailOf: Record<string, string> = {};

beforeAll(async () => {
  web = await openScene();
  const { scene, service } = web;
  for (const name of ['colleague', 'outsider']) {
    const [found] = await service.sql<{ email: string }>('select email from users where id = $1', [scene.people[name]]);
    emailOf[name] = found!.email;
  }
});
afterAll(() => web.close());

/** The people on a deal. */
const partsOf = (deal: string) =>
  web.service.sql('select user_id, role, status from participants where deal_id = $1', [deal]);
const runBy = (name: string) => [{ user_id: web.scene.people[name], role: 'broker', status: 'active' }];

test('an admin opens a deal for another broker of the brokerage, and nobody else does', async () => {
  const { scene, service } = web;
  const open = async (who: string, broker: string | null | undefined) =>
    (await web.as(who)).ask('/deals', {
      organization_id: scene.brokerage,
      title: 'Mill',
      currency: 'USD',
      broker_id: broker,
    });
  const opened = await open('admin', scene.people['colleague']);
  expect([opened.status, await partsOf(opened.body.id)]).toEqual([201, runBy('colleague')]);
  expect(await notifiedIn(web)).toMatchObject({ deals_received: ['colleague'] });
  expect((await (await web.as('colleague')).ask('/notifications')).body.items[0]).toMatchObject({
    deal_id: opened.body.id,
    summary: 'You now run the deal as its broker.',
  });
  const own = await open('broker', scene.people['broker']);
  expect([own.status, await partsOf(own.body.id)]).toEqual([201, runBy('broker')]);
  expect(await notifiedIn(web)).toEqual({});
  expect((await open('broker', scene.people['colleague'])).status).toBe(403);
  expect((await open('outsider', scene.people['broker'])).status).toBe(403);

  const refused = async () => {
    const { status, body } = await open('admin', scene.people['colleague']);
    return [status, body.error.code];
  };
  const member = [scene.brokerage, scene.people['colleague']];
  for (const [change, back] of [
    [`role = 'staff'`, `role = 'broker'`],
    [`status = 'invited'`, `status = 'active'`],
  ]) {
    await service.sql(`update members set ${change} where brokerage_id = $1 and user_id = $2`, member);
    expect(await refused(), change).toEqual([409, 'not_a_broker']);
    await service.sql(`update members set ${back} where brokerage_id = $1 and user_id = $2`, member);
  }
  await service.sql('update users set suspended_at = app.now() where id = $1', [scene.people['colleague']]);
  expect(await refused()).toEqual([409, 'not_a_broker']);
  await service.sql('update users set suspended_at = null where id = $1', [scene.people['colleague']]);
});

test('a key opens a deal for another broker by their address', async () => {
  const { scene, service } = web;
  const scopes = await dealScopesOf(service);
  const key = await issueKey(service, { id: scene.brokerage, admin: scene.people['admin']! }, { scopes });
  const ask = as(key, service.restUrl);
  await notifiedIn(web);
  const opened = await ask('POST', '/deals', { title: 'Mill', brokerEmail: emailOf['colleague']!.toUpperCase() });
  expect([opened.status, await partsOf(opened.body!.id)]).toEqual([201, runBy('colleague')]);
  expect(await notifiedIn(web)).toMatchObject({ deals_received: ['colleague'] });
  for (const brokerEmail of [emailOf['outsider'], 'nobody@else.example']) {
    const { status, body } = await ask('POST', '/deals', { title: 'Mill', brokerEmail });
    expect([status, body?.error.details['reason']], brokerEmail).toEqual([409, 'not_a_broker']);
  }
});
