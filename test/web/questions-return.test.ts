/** Questions that wait for the seller of a deal come back to its broker with the last seller who leaves. */

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { whileChanging } from '../locks.ts';
import { doesIn, notifiedIn } from './notified.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
beforeAll(async () => {
  web = await openScene();
});
afterAll(() => web?.close());

const does = (who: string, path: string, body?: unknown, method?: string) => doesIn(web, who, path, body, method);

/** Adds a seller to the deal; returns the id of the participant. */
async function joins(person: string): Promise<string> {
  const [seller] = await web.service.sql<{ id: string }>(
    `insert into participants (deal_id, user_id, role) values ($1, $2, 'seller')
     on conflict (deal_id, user_id) do update set status = 'invited' returning id`,
    [web.scene.deal, web.scene.people[person]],
  );
  await web.service.sql(`update participants set status = 'active' where id = $1`, [seller!.id]);
  return seller!.id;
}

const leaves = (participant: string) =>
  does('broker', `/deals/${web.scene.deal}/participants/${participant}`, undefined, 'DELETE');

/** Asks and releases a question; returns its id. */
async function released(): Promise<string> {
  const { id } = await does('exclusive buyer', `/deals/${web.scene.deal}/questions`, {
    category: 'legal',
    question_text: 'Is the lease assignable?',
  });
  await does('broker', `/questions/${id}/release`);
  await notifiedIn(web);
  return id;
}

async function seen(who: string, id: string) {
  const { body } = await (await web.as(who)).ask(`/deals/${web.scene.deal}/questions`);
  return body.items.find((one: { id: string }) => one.id === id);
}

/** Who is notified that a question came back: the deal of the scene has more questions than the one asked here. */
const toldOfReturn = async () => [...new Set((await notifiedIn(web))['question_returned'] ?? [])];

const backWithBroker = { status: 'pending_broker_review', actions: ['release', 'reject'] };

test('a question comes back when the last seller is removed or erased, and not before', async () => {
  const { service, scene } = web;
  const id = await released();
  const another = await joins('outsider');
  await leaves(scene.participants['seller']!);
  expect(await seen('outsider', id)).toMatchObject({ status: 'with_seller', actions: ['answer'] });
  expect(await toldOfReturn()).toEqual([]);

  await leaves(another);
  expect(await seen('broker', id)).toMatchObject(backWithBroker);
  expect(await seen('exclusive buyer', id)).toMatchObject({ status: 'pending_broker_review', actions: ['withdraw'] });
  // Whoever removed the seller is not notified.
  expect(await toldOfReturn()).toEqual(["broker's advisor"]);
  const { queue } = (await (await web.as('broker')).ask('/home')).body;
  expect(queue).toContainEqual(expect.objectContaining({ kind: 'questions_to_review', deal_id: scene.deal }));
  expect((await (await web.as('broker')).ask(`/questions/${id}/release`, {})).body.error.code).toBe('no_seller');

  await joins('seller');
  await does('broker', `/questions/${id}/release`);
  await notifiedIn(web);
  await service.sql(`select app.erase_person($1, null, null)`, [scene.people['seller']]);
  expect(await seen('broker', id)).toMatchObject(backWithBroker);
  expect(await toldOfReturn()).toEqual(['broker', "broker's advisor"]);
});

test('a question comes back when two sellers leave at once, or one during its release', async () => {
  const [one, other] = [await joins('outsider'), await joins('colleague')];
  const first = await released();
  const removal = [`update participants set status = 'removed' where id = $1`, [other]] as const;
  await whileChanging(web.service, [removal], () => leaves(one));
  expect(await seen('broker', first)).toMatchObject(backWithBroker);

  const last = await joins('outsider');
  // As whoever releases it: the owner, who does this here, does not lock the deal by themself.
  const release = [
    ['select from deals where id = $1 for share', [web.scene.deal]],
    [`update questions set status = 'with_seller' where id = $1`, [first]],
  ] as const;
  await whileChanging(web.service, release, () => leaves(last));
  expect(await seen('broker', first)).toMatchObject(backWithBroker);
});

test('a question that waited in vain before comes back with a migration of its own, which holds no lock on people', async () => {
  const { service } = web;
  const migration = (name: string) =>
    readFile(new URL(`../../database/migrations/${name}.sql`, import.meta.url), 'utf8');
  expect(await migration('730_questions_come_back_from_nobody')).not.toMatch(/^update /im);
  const seller = await joins('outsider');
  const id = await released();
  await service.sql('alter table participants disable trigger return_questions');
  await leaves(seller);
  await service.sql('alter table participants enable trigger return_questions');
  expect(await seen('broker', id)).toMatchObject({ status: 'with_seller' });
  await service.sql(await migration('734_questions_that_waited_for_nobody'));
  expect(await seen('broker', id)).toMatchObject(backWithBroker);
});

test('an answered question stays, and so do those of a closed deal', async () => {
  const { service, scene } = web;
  const seller = await joins('outsider');
  const [answered, waits] = [await released(), await released()];
  await does('outsider', `/questions/${answered}/answer`, { answer_text: 'Yes.' });
  for (const to of ['diligence', 'closing', 'closed'])
    await (await web.as('broker')).ask(`/deals/${scene.deal}/moves`, { to, confirm: true });
  await leaves(seller);
  const found = await service.sql(`select id, status from questions where id = any ($1)`, [[answered, waits]]);
  expect(Object.fromEntries(found.map(({ id, status }) => [id, status]))).toEqual({
    [answered]: 'answered',
    [waits]: 'with_seller',
  });
});
