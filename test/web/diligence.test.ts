/** Findings and financing through the web application's routes, with the features on and off. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import type { Scene } from '../policies/scene.ts';
import { signInAs, type SignedIn } from './person.ts';
import { trail } from './scene.ts';

let service: TestService;
let scene: Scene;
const people: Record<string, SignedIn> = {};
const as = (name: string): SignedIn => people[name]!;

beforeAll(async () => {
  service = await openService({ scene: true, config: { features: { findings: true, financing: true } } });
  scene = service.scene;
  for (const name of ['broker', 'seller', 'exclusive buyer', 'other buyer', 'new buyer', 'viewer', 'outsider'])
    people[name] = await signInAs(service, scene.people[name]!);
});
afterAll(() => service?.close());

const finding = { category: 'tax', title: 'Sales tax not filed in 2024', severity: 'major' };
const source = { source_type: 'sba_7a', source_name: 'First Bank', commitment_amount: '9007199254740991' };

describe('findings', () => {
  test('are recorded, given a status with notes, and commented on, with their history', async () => {
    const added = await as('exclusive buyer').ask(`/deals/${scene.deal}/findings`, {
      ...finding,
      owner_user_id: scene.people['seller'],
    });
    expect(added).toMatchObject({
      status: 201,
      body: { ...finding, status: 'open', owner_name: 'seller', comments: [] },
    });
    const { id } = added.body;
    await as('seller').ask(`/findings/${id}/status`, {
      status: 'mitigated',
      status_notes: 'Filed late, penalty paid.',
    });
    const { body } = await as('broker').ask(`/findings/${id}/comments`, { body: 'Receipt is in the data room.' });
    expect(body).toMatchObject({
      status: 'mitigated',
      status_notes: 'Filed late, penalty paid.',
      comments: [{ body: 'Receipt is in the data room.', created_by_name: 'broker' }],
      history: [
        { from_status: null, to_status: 'open', changed_by_name: 'exclusive buyer' },
        { from_status: 'open', to_status: 'mitigated', changed_by_name: 'seller' },
      ],
    });
    expect(body.comments[0].created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('keep their status notes when the same status is set again without notes', async () => {
    const { body: added } = await as('exclusive buyer').ask(`/deals/${scene.deal}/findings`, finding);
    const give = async (status: string, status_notes: string | null) =>
      (await as('seller').ask(`/findings/${added.id}/status`, { status, status_notes })).body;
    const first = await give('resolved', 'Paid in May.');
    service.clock.advance(1000);
    expect(await give('resolved', null)).toEqual(first);
    expect(first).toMatchObject({ status_notes: 'Paid in May.', history: { length: 2 } });
    expect(await give('open', null)).toMatchObject({ status_notes: null, history: { length: 3 } });
  });

  test('are limited to 1,000 status changes per person, deal and day', async () => {
    const { body: added } = await as('exclusive buyer').ask(`/deals/${scene.deal}/findings`, finding);
    const give = (name: string, status_notes: string | null) =>
      as(name).ask(`/findings/${added.id}/status`, { status: 'accepted', status_notes });
    expect((await give('seller', 'So it is.')).status).toBe(200);
    await service.sql(
      `insert into finding_changes (finding_id, from_status, to_status, changed_by)
       select $1, 'open', 'open', $2 from generate_series(1, 999) n`,
      [added.id, scene.people['seller']],
    );
    expect(await give('seller', 'And so it stays.')).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'too_many_today',
          message: expect.stringContaining(
            'At most 1,000 changes of findings a person a day on a deal: continue after ',
          ),
        },
      },
    });
    // The refusal changes nothing, and does not affect other people.
    expect((await give('seller', 'So it is.')).status).toBe(200);
    expect((await give('broker', 'And so it stays.')).status).toBe(200);
    const aDayAgo = `update finding_changes set changed_at = changed_at - interval '1 day' where finding_id = $1`;
    await service.sql(aDayAgo, [added.id]);
    expect((await give('seller', 'Until today.')).status).toBe(200);
    await service.sql('delete from finding_changes where finding_id = $1', [added.id]);
  });

  test('are listed with comment counts; comments and history are read with the single finding', async () => {
    const { body: added } = await as('exclusive buyer').ask(`/deals/${scene.deal}/findings`, finding);
    await service.sql(
      `insert into finding_comments (finding_id, created_by, body) select $1, $2, repeat('x', 8000) from generate_series(1, 300)`,
      [added.id, scene.people['exclusive buyer']!],
    );
    await service.sql(
      `insert into finding_changes (finding_id, from_status, to_status, notes) select $1, 'open', 'open', repeat('y', 8000) from generate_series(1, 150)`,
      [added.id],
    );
    const { body } = await as('seller').ask(`/deals/${scene.deal}/findings`);
    expect(body.items).toContainEqual(expect.objectContaining({ id: added.id, comment_count: 300 }));
    expect(JSON.stringify(body)).not.toMatch(/x{100}|y{100}/);
    const { comments, history } = (await as('seller').ask(`/findings/${added.id}`)).body;
    // The latest ones, up to a total length.
    expect([comments.length, history.length]).toEqual([32, 32]);
    const { body: said } = await as('exclusive buyer').ask(`/findings/${added.id}/comments`, { body: 'And at last.' });
    expect([said.comments.length, said.comments.at(-1).body, said.comment_count]).toEqual([32, 'And at last.', 301]);
  });

  test('of another side are answered like findings that do not exist', async () => {
    const hidden = scene.records["findings/the broker's"];
    const nowhere = '01900000-0000-7000-8000-000000000000';
    for (const name of ['exclusive buyer', 'other buyer', 'viewer', 'outsider'])
      for (const [path, body] of [
        ['', undefined],
        ['/comments', { body: 'Hello?' }],
        ['/status', { status: 'resolved' }],
      ] as const)
        expect(await as(name).ask(`/findings/${hidden}${path}`, body)).toEqual(
          await as(name).ask(`/findings/${nowhere}${path}`, body),
        );
  });

  test('have titles of up to 120 characters, counting an emoji as one', async () => {
    const titled = async (title: string) =>
      (await as('broker').ask(`/deals/${scene.deal}/findings`, { ...finding, title })).status;
    expect([await titled('🥐'.repeat(120)), await titled('🥐'.repeat(121))]).toEqual([201, 400]);
  });

  test('are rejected with the invalid fields, or if their owner could not open them', async () => {
    const { status, body } = await as('broker').ask(`/deals/${scene.deal}/findings`, {
      category: '',
      title: 'x'.repeat(121),
    });
    expect(status).toBe(400);
    expect(body.error.details.map(({ path }: { path: string }) => path)).toEqual(['category', 'title', 'severity']);
    expect(
      (await as('broker').ask(`/deals/${scene.deal}/findings`, { ...finding, owner_user_id: scene.people['outsider'] }))
        .body,
    ).toMatchObject({ error: { code: 'owner_takes_no_part' } });
    const owned = async (caller: string, owner: string) => {
      const of = { ...finding, owner_user_id: scene.people[owner] };
      const { status: answer, body: made } = await as(caller).ask(`/deals/${scene.deal}/findings`, of);
      return answer === 201 ? answer : made.error.code;
    };
    // A person who cannot open a finding cannot be its owner.
    for (const owner of ['viewer', 'exclusive buyer', "exclusive buyer's advisor"])
      expect([owner, await owned('broker', owner)]).toEqual([owner, 'owner_cannot_open_finding']);
    for (const owner of ['broker', 'seller', "broker's advisor", "seller's advisor"])
      expect([owner, await owned('seller', owner)]).toEqual([owner, 201]);
    for (const owner of ['exclusive buyer', "exclusive buyer's advisor", 'broker', 'seller'])
      expect([owner, await owned('exclusive buyer', owner)]).toEqual([owner, 201]);
    expect((await as('new buyer').ask(`/deals/${scene.deal}/findings`, finding)).status).toBe(403);
    // The people offered as owners are exactly those who are accepted.
    for (const caller of ['seller', 'exclusive buyer', 'new buyer']) {
      const { participants } = (await as(caller).ask(`/deals/${scene.deal}`)).body;
      for (const { name, can_own_findings: offered } of participants)
        if (scene.people[name])
          expect([caller, name, (await owned(caller, name)) === 201]).toEqual([caller, name, offered]);
    }
  });

  test('get another owner, or none, from whoever may change them: somebody who could open them and whom their side knows', async () => {
    const { body: made } = await as('exclusive buyer').ask(`/deals/${scene.deal}/findings`, finding);
    const give = (caller: string, owner: string | null) =>
      as(caller).ask(`/findings/${made.id}/owner`, { owner_user_id: owner === null ? null : scene.people[owner] });
    const { owners } = (await as('broker').ask(`/findings/${made.id}`)).body;
    for (const name of Object.keys(scene.participants)) {
      const { status, body } = await give('broker', name);
      expect([name, status === 200, status === 200 && body.owner_user_id === scene.people[name]]).toEqual([
        name,
        owners.includes(scene.people[name]),
        owners.includes(scene.people[name]),
      ]);
    }
    expect(await give('broker', 'viewer')).toMatchObject({ body: { error: { code: 'owner_cannot_open_finding' } } });
    expect(await give('broker', "seller's advisor")).toMatchObject({
      body: { error: { code: 'owner_not_known_to_buyer' } },
    });
    const before = (await trail(service, 'finding.assign')).length;
    for (const caller of ['seller', 'broker'])
      expect(await give(caller, 'seller')).toMatchObject({ status: 200, body: { owner_name: 'seller' } });
    // The second changed nothing.
    expect((await trail(service, 'finding.assign')).length).toBe(before + 1);
    expect(await give('exclusive buyer', null)).toMatchObject({ status: 200, body: { owner_user_id: null } });
    for (const caller of ['other buyer', 'viewer', 'outsider'])
      expect([caller, (await give(caller, 'broker')).status]).toEqual([caller, 404]);
  });

  test('are not given to an advisor before the person whom they advise has joined, and closing conditions neither', async () => {
    const { idle } = scene;
    const invite = async (name: string, role: string, advises: string | null) => {
      const person = { email: `${name}@example.test`, name, role, advises };
      const { participant } = (await as('broker').ask(`/deals/${idle}/participants`, person)).body;
      return participant.id as string;
    };
    const join = async (name: string, part: string) => {
      const person = await signInAs(service, scene.people[name]!);
      expect((await person.ask(`/invitations/${part}/accept`, {})).status).toBe(200);
    };
    const seller = await invite('removed', 'seller', null);
    const advisor = await invite('outsider', 'advisor', seller);
    const given = async () => {
      const { participants } = (await as('broker').ask(`/deals/${idle}`)).body;
      const shown = participants.find(({ id }: { id: string }) => id === advisor);
      const owner_user_id = scene.people['outsider'];
      const made = [
        await as('broker').ask(`/deals/${idle}/findings`, { ...finding, owner_user_id }),
        await as('broker').ask(`/deals/${idle}/conditions`, { name: 'Lease assigned', owner_user_id, deadline: null }),
      ];
      return [
        shown.can_own_findings,
        shown.can_own_conditions,
        ...made.map(({ status, body }) => (status === 201 ? status : body.error.code)),
      ];
    };
    await join('outsider', advisor);
    expect(await given()).toEqual([false, false, 'owner_takes_no_part', 'owner_takes_no_part']);
    await join('removed', seller);
    expect(await given()).toEqual([true, true, 201, 201]);
  });
});

describe('financing', () => {
  test('is added with exact amounts, moved only forward, and totalled', async () => {
    const added = await as('exclusive buyer').ask(`/deals/${scene.deal}/financing`, source);
    expect(added).toMatchObject({ status: 201, body: { ...source, commitment_status: 'identified', currency: 'USD' } });
    const moved = await as('exclusive buyer').ask(`/financing/${added.body.id}/status`, {
      commitment_status: 'committed',
    });
    expect(moved.body).toMatchObject({ commitment_status: 'committed', moves: ['funded', 'expired', 'withdrawn'] });
    expect(
      await as('exclusive buyer').ask(`/financing/${added.body.id}/status`, { commitment_status: 'applied' }),
    ).toMatchObject({ status: 409, body: { error: { code: 'move_not_allowed' } } });
    const { body } = await as('seller').ask(`/deals/${scene.deal}/financing`);
    expect(body.totals).toContainEqual(
      expect.objectContaining({ commitment_status: 'committed', currency: 'USD', total: source.commitment_amount }),
    );
    expect((await as('other buyer').ask(`/deals/${scene.deal}/financing`)).body.items).toEqual([]);
  });

  test('of rival buyers is totalled per buyer for broker and seller; a buyer sees only their own', async () => {
    const rivals = ['exclusive buyer', 'other buyer'];
    for (const name of rivals) await as(name).ask(`/deals/${scene.deal}/financing`, source);
    const of = (name: string) => scene.people[name]!;
    for (const reader of ['broker', 'seller']) {
      const { items, totals_by_side } = (await as(reader).ask(`/deals/${scene.deal}/financing`)).body;
      const sides = items.map((one: { side_user_id: string }) => one.side_user_id);
      expect(new Set(sides)).toEqual(new Set(rivals.map(of)));
      // The latest source is that of the other buyer.
      expect(items[0]).toMatchObject({ source_name: 'First Bank', side_user_id: of('other buyer') });
      expect(totals_by_side).toContainEqual({
        side_user_id: of('other buyer'),
        commitment_status: 'identified',
        currency: 'USD',
        sources: 1,
        total: source.commitment_amount,
      });
      const all = totals_by_side.map((one: { side_user_id: string }) => one.side_user_id);
      expect(new Set(all)).toEqual(new Set(rivals.map(of)));
    }
    const { body } = await as('other buyer').ask(`/deals/${scene.deal}/financing`);
    expect(body).toMatchObject({ items: [{ side_user_id: of('other buyer') }], totals_by_side: [] });
    expect(JSON.stringify(body)).not.toContain(of('exclusive buyer'));
  });

  test('accepts only non-negative integers in the exact range as amounts', async () => {
    for (const commitment_amount of ['1.5', '-1', '1e6', '', '9007199254740992', '1'.repeat(400), 100])
      expect(await as('broker').ask(`/deals/${scene.deal}/financing`, { ...source, commitment_amount })).toMatchObject({
        status: 400,
        body: { error: { details: [{ path: 'commitment_amount' }] } },
      });
  });
});

test('findings and financing respond with 404 while these features are off', async () => {
  const plain = await openService({ scene: true });
  try {
    const there = plain.scene;
    const broker = await signInAs(plain, there.people['broker']!);
    for (const path of [`/deals/${there.deal}/findings`, `/deals/${there.deal}/financing`])
      expect((await broker.ask(path)).status).toBe(404);
  } finally {
    await plain.close();
  }
});
