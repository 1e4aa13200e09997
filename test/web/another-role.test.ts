/**
 * A person who was removed from a deal and is invited again in another role: others on the deal see their history only
 * since they have that role.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let path: string;

beforeAll(async () => {
  web = await openScene();
  path = `/deals/${web.scene.deal}/participants`;
});
afterAll(() => web?.close());

const acts = new Set(['participant.invite', 'participant.remove', 'invitation.accept']);
/** The history of this person that a caller sees, on the deal's activity tab and on the home page, newest first. */
const told = async (caller: string) => {
  const visitor = await web.as(caller);
  const shown = async (page: string, of: (body: Answer['body']) => Record<string, unknown>[]) =>
    of((await visitor.ask(page)).body)
      .filter(({ action }) => acts.has(action as string))
      .map(({ summary }) => summary);
  return {
    tab: await shown(`/deals/${web.scene.deal}/activity`, ({ items }) => items),
    home: await shown('/home', ({ activity }) => activity),
  };
};

/** Invites a person and accepts the invitation; returns the id of their participation. */
const letIn = async (caller: string, role: string, advises: string | null = null): Promise<string> => {
  const [user] = await web.service.sql<{ email: string }>('select email from users where id = $1', [
    web.scene.people[caller],
  ]);
  const invited = await (
    await web.as('broker')
  ).ask(path, {
    email: user!.email,
    name: 'Once More',
    role,
    advises,
  });
  expect(invited.status).toBe(201);
  const { id } = invited.body.participant;
  expect((await (await web.as(caller)).ask(`/invitations/${id}/accept`, {})).status).toBe(200);
  return id;
};
const remove = async (id: string) =>
  expect((await (await web.as('broker')).ask(`${path}/${id}`, undefined, 'DELETE')).status).toBeLessThan(300);

test('a buyer does not see that a new seller was a buyer before', async () => {
  const id = await letIn('removed', 'buyer');
  const none = { tab: [], home: [] };
  expect(await told('exclusive buyer')).toEqual(none);
  await remove(id);
  expect(await letIn('removed', 'seller')).toBe(id);
  const now = ['joined', 'invited a seller'];
  expect(await told('exclusive buyer')).toEqual({ tab: now, home: now });
  const seller = await told('seller');
  expect(seller.tab.slice(0, 5)).toEqual([...now, 'removed someone', 'joined', 'invited a buyer']);
  expect(seller.home).toEqual(expect.arrayContaining(['removed someone', 'invited a buyer']));
  await remove(id);
});

test('a buyer does not see that their new advisor advised another buyer before', async () => {
  const { participants } = web.scene;
  const id = await letIn('removed', 'advisor', participants['other buyer']);
  await remove(id);
  expect((await told('exclusive buyer')).tab).toEqual([]);
  expect(await letIn('removed', 'advisor', participants['exclusive buyer'])).toBe(id);
  const now = ['joined', 'invited an advisor'];
  expect(await told('exclusive buyer')).toEqual({ tab: now, home: now });
  expect((await told('other buyer')).tab).toEqual([]);
});

test('answers to a buyer are unread for an advisor who read those of another buyer before', async () => {
  const { deal, participants, people } = web.scene;
  await web.service.sql(
    `insert into questions (deal_id, participant_id, asked_by, category, question_text, status, distributed_response, distributed_at)
       values ($1, $2, $3, 'tax', 'Why sell?', 'distributed', 'To retire.', app.now())`,
    [deal, participants['exclusive buyer'], people['exclusive buyer']],
  );
  const waiting = async () =>
    (await (await web.as('removed')).ask('/home')).body.queue.filter(
      ({ kind, deal_id }: Record<string, string>) => kind === 'answers_to_read' && deal_id === deal,
    );
  await remove(participants['removed']!);
  const id = await letIn('removed', 'advisor', participants['other buyer']);
  expect(await waiting()).toHaveLength(1);
  await (await web.as('removed')).ask(`/deals/${deal}/questions/read`, {});
  expect(await waiting()).toEqual([]);
  await remove(id);
  await letIn('removed', 'advisor', participants['exclusive buyer']);
  expect(await waiting()).toMatchObject([{ count: 1 }]);
});
