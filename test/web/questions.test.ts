/** Questions through the web application's routes, as each role. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import type { Scene } from '../policies/scene.ts';
import { signInAs, type SignedIn } from './person.ts';

let service: TestService;
let scene: Scene;
const people: Record<string, SignedIn> = {};

beforeAll(async () => {
  service = await openService({ scene: true });
  scene = service.scene;
  for (const name of ['broker', 'seller', 'exclusive buyer', 'other buyer', 'new buyer', 'viewer', 'outsider'])
    people[name] = await signInAs(service, scene.people[name]!);
});
afterAll(() => service?.close());

const as = (name: string): SignedIn => people[name]!;
const asked = { category: 'legal', question_text: 'Is the lease assignable?' };

async function ask(name = 'other buyer'): Promise<string> {
  const { status, body } = await as(name).ask(`/deals/${scene.deal}/questions`, asked);
  expect(status).toBe(201);
  return body.id;
}

describe('a question', () => {
  test('goes from the buyer to the distributed answer, with each participant seeing only their part', async () => {
    const id = await ask();
    const seen = async (name: string) =>
      (await as(name).ask(`/deals/${scene.deal}/questions`)).body.items.find((one: { id: string }) => one.id === id);
    expect(await seen('other buyer')).toMatchObject({ ...asked, mine: true, actions: ['withdraw'], answer_text: null });
    expect(await seen('broker')).toMatchObject({ mine: false, actions: ['release', 'reject'] });
    for (const name of ['seller', 'exclusive buyer', 'new buyer', 'viewer']) expect(await seen(name)).toBeUndefined();

    expect((await as('broker').ask(`/questions/${id}/release`, {})).body).toMatchObject({ status: 'with_seller' });
    expect(await seen('seller')).toMatchObject({ actions: ['answer'] });
    expect((await as('seller').ask(`/questions/${id}/answer`, { answer_text: 'Yes, with consnet.' })).status).toBe(200);
    expect(
      (await as('seller').ask(`/questions/${id}/answer`, { answer_text: 'Yes, with consent.' })).body,
    ).toMatchObject({
      status: 'answered',
      answer_text: 'Yes, with consent.',
    });
    expect(await seen('other buyer')).toMatchObject({
      status: 'answered',
      answer_text: null,
      distributed_response: null,
    });
    expect(
      (await as('broker').ask(`/questions/${id}/distribute`, { distributed_response: 'Yes, the landlord consents.' }))
        .body,
    ).toMatchObject({ status: 'distributed' });
    expect(await seen('other buyer')).toMatchObject({
      status: 'distributed',
      distributed_response: 'Yes, the landlord consents.',
      answer_text: null,
      actions: [],
    });
  });

  test('is released once, by a broker, however often they ask', async () => {
    const id = await ask();
    const release = (who: string) => as(who).ask(`/questions/${id}/release`, {});
    const released = async () =>
      (
        await service.sql(`select user_id from audit_records where action = 'question.release' and subject_id = $1`, [
          id,
        ])
      ).map(({ user_id: person }) => person);
    const answers = await Promise.all([release('broker'), release('broker')]);
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual([
      [200, 'with_seller'],
      [200, 'with_seller'],
    ]);
    expect((await release('broker')).body).toMatchObject({ status: 'with_seller' });
    expect(await released()).toEqual([scene.people['broker']]);
    for (const who of ['seller', 'other buyer']) expect([who, (await release(who)).status]).toEqual([who, 403]);
    expect((await as('seller').ask(`/questions/${id}/answer`, { answer_text: 'Yes.' })).status).toBe(200);
    for (const who of ['broker', 'other buyer'])
      expect((await as(who).ask(`/questions/${id}/answer`, { answer_text: 'Yes.' })).body.error?.code, who).toBe(
        'seller_only',
      );
    expect((await release('broker')).body.error.code).toBe('move_not_allowed');
    expect(await released()).toHaveLength(1);
  });

  test('has an audit record of every step, without its text', async () => {
    const id = await ask();
    await as('broker').ask(`/questions/${id}/reject`, { rejection_reason: 'Already in the data room.' });
    const records = await service.sql<{ action: string; details: unknown }>(
      'select action, details from audit_records where subject_id = $1 order by at, id',
      [id],
    );
    expect(records.map(({ action }) => action)).toEqual(['question.ask', 'question.reject']);
    expect(JSON.stringify(records)).not.toMatch(/lease|data room/);
  });
});

test('open questions are always listed, even if older than the 500 shown', async () => {
  const [oldest] = await service.sql<{ id: string }>(
    `with made as (
       insert into questions (deal_id, category, question_text, asked_by, participant_id, status, asked_at)
       select $1, 'legal', 'Number ' || n, $2, $3, case n when 0 then 'with_seller' else 'rejected' end, app.now() - interval '1 year' + n * interval '1 minute'
       from generate_series(0, 500) n returning id, status)
     select id from made where status = 'with_seller'`,
    [scene.deal, scene.people['other buyer'], scene.participants['other buyer']],
  );
  for (const caller of ['broker', 'seller', 'other buyer']) {
    const { items } = (await as(caller).ask(`/deals/${scene.deal}/questions`)).body;
    const ids = items.map(({ id }: { id: string }) => id);
    expect([caller, ids.includes(oldest?.id)]).toEqual([caller, true]);
    if (caller !== 'seller') expect(ids).toHaveLength(500);
    // The oldest of the closed questions are left out.
    expect(items.some(({ question_text: text }: { question_text: string }) => text === 'Number 1')).toBe(false);
    expect(items.some(({ question_text: text }: { question_text: string }) => text === 'Number 500')).toBe(
      caller !== 'seller',
    );
    const times = items.map(({ asked_at }: { asked_at: string }) => asked_at);
    expect(times).toEqual(times.toSorted().toReversed());
  }
  await service.sql(`delete from questions where question_text like 'Number %'`);
});

describe('refused requests', () => {
  test('sending an answer that was corrected since it was read, even concurrently', async () => {
    const id = await ask();
    await as('broker').ask(`/questions/${id}/release`, {});
    const answer = (answer_text: string) => as('seller').ask(`/questions/${id}/answer`, { answer_text });
    const send = (read: { answer_text: string }) =>
      as('broker').ask(`/questions/${id}/distribute`, { distributed_response: 'Yes.', ...read });
    const corrected = {
      status: 409,
      body: { error: { code: 'conflict', message: expect.stringContaining('The answer was changed') } },
    };
    await answer('Yes.');
    await answer('No.');
    expect(await send({ answer_text: 'Yes.' })).toMatchObject(corrected);
    const correction = [
      [`update question_answers set answer_text = 'Perhaps.' where question_id = $1`, [id]],
      [`update questions set status = 'answered' where id = $1`, [id]],
    ] as const;
    expect(await whileChanging(service, correction, () => send({ answer_text: 'No.' }))).toMatchObject(corrected);
    expect(await send({ answer_text: 'Perhaps.' })).toMatchObject({ status: 200, body: { status: 'distributed' } });
  });

  test('correcting an answer that was corrected since it was read, even concurrently', async () => {
    const id = await ask();
    await as('broker').ask(`/questions/${id}/release`, {});
    const answer = (answer_text: string, read_answer?: string | null) =>
      as('seller').ask(`/questions/${id}/answer`, { answer_text, read_answer });
    const corrected = {
      status: 409,
      body: { error: { code: 'conflict', message: expect.stringContaining('The answer was changed') } },
    };
    expect((await answer('Yes.', null)).status).toBe(200);
    expect(await answer('Never.', null)).toMatchObject(corrected);
    expect((await answer('No.', 'Yes.')).status).toBe(200);
    expect(await answer('Never.', 'Yes.')).toMatchObject(corrected);
    const correction = [
      [`update question_answers set answer_text = 'Perhaps.' where question_id = $1`, [id]],
      [`update questions set status = 'answered' where id = $1`, [id]],
    ] as const;
    expect(await whileChanging(service, correction, () => answer('Never.', 'No.'))).toMatchObject(corrected);
    expect(await answer('Certainly.', 'Perhaps.')).toMatchObject({ status: 200, body: { answer_text: 'Certainly.' } });
  });

  test('a step that the role or the status does not allow, with an explanation', async () => {
    const id = await ask();
    expect(await as('other buyer').ask(`/questions/${id}/release`, {})).toMatchObject({
      status: 409,
      body: { error: { code: 'broker_only' } },
    });
    expect(await as('broker').ask(`/questions/${id}/answer`, { answer_text: 'I think so.' })).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'move_not_allowed',
          message: 'This was changed meanwhile. Check where it stands now, then choose again.',
        },
      },
    });
    expect((await as('broker').ask(`/questions/${id}/distribute`, { distributed_response: ' ' })).body).toMatchObject({
      error: { code: 'validation_error', details: [{ path: 'distributed_response' }] },
    });
  });

  test('releasing a question without an active seller, which can still be rejected', async () => {
    const id = await ask();
    const release = () => as('broker').ask(`/questions/${id}/release`, {});
    const refused = {
      status: 409,
      body: {
        error: {
          code: 'no_seller',
          message: 'No seller is on this deal to answer: invite one, who must accept first.',
        },
      },
    };
    const setStatus = (status: string) =>
      service.sql('update participants set status = $2 where id = $1', [scene.participants['seller'], status]);
    await setStatus('removed');
    try {
      expect(await release()).toMatchObject(refused);
      await setStatus('invited');
      expect(await release()).toMatchObject(refused);
      expect((await as('broker').ask(`/questions/${id}/reject`, { rejection_reason: null })).body).toMatchObject({
        status: 'rejected',
      });
    } finally {
      await setStatus('active');
    }
  });

  test('asking without an NDA, as a seller, or without a text', async () => {
    const path = `/deals/${scene.deal}/questions`;
    expect(await as('new buyer').ask(path, asked)).toMatchObject({
      status: 409,
      body: { error: { code: 'no_active_nda' } },
    });
    expect(await as('seller').ask(path, asked)).toMatchObject({
      status: 409,
      body: { error: { code: 'not_a_buyer' } },
    });
    expect((await as('other buyer').ask(path, { category: 'gossip', question_text: '' })).body.error.details).toEqual([
      { path: 'category', message: 'Choose what the question is about.' },
      { path: 'question_text', message: 'Enter something here.' },
    ]);
  });

  test('steps on an invisible question, with the response for a missing one', async () => {
    const id = await ask();
    const nowhere = '01900000-0000-7000-8000-000000000000';
    for (const step of ['release', 'withdraw'])
      expect(await as('exclusive buyer').ask(`/questions/${id}/${step}`, {})).toEqual(
        await as('exclusive buyer').ask(`/questions/${nowhere}/${step}`, {}),
      );
    expect(await as('outsider').ask(`/deals/${scene.deal}/questions`)).toEqual(
      await as('outsider').ask(`/deals/${nowhere}/questions`),
    );
  });
});
