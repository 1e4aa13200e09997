/**
 * A person who was removed from a deal and is invited again in another role: others on the deal see their history only
 * since they have that role.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNotifications } from '../../server/domain/notifications/events.ts';
import { addToken, caller as toolsOf } from '../tools/scene.ts';
import type { Answer } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let path: string;

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
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

test('a viewer who was the exclusive buyer sees nothing of that side any more, and neither does who advises them', async () => {
  const { deal, people, participants } = web.scene;
  const broker = await web.as('broker');
  const id = participants['exclusive buyer']!;
  const asked = (await (
    await web.as('exclusive buyer')
  ).ask(`/deals/${deal}/questions`, {
    category: 'legal',
    question_text: 'Is the lease assignable?',
  })) as Answer;
  expect(asked.status).toBe(201);
  // A finding of theirs, and a proposal to change the accepted terms.
  await web.service.sql(
    `insert into findings (deal_id, participant_id, created_by, owner_user_id, category, title, severity)
       values ($1, $2, $3, $3, 'legal', 'Lease', 'minor')`,
    [deal, id, people['exclusive buyer']],
  );
  const payload = { purchase_price: '900000', currency: 'USD' };
  expect((await (await web.as('exclusive buyer')).ask(`/deals/${deal}/offers`, { payload })).status).toBe(201);
  const waiting = async () => {
    const { queue } = (await (await web.as('exclusive buyer')).ask('/home')).body;
    const kinds = queue.map(({ kind }: { kind: string }) => kind);
    return ['findings_open', 'offer_changes_with_broker'].filter((kind) => kinds.includes(kind));
  };
  expect(await waiting()).toHaveLength(2);
  /** What the pages and tools show of the records of a buyer's side. */
  const seen = async (caller: string) => {
    const { ask } = await web.as(caller);
    const lists = ['offers', 'ndas', 'questions', 'findings', 'financing'] as const;
    const pages = await Promise.all(lists.map(async (of) => (await ask(`/deals/${deal}/${of}`)).body.items.length));
    const page = (await ask(`/deals/${deal}`)).body;
    const row = (await ask('/deals')).body.items.find((one: { id: string }) => one.id === deal);
    const call = toolsOf(web.service, await addToken(web.service, people[caller]!));
    const tools = ['svc_offers_list', 'svc_questions_list', 'svc_findings_list', 'svc_financing_stack_get'];
    const answered = await Promise.all(
      tools.map(async (tool) =>
        Object.values((await call(tool, { deal_id: deal })).structuredContent).find(Array.isArray),
      ),
    );
    return [pages, answered.map((rows) => rows?.length), page.counts.offers, page.counts.findings_open, row.offers];
  };
  const nothing = [[0, 0, 0, 0, 0], [0, 0, 0, 0], 0, 0, 0];
  const [pages, answers] = await seen('exclusive buyer');
  expect(pages).not.toContain(0);
  expect(answers).not.toContain(0);

  await remove(id);
  expect(await letIn('exclusive buyer', 'viewer')).toBe(id);
  // Nor are they called the exclusive buyer, although the exclusivity runs until it ends or is released.
  const { ask } = await web.as('exclusive buyer');
  const call = toolsOf(web.service, await addToken(web.service, people['exclusive buyer']!));
  const roles = async () => {
    const about = ({ id: one }: { id: string }) => one === deal;
    const rows = (await call('svc_deals_list', {})).structuredContent['deals'] as { id: string; caller_role: string }[];
    const page = (await ask(`/deals/${deal}`)).body;
    const found = (await ask('/deals?role=exclusive_buyer')).body.items.filter(about);
    const listed = (await ask('/deals')).body.items.find(about);
    return [page.caller_role, listed.caller_role, rows.find(about)?.caller_role, found.length];
  };
  expect(await roles()).toEqual(['viewer', 'viewer', 'viewer', 0]);
  expect(await waiting()).toEqual([]);
  await letIn("exclusive buyer's advisor", 'advisor', id);
  for (const who of ['exclusive buyer', "exclusive buyer's advisor"])
    expect([who, await seen(who)]).toEqual([who, nothing]);

  // Nor are they told of what happens to it.
  while ((await web.service.database.run(createNotifications(100))) > 0);
  expect((await broker.ask(`/questions/${asked.body.id}/release`, {})).status).toBeLessThan(300);
  while ((await web.service.database.run(createNotifications(100))) > 0);
  const kinds = async (caller: string) =>
    (await (await web.as(caller)).ask('/notifications')).body.items.map(({ kind }: { kind: string }) => kind);
  expect(await kinds('seller')).toContain('question_released');
  expect(await kinds('exclusive buyer')).not.toContain('question_released');
  const acted = [...(await ask(`/deals/${deal}/activity`)).body.items, ...(await ask('/home')).body.activity];
  expect(acted.map(({ summary }: { summary: string }) => summary)).not.toContain('released a question to the seller');
});

test('a seller who was the exclusive buyer is called a participant', async () => {
  const { deal, participants } = web.scene;
  await remove(participants['exclusive buyer']!);
  await letIn('exclusive buyer', 'seller');
  const page = (await (await web.as('exclusive buyer')).ask(`/deals/${deal}`)).body;
  expect([page.caller_role, page.deal.exclusive_buyer_user_id]).toEqual([
    'participant',
    web.scene.people['exclusive buyer'],
  ]);
});

test('a seller who was sent an NDA as a buyer is not reminded to sign it', async () => {
  const { ask } = await web.as('broker');
  const { deal, participants } = web.scene;
  const participant_id = participants['new buyer']!;
  const nda = { participant_id, terms: 'Keep it to yourself.', expires_at: null };
  const { id } = (await ask(`/deals/${deal}/ndas`, nda)).body;
  await remove(participant_id);
  expect(await letIn('new buyer', 'seller')).toBe(participant_id);
  const reminded = await ask(`/deals/${deal}/reminders`, { subject: 'ndas', subject_id: id });
  expect(reminded).toMatchObject({ status: 409, body: { error: { code: 'nobody_to_remind' } } });
});
