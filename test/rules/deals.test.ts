/** The rules of a sale that the database enforces: exclusivity, questions, offers, NDAs, invitations, findings. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { connect, type Scene } from '../policies/scene.ts';

const day = 86_400_000;
let service: TestService;
let scene: Scene;
let owner: pg.Client;
/** Kept open between statements: each new connection would read the catalog and plan the policies again. */
let connections: pg.Pool;

beforeAll(async () => {
  service = await openService({ scene: true });
  owner = await connect(service.connections.owner);
  connections = new pg.Pool(service.connections.server);
  scene = service.scene;
  await owner.query(`
    create function app.enter_as(user_id uuid) returns void
    language sql volatile security definer set search_path = '' as $$ select app.enter(user_id, null, null, null, null) $$;
    grant execute on function app.enter_as(uuid) to dealkeep_server`);
});
afterAll(async () => {
  await owner?.end();
  await connections?.end();
  await service?.close();
});

type Rows = Record<string, unknown>[];

/** Runs one statement as the person, at the test's time, and commits it. */
async function as(person: string, text: string, values: unknown[] = []): Promise<Rows> {
  const client = await connections.connect();
  try {
    await client.query('begin');
    await client.query(`select set_config('dealkeep.now', $1, true)`, [service.clock.now().toISOString()]);
    await client.query('select app.enter_as($1)', [scene.people[person]]);
    const { rows } = await client.query(text, values);
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const reason = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'passed',
    (error: pg.DatabaseError) => (error.code === 'DK001' ? (error.hint ?? '') : (error.code ?? String(error))),
  );

/** Waits until this many sessions wait for a lock. */
async function waitingFor(people: number): Promise<void> {
  const waiting = () =>
    service.sql<{ waiting: number }>(
      `select count(distinct l.pid)::int as waiting from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where not l.granted and a.datname = current_database()`,
    );
  await expect.poll(waiting).toEqual([{ waiting: people }]);
}

async function listedDeal(): Promise<{ deal: string; buyer: string }> {
  const [{ id: deal } = { id: '' }] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title, state) values ($1, 'Mill', 'listed') returning id`,
    [scene.brokerage],
  );
  const join = async (person: string, role: string) =>
    (
      await service.sql<{ id: string }>(
        `insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active') returning id`,
        [deal, scene.people[person], role],
      )
    )[0]!.id;
  await join('broker', 'broker');
  await join('seller', 'seller');
  await join('other buyer', 'buyer');
  return { deal, buyer: await join('exclusive buyer', 'buyer') };
}

const stateNow = async (person: string, deal: string) =>
  (await as(person, 'select app.state_shown($1) as state', [deal]))[0]?.['state'];
const grant = (deal: string, buyer: string, days: number) =>
  as('broker', 'insert into exclusivities (deal_id, participant_id, expires_at) values ($1, $2, $3)', [
    deal,
    buyer,
    new Date(service.clock.now().getTime() + days * day),
  ]);

describe('exclusivity', () => {
  test('moves the deal when granted, rejects a second grant, and lists the deal again when released', async () => {
    const { deal, buyer } = await listedDeal();
    expect(await reason(as('broker', `update deals set state = 'exclusivity' where id = $1`, [deal]))).toBe(
      'exclusivity_missing',
    );
    await grant(deal, buyer, 30);
    expect(await stateNow('seller', deal)).toBe('exclusivity');
    expect(await reason(grant(deal, buyer, 30))).toBe('exclusivity_runs');
    expect(await reason(as('broker', `update deals set state = 'listed' where id = $1`, [deal]))).toBe(
      'exclusivity_runs',
    );
    await as('broker', 'update exclusivities set ended_at = app.now() where deal_id = $1', [deal]);
    expect(await stateNow('seller', deal)).toBe('listed');
    expect(
      await as('exclusive buyer', 'select id from exclusivities where deal_id = $1 and ended_at is null', [deal]),
    ).toEqual([]);
  });

  test('ends when its date has passed, before and after the sweep', async () => {
    const { deal, buyer } = await listedDeal();
    await grant(deal, buyer, 10);
    service.clock.advance(11 * day);
    expect(await stateNow('broker', deal)).toBe('listed');
    const written = () => service.sql('select app.actual_state($1) as state', [deal]);
    expect(await written()).toEqual([{ state: 'exclusivity' }]);
    await as('broker', 'select app.sweep()');
    expect(await written()).toEqual([{ state: 'listed' }]);
    await grant(deal, buyer, 5);
    service.clock.advance(6 * day);
    await as('broker', `update deals set state = 'under_offer' where id = $1`, [deal]);
    await grant(deal, buyer, 5);
    expect(await stateNow('broker', deal)).toBe('exclusivity');
    service.clock.set(new Date());
  });

  test('is swept only after its extended date, and not at all once the deal is in diligence', async () => {
    const extended = await listedDeal();
    await grant(extended.deal, extended.buyer, 10);
    const gone = await listedDeal();
    await grant(gone.deal, gone.buyer, 10);
    await as('broker', `update deals set state = 'diligence' where id = $1`, [gone.deal]);
    await as('broker', 'update exclusivities set expires_at = $2 where deal_id = $1', [
      extended.deal,
      new Date(service.clock.now().getTime() + 20 * day),
    ]);
    const after = async (days: number) => {
      service.clock.advance(days * day);
      await as('broker', 'select app.sweep()');
      return service.sql(
        `select app.actual_state(x.deal_id) as state, x.ended_at is null as held,
           exists (select from vault.lapsing_exclusivities l where l.exclusivity_id = x.id) as watched
         from exclusivities x where x.deal_id in ($1, $2) order by x.deal_id = $2`,
        [extended.deal, gone.deal],
      );
    };
    const diligence = { state: 'diligence', held: true };
    expect(await after(9)).toEqual([
      { state: 'exclusivity', held: true, watched: true },
      { ...diligence, watched: true },
    ]);
    expect(await after(2)).toEqual([
      { state: 'exclusivity', held: true, watched: true },
      { ...diligence, watched: false },
    ]);
    expect(await after(10)).toEqual([
      { state: 'listed', held: false, watched: false },
      { ...diligence, watched: false },
    ]);
    service.clock.set(new Date());
  });

  test('ends when the deal is withdrawn; closing sets closed_at', async () => {
    const { deal, buyer } = await listedDeal();
    await grant(deal, buyer, 30);
    await as('broker', `update deals set state = 'withdrawn' where id = $1`, [deal]);
    expect(
      await service.sql('select ended_at is not null as over from exclusivities where deal_id = $1', [deal]),
    ).toEqual([{ over: true }]);
    const other = await listedDeal();
    await grant(other.deal, other.buyer, 30);
    for (const state of ['diligence', 'closing', 'closed'])
      await as('broker', 'update deals set state = $2 where id = $1', [other.deal, state]);
    expect(await service.sql('select closed_at is not null as closed from deals where id = $1', [other.deal])).toEqual([
      { closed: true },
    ]);
  });

  test('shows other buyers only that the deal is under offer, until the deal is closed', async () => {
    const { deal, buyer } = await listedDeal();
    const known = (person: string) =>
      as(person, 'select to_jsonb(d) as row, app.state_shown(d.id) as state from deals d where d.id = $1', [deal]);
    const shown = async () => {
      const everybody = ['broker', 'seller', 'exclusive buyer', 'other buyer'];
      return Promise.all(everybody.map((person) => stateNow(person, deal)));
    };
    const later = () => service.clock.advance(60_000);
    await as('broker', `update deals set state = 'under_offer' where id = $1`, [deal]);
    const before = await known('other buyer');
    later();
    await grant(deal, buyer, 30);
    expect(await shown()).toEqual(['exclusivity', 'exclusivity', 'exclusivity', 'under_offer']);
    for (const state of ['diligence', 'closing']) {
      later();
      await as('broker', 'update deals set state = $2 where id = $1', [deal, state]);
      expect(await shown()).toEqual([state, state, state, 'under_offer']);
      expect(await known('other buyer')).toEqual(before);
      expect(await as('other buyer', 'select * from deal_stages where deal_id = $1', [deal])).toEqual([]);
    }
    for (const hidden of ['app.actual_state($1)', 'app.exclusivity_runs($1)'])
      expect(await reason(as('other buyer', `select ${hidden}`, [deal]))).toBe('42501');
    await as('broker', 'update exclusivities set ended_at = app.now() where deal_id = $1', [deal]);
    expect(await shown()).toEqual(['closing', 'closing', 'under_offer', 'under_offer']);
    await as('broker', `update deals set state = 'closed' where id = $1`, [deal]);
    expect(await shown()).toEqual(['closed', 'closed', 'closed', 'closed']);
    service.clock.set(new Date());
  });

  test('lists the deal again for everybody as soon as it lapses, without a sweep', async () => {
    const { deal, buyer } = await listedDeal();
    await grant(deal, buyer, 10);
    expect(await stateNow('other buyer', deal)).toBe('under_offer');
    service.clock.advance(11 * day);
    expect(await stateNow('other buyer', deal)).toBe('listed');
    expect(await stateNow('exclusive buyer', deal)).toBe('listed');
    expect(await as('outsider', 'select app.exclusivity_lapsed($1) as lapsed', [deal])).toEqual([{ lapsed: false }]);
    service.clock.set(new Date());
  });

  test('opens selected_buyer_only documents to its buyer, and closes them when it lapses', async () => {
    const { deal, buyer } = await listedDeal();
    await as(
      'seller',
      `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key)
       values ($1, 'leases.pdf', 'legal', 'selected_buyer_only', 1, 'application/pdf', $2)`,
      [deal, `leases of ${deal}`],
    );
    const seen = async (person: string) =>
      (await as(person, 'select id from documents where deal_id = $1', [deal])).length;
    expect(await seen('exclusive buyer')).toBe(0);
    await grant(deal, buyer, 10);
    expect([await seen('exclusive buyer'), await seen('other buyer')]).toEqual([1, 0]);
    service.clock.advance(11 * day);
    expect(await seen('exclusive buyer')).toBe(0);
    service.clock.set(new Date());
  });
});

describe('questions', () => {
  const ask = (person: string, deal = scene.deal) =>
    as(
      person,
      `insert into questions (deal_id, category, question_text) values ($1, 'tax', 'Which years?') returning *`,
      [deal],
    );
  const move = (person: string, id: unknown, status: string, response: string | null = null) =>
    as(
      person,
      `update questions set status = $2, distributed_response = coalesce($3, distributed_response) where id = $1 returning id`,
      [id, status, response],
    );

  test('are released by the broker, answered by the seller and readable by the asker once distributed', async () => {
    const [question] = await ask('other buyer');
    expect(question).toMatchObject({ status: 'pending_broker_review', asked_by: scene.people['other buyer'] });
    const id = question!['id'];
    expect(await reason(move('other buyer', id, 'with_seller'))).toBe('broker_only');
    expect(await as('seller', 'select id from questions where id = $1', [id])).toEqual([]);
    await move('broker', id, 'with_seller');
    expect(await reason(move('broker', id, 'answered'))).toBe('seller_only');
    expect(await reason(move('seller', id, 'answered'))).toBe('answer_missing');
    await as('seller', 'insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, $3)', [
      id,
      scene.deal,
      'The last three.',
    ]);
    await move('seller', id, 'answered');
    expect(await as('other buyer', 'select answer_text from question_answers where question_id = $1', [id])).toEqual(
      [],
    );
    expect(await reason(move('seller', id, 'distributed', 'Three.'))).toBe('broker_only');
    await move('broker', id, 'distributed', 'The last three years are open.');
    expect(await as('other buyer', 'select distributed_response from questions where id = $1', [id])).toEqual([
      { distributed_response: 'The last three years are open.' },
    ]);
    expect(await reason(move('broker', id, 'distributed', 'Another answer.'))).toBe('question_closed');
  });

  test('two answers of a deal are distributed concurrently without waiting for each other', async () => {
    const ids: unknown[] = [];
    for (const asker of ['other buyer', 'exclusive buyer']) {
      const [question] = await ask(asker);
      const id = question!['id'];
      await move('broker', id, 'with_seller');
      await as(
        'seller',
        `insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, 'The last three.')`,
        [id, scene.deal],
      );
      await move('seller', id, 'answered');
      ids.push(id);
    }
    const [first, second] = [
      await connect(service.connections.server),
      await connect(service.connections.server),
    ] as const;
    const distribute = async (server: pg.Client, id: unknown) => {
      await server.query(`begin; set local lock_timeout = '5s'`);
      await server.query('select app.enter_as($1)', [scene.people['broker']]);
      await server.query(`update questions set status = 'distributed', distributed_response = 'Three.' where id = $1`, [
        id,
      ]);
    };
    try {
      await distribute(first, ids[0]);
      expect(await reason(distribute(second, ids[1]))).toBe('passed');
      await second.query('commit');
      await first.query('commit');
    } finally {
      await first.end();
      await second.end();
    }
  });

  test("distributing an answer does not deadlock with a change of its reader's participation", async () => {
    await owner.query('begin');
    try {
      await owner.query('select from deals where id = $1 for no key update', [scene.deal]);
      const changing = service.sql('update participants set status = status where id = $1', [
        scene.participants['other buyer'],
      ]);
      await waitingFor(1);
      const { rowCount } = await owner.query(
        `update questions set distributed_at = app.now() + interval '1 minute' where deal_id = $1 and status = 'distributed'`,
        [scene.deal],
      );
      expect(rowCount).toBeGreaterThan(0);
      await owner.query('commit');
      await changing;
    } finally {
      await owner.query('rollback');
    }
  });

  test('are withdrawn only by the asker, and only while pending', async () => {
    const [question] = await ask('exclusive buyer');
    expect(await reason(move('broker', question!['id'], 'withdrawn'))).toBe('asker_only');
    expect(await move('other buyer', question!['id'], 'withdrawn')).toEqual([]);
    await move('exclusive buyer', question!['id'], 'withdrawn');
    const [second] = await ask('exclusive buyer');
    await move('broker', second!['id'], 'rejected');
    expect(await reason(move('exclusive buyer', second!['id'], 'withdrawn'))).toBe('move_not_allowed');
  });

  test('require an active NDA and an active broker', async () => {
    expect(await reason(ask('new buyer'))).toBe('no_active_nda');
    expect(await reason(ask('seller'))).toBe('not_a_buyer');
    expect(await reason(ask('outsider'))).toBe('42501');
    const suspend = (at: string) =>
      service.sql(`update users set suspended_at = ${at} where id = $1`, [scene.people['broker']]);
    const hasBroker = () => as('other buyer', 'select app.has_broker($1) as found', [scene.deal]);
    expect(await hasBroker()).toEqual([{ found: true }]);
    await suspend('app.now()');
    expect(await reason(ask('other buyer'))).toBe('no_broker_review');
    expect(await hasBroker()).toEqual([{ found: false }]);
    await suspend('null');
    await service.sql(`update participants set status = 'removed' where id = $1`, [scene.participants['broker']]);
    expect(await reason(ask('other buyer'))).toBe('no_broker_review');
    await service.sql(`update participants set status = 'invited' where id = $1`, [scene.participants['broker']]);
    await as('broker', 'select app.answer_deal_invitation($1, true, null, null)', [scene.participants['broker']]);
    expect(await reason(ask('other buyer'))).toBe('passed');
  });
});

describe('offers', () => {
  const submit = (deal: string, payload: unknown) =>
    as('other buyer', 'insert into offers (deal_id, payload) values ($1, $2) returning revision_number, is_current', [
      deal,
      JSON.stringify(payload),
    ]);

  test('number their revisions from 1 with exactly one current, even when submitted concurrently', async () => {
    const { deal } = await listedDeal();
    const submitted = await Promise.all(
      Array.from({ length: 12 }, (_, n) => submit(deal, { purchase_price: `${n}.50` })),
    );
    expect(submitted.map(([offer]) => offer!['revision_number']).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
    expect(await as('seller', 'select revision_number from offers where deal_id = $1 and is_current', [deal])).toEqual([
      { revision_number: 12 },
    ]);
  });

  test('require decimal strings for amounts, and keep unknown properties', async () => {
    const { deal } = await listedDeal();
    for (const wrong of [
      { purchase_price: 1 },
      { purchase_price: '1e3' },
      { cash_at_close: '-1' },
      { financing_contingency: 'yes' },
      [],
    ])
      expect(await reason(submit(deal, wrong))).toBe('23514');
    await submit(deal, { purchase_price: '1234567890123456.7891', escrow_agent: 'First Title' });
    expect(await as('broker', 'select payload from offers where deal_id = $1', [deal])).toEqual([
      { payload: { purchase_price: '1234567890123456.7891', escrow_agent: 'First Title' } },
    ]);
  });
});

describe('limits of submissions', () => {
  const submit = (deal: string, payload: string) =>
    as('other buyer', 'insert into offers (deal_id, payload) values ($1, $2::jsonb) returning revision_number', [
      deal,
      payload,
    ]);
  const refusal = async (attempt: Promise<unknown>) =>
    attempt.then(
      () => 'passed',
      (error: pg.DatabaseError) => `${error.code} ${error.code === 'DK002' ? error.column : error.hint}`,
    );

  test('an offer takes at most 32 kB as stored', async () => {
    const { deal } = await listedDeal();
    const numbers = (count: number) => `{"other": [${Array.from({ length: count }, () => '1e99').join(',')}]}`;
    expect(numbers(1000).length).toBeLessThan(32_768);
    expect(await refusal(submit(deal, numbers(1000)))).toBe('DK002 payload');
    expect(await refusal(submit(deal, `{"terms": "${'x'.repeat(32_760)}"}`))).toBe('DK002 payload');
    expect(await refusal(submit(deal, `{"terms": "${'x'.repeat(32_755)}"}`))).toBe('passed');
    expect(await refusal(submit(deal, numbers(300)))).toBe('passed');
    const stored = await service.sql('select max(octet_length(payload::text)) as most from offers where deal_id = $1', [
      deal,
    ]);
    expect(stored).toEqual([{ most: 32_768 }]);
    // The limit also holds for the owner, who loads data without the rules for submitting an offer.
    await expect(
      owner.query(
        `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
         select deal_id, participant_id, buyer_user_id, 99, false, $2 from offers where deal_id = $1 limit 1`,
        [deal, numbers(1000)],
      ),
    ).rejects.toMatchObject({ code: '23514' });
  });

  test('an offer is revised at most 20 times a day, even concurrently', async () => {
    const { deal } = await listedDeal();
    const other = await listedDeal();
    const outcomes = await Promise.all(Array.from({ length: 24 }, () => refusal(submit(deal, '{}'))));
    expect(outcomes.toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => 'DK001 too_many_today'),
      ...Array.from({ length: 20 }, () => 'passed'),
    ]);
    expect(await refusal(submit(other.deal, '{}'))).toBe('passed');
    service.clock.advance(day + 1000);
    expect(await refusal(submit(deal, '{}'))).toBe('passed');
    service.clock.set(new Date());
  });

  test('an offer must expire in the future and close today or later', async () => {
    const { deal } = await listedDeal();
    const at = (days: number) => new Date(service.clock.now().getTime() + days * day).toISOString();
    for (const [payload, answer] of [
      [{ expires_at: at(-1) }, 'DK002 payload.expires_at'],
      [{ expires_at: at(0) }, 'DK002 payload.expires_at'],
      [{ expires_at: 'tomorrow' }, 'DK002 payload.expires_at'],
      [{ expires_at: '2027-13-41T00:00:00Z' }, 'DK002 payload.expires_at'],
      [{ expires_at: at(1) }, 'passed'],
      [{ target_close_date: '2020-01-01' }, 'DK002 payload.target_close_date'],
      [{ target_close_date: at(-2).slice(0, 10) }, 'DK002 payload.target_close_date'],
      [{ target_close_date: 'never' }, 'DK002 payload.target_close_date'],
      [{ target_close_date: at(0).slice(0, 10) }, 'passed'],
      [{ target_close_date: null, expires_at: null }, 'passed'],
    ] as const)
      expect([payload, await refusal(submit(deal, JSON.stringify(payload)))]).toEqual([payload, answer]);
  });

  test('questions and findings are limited per person and day', async () => {
    const { deal, people, participants } = scene;
    const fill = (text: string, values: unknown[]) => owner.query(text, values);
    await fill(
      `insert into questions (deal_id, category, question_text, asked_by, participant_id, asked_at)
       select $1, 'tax', 'Why?', $2, $3, $4 from generate_series(1, 200)`,
      [deal, people["other buyer's advisor"], participants['other buyer'], service.clock.now()],
    );
    await fill(
      `insert into findings (deal_id, participant_id, category, title, severity, created_by, created_at)
       select $1, $3, 'tax', 'T', 'minor', $2, $4 from generate_series(1, 200)`,
      [deal, people["other buyer's advisor"], participants['other buyer'], service.clock.now()],
    );
    const asks = (person: string) =>
      reason(as(person, `insert into questions (deal_id, category, question_text) values ($1, 'tax', 'Why?')`, [deal]));
    const finds = (person: string) =>
      reason(
        as(person, `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`, [
          deal,
        ]),
      );
    expect([await asks("other buyer's advisor"), await finds("other buyer's advisor")]).toEqual([
      'too_many_today',
      'too_many_today',
    ]);
    expect([await asks('other buyer'), await finds('other buyer')]).toEqual(['passed', 'passed']);
    await owner.query(`delete from finding_changes where finding_id in (select id from findings where title = 'T')`);
    await owner.query(`delete from findings where title = 'T'`);
    await owner.query(`delete from questions where question_text = 'Why?' and asked_by = $1`, [
      people["other buyer's advisor"],
    ]);
  });
});

describe('participants and members', () => {
  test.each(['who leaves', 'who comes back'])(
    'an advisor removed while their client returns has no access (committed first: %s)',
    async (first) => {
      const { deal, buyer } = await listedDeal();
      const [{ id: advisor } = { id: '' }] = await service.sql<{ id: string }>(
        `insert into participants (deal_id, user_id, role, status, advises) values ($1, $2, 'advisor', 'active', $3) returning id`,
        [deal, scene.people['outsider'], buyer],
      );
      // Both leave, and the advisor returns first.
      for (const [id, status] of [
        [buyer, 'removed'],
        [buyer, 'invited'],
        [advisor, 'invited'],
        [advisor, 'active'],
      ])
        await service.sql('update participants set status = $2 where id = $1', [id, status]);
      const leaves = [`update participants set status = 'removed' where id = $1`, [advisor]] as const;
      const returns = [`update participants set status = 'active' where id = $1`, [buyer]] as const;
      const [[text, values], [later, others]] = first === 'who leaves' ? [leaves, returns] : [returns, leaves];
      await owner.query('begin');
      try {
        await owner.query(text, [...values]);
        const meanwhile = service.sql(later, [...others]);
        await waitingFor(1);
        await owner.query('commit');
        await meanwhile;
      } finally {
        await owner.query('rollback');
      }
      expect(await as('outsider', 'select d.id from deals d where d.id = $1', [deal])).toEqual([]);
      expect(await as('outsider', 'select k.id from app.deal_keys(null, false) k where k.id = $1', [deal])).toEqual([]);
    },
  );

  test.each(['who joins', 'who leaves'])(
    'an advisor who joins while their client leaves has no access (committed first: %s)',
    async (first) => {
      const { deal, buyer } = await listedDeal();
      const advisor = scene.people['outsider'];
      const joins = [
        `insert into participants (deal_id, user_id, role, status, advises) values ($1, $2, 'advisor', 'active', $3)`,
        [deal, advisor, buyer],
      ] as const;
      const leaves = [`update participants set status = 'removed' where id = $1`, [buyer]] as const;
      const [[text, values], [later, others]] = first === 'who joins' ? [joins, leaves] : [leaves, joins];
      await owner.query('begin');
      try {
        await owner.query(text, [...values]);
        const meanwhile = service.sql(later, [...others]);
        await waitingFor(1);
        await owner.query('commit');
        await meanwhile;
      } finally {
        await owner.query('rollback');
      }
      expect(await as('outsider', 'select k.id from app.deal_keys(null, false) k where k.id = $1', [deal])).toEqual([]);
      expect(await as('outsider', 'select d.id from deals d where d.id = $1', [deal])).toEqual([]);
    },
  );

  test('an invitation is accepted only by the person invited', async () => {
    const [invited] = await as(
      'broker',
      `select * from app.invite_to_deal($1, 'New.Person@Example.test', 'New', 'viewer', null)`,
      [scene.deal],
    );
    expect(
      await reason(
        as('broker', `update participants set status = 'active' where id = $1`, [invited!['participant_id']]),
      ),
    ).toBe('not_yours_to_accept');
    expect(
      await as('outsider', 'select app.answer_deal_invitation($1, true, null, null) is not null as joined', [
        invited!['participant_id'],
      ]),
    ).toEqual([{ joined: false }]);
    expect(
      await reason(
        as('broker', `select * from app.invite_to_deal($1, 'x@example.test', 'X', 'advisor', $2)`, [
          scene.deal,
          scene.participants["seller's advisor"],
        ]),
      ),
    ).toBe('advisor_of_advisor');
  });

  test('an advised participant cannot return as an advisor, of another or of themself', async () => {
    const { deal, buyer } = await listedDeal();
    const invite = (person: string, advises: string) =>
      as('broker', `select * from app.invite_to_deal($1, $2, 'X', 'advisor', $3)`, [
        deal,
        `${person.replace(/[^a-z]+/g, '-')}@example.test`,
        advises,
      ]);
    for (const status of ['removed', 'invited'])
      await as('broker', `update participants set status = $2 where id = $1`, [buyer, status]);
    await invite('viewer', buyer);
    const [{ id: other } = { id: '' }] = await service.sql<{ id: string }>(
      `select id from participants where deal_id = $1 and user_id = $2`,
      [deal, scene.people['other buyer']],
    );
    expect(await reason(invite('exclusive buyer', other))).toBe('advisor_of_advisor');
    await service.sql(`delete from participants where deal_id = $1 and advises is not null`, [deal]);
    expect(await reason(invite('exclusive buyer', buyer))).toBe('advisor_of_advisor');
    expect(await reason(invite('exclusive buyer', other))).toBe('passed');
  });

  test('an advisor loses access with their client, and does not regain it when the client returns', async () => {
    const before = await as("exclusive buyer's advisor", 'select id from deals where id = $1', [scene.deal]);
    expect(before).toHaveLength(1);
    await as('broker', `update participants set status = 'removed' where id = $1`, [
      scene.participants['exclusive buyer'],
    ]);
    expect(await as("exclusive buyer's advisor", 'select id from deals where id = $1', [scene.deal])).toEqual([]);
    await as('broker', `update participants set status = 'invited' where id = $1`, [
      scene.participants['exclusive buyer'],
    ]);
    await as('exclusive buyer', 'select app.answer_deal_invitation($1, true, null, null)', [
      scene.participants['exclusive buyer'],
    ]);
    expect(await as("exclusive buyer's advisor", 'select id from deals where id = $1', [scene.deal])).toEqual([]);
  });

  test('an NDA is signed only by its buyer, under their name, and expires on its date', async () => {
    const [nda] = await as(
      'broker',
      'insert into ndas (deal_id, participant_id, terms, expires_at) values ($1, $2, $3, $4) returning id',
      [scene.deal, scene.participants['new buyer'], 'Keep it to yourself.', new Date(Date.now() + 10 * day)],
    );
    const sign = (person: string) =>
      as(person, `select app.sign_nda($1, ' Nora New ', '192.0.2.7') as signed`, [nda!['id']]);
    expect(await sign('other buyer')).toEqual([{ signed: false }]);
    expect(await reason(as('broker', `update ndas set status = 'active' where id = $1`, [nda!['id']]))).toBe(
      'nda_unsigned',
    );
    expect(await sign('new buyer')).toEqual([{ signed: true }]);
    expect(await sign('new buyer')).toEqual([{ signed: false }]);
    expect(
      await as('broker', 'select status, signed_name, host(signed_address) as address from ndas where id = $1', [
        nda!['id'],
      ]),
    ).toEqual([{ status: 'active', signed_name: 'Nora New', address: '192.0.2.7' }]);
    const gated = () =>
      as('new buyer', `select id from documents where confidentiality = 'nda_gated' and deal_id = $1`, [scene.deal]);
    expect(await gated()).toHaveLength(1);
    service.clock.advance(11 * day);
    expect(await gated()).toEqual([]);
    await as('broker', 'select app.sweep()');
    expect(await service.sql('select status from ndas where id = $1', [nda!['id']])).toEqual([{ status: 'expired' }]);
    service.clock.set(new Date());
  });

  test('the last admin of a brokerage cannot be demoted', async () => {
    const demote = as('admin', `update members set role = 'broker' where user_id = $1 returning role`, [
      scene.people['admin'],
    ]);
    expect(await reason(demote)).toBe('last_admin');
  });

  test('a suspended admin does not count when another admin is demoted', async () => {
    const [{ id } = { id: '' }] = await service.sql<{ id: string }>(
      `with person as (insert into users (email, name, suspended_at) values ('suspended.admin@example.test', 'Suspended', app.now()) returning id)
       insert into members (brokerage_id, user_id, role) select $1, id, 'admin' from person returning user_id as id`,
      [scene.brokerage],
    );
    const demote = () =>
      as('admin', `update members set role = 'broker' where user_id = $1 returning role`, [scene.people['admin']]);
    expect(await reason(demote())).toBe('last_admin');
    await service.sql('update users set suspended_at = null where id = $1', [id]);
    expect(await reason(demote())).toBe('passed');
    await service.sql(`update members set role = 'admin' where user_id = $1`, [scene.people['admin']]);
    await service.sql(`update members set status = 'removed' where user_id = $1`, [id]);
  });
});

test('each change of a finding is recorded with person and notes', async () => {
  const id = scene.records["findings/the exclusive buyer's"];
  await as('seller', `update findings set status = 'mitigated', status_notes = 'Escrow agreed.' where id = $1`, [id]);
  expect(
    await as(
      'exclusive buyer',
      'select from_status, to_status, notes, changed_by from finding_changes where finding_id = $1 order by changed_at, id',
      [id],
    ),
  ).toEqual([
    { from_status: null, to_status: 'open', notes: null, changed_by: null },
    { from_status: 'open', to_status: 'mitigated', notes: 'Escrow agreed.', changed_by: scene.people['seller'] },
  ]);
});

describe('a closed deal', () => {
  test('rejects changes of every record, permits reading and removals, and is hidden from outsiders', async () => {
    const { deal, participants, records, unanswered } = scene;
    await owner.query('begin');
    await owner.query('delete from deal_stages where deal_id = $1', [deal]);
    await owner.query('alter table deals disable trigger user');
    await owner.query(`update deals set state = 'closed', closed_at = app.now() where id = $1`, [deal]);
    await owner.query('alter table deals enable trigger user');
    await owner.query('commit');
    await owner.query(
      `insert into qoe_workspace_members (deal_id, participant_id) values ($1, $2) on conflict do nothing`,
      [deal, participants['exclusive buyer']],
    );
    const id = (record: string) => records[record];
    const snapshot = id('accounting_snapshots/a snapshot');
    const month = `'2026-02-01', '2026-02-28', 'USD'`;
    const file = `'a.pdf', 'tax', 'public', 1, 'application/pdf'`;
    const tries: [person: string, text: string, ...values: unknown[]][] = [
      ['broker', `update deals set title = 'T' where id = $1`, deal],
      ['broker', `update deals set state = 'withdrawn' where id = $1`, deal],
      ['broker', `select * from app.invite_to_deal($1, 'new@example.test', 'New', 'buyer', null)`, deal],
      ['broker', `update participants set status = 'invited' where id = $1`, participants['new buyer']],
      [
        'broker',
        `insert into ndas (deal_id, participant_id, terms) values ($1, $2, 'T')`,
        deal,
        participants['new buyer'],
      ],
      [
        'broker',
        `insert into exclusivities (deal_id, participant_id, expires_at) values ($1, $2, now() + interval '1 day')`,
        deal,
        participants['new buyer'],
      ],
      ['broker', `update exclusivities set ended_at = now() where deal_id = $1`, deal],
      [
        'broker',
        `insert into qoe_workspace_members (deal_id, participant_id) values ($1, $2)`,
        deal,
        participants['other buyer'],
      ],
      ['broker', `update qoe_workspace_members set role = 'reader' where deal_id = $1`, deal],
      ['seller', `insert into qoe_checklist (deal_id, category, title) values ($1, 'tax', 'T')`, deal],
      ['seller', `update qoe_checklist set title = 'T' where deal_id = $1`, deal],
      ['seller', `delete from qoe_checklist where deal_id = $1`, deal],
      ['exclusive buyer', `insert into accounting_snapshots (deal_id, snapshot_type) values ($1, 'full')`, deal],
      ['seller', `update accounting_snapshots set status = 'processing' where id = $1`, snapshot],
      [
        'seller',
        `insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue) values ($1, $2, 'F', ${month}, 1)`,
        deal,
        snapshot,
      ],
      [
        'seller',
        `insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total) values ($1, $2, 'H', ${month}, 1)`,
        deal,
        snapshot,
      ],
      [
        'exclusive buyer',
        `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount) values ($1, 'F', 'other', 1)`,
        deal,
      ],
      ['seller', `delete from normalizations where deal_id = $1`, deal],
      ['other buyer', `insert into questions (deal_id, category, question_text) values ($1, 'tax', 'Why?')`, deal],
      [
        'broker',
        `update questions set status = 'rejected' where id = $1`,
        id("questions/the exclusive buyer's, pending review"),
      ],
      [
        'seller',
        `insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, 'So.')`,
        unanswered,
        deal,
      ],
      ['seller', `update question_answers set answer_text = 'So.' where deal_id = $1`, deal],
      [
        'seller',
        `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key) values ($1, ${file}, 'late')`,
        deal,
      ],
      [
        'seller',
        `insert into production_documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, diligence_request) values ($1, ${file}, 'late', 'R')`,
        deal,
      ],
      ['broker', `update documents set category = 'legal' where deal_id = $1`, deal],
      ['broker', `select app.remove_document('simple', $1, false)`, id('documents/public')],
      ['broker', `select app.begin_upload($1, 'a-storage-key-of-16')`, deal],
      ['exclusive buyer', `insert into offers (deal_id, payload) values ($1, '{}')`, deal],
      ['broker', `insert into closing_conditions (deal_id, name) values ($1, 'C')`, deal],
      ['broker', `update closing_conditions set status = 'satisfied' where deal_id = $1`, deal],
      ['broker', `delete from closing_conditions where deal_id = $1`, deal],
      [
        'exclusive buyer',
        `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`,
        deal,
      ],
      ['seller', `update findings set status = 'resolved' where deal_id = $1`, deal],
      [
        'seller',
        `insert into finding_comments (finding_id, body) values ($1, 'B')`,
        id("findings/the exclusive buyer's"),
      ],
      [
        'exclusive buyer',
        `insert into financing_sources (deal_id, source_type, source_name, commitment_amount) values ($1, 'other', 'S', 1)`,
        deal,
      ],
      ['seller', `update financing_sources set source_name = 'S' where deal_id = $1`, deal],
    ];
    for (const [person, text, ...values] of tries)
      expect([text, await reason(as(person, text, values))]).toEqual([text, 'deal_closed']);
    expect(await reason(as('outsider', `insert into offers (deal_id, payload) values ($1, '{}')`, [deal]))).toBe(
      '42501',
    );
    expect(
      await reason(as('outsider', `insert into closing_conditions (deal_id, name) values ($1, 'C')`, [deal])),
    ).toBe('42501');
    // Statements that do not change the record: reading, leaving, and inviting a broker.
    const allowed: [person: string, text: string, ...values: unknown[]][] = [
      ['other buyer', `select * from app.open_document('simple', $1, false)`, id('documents/public')],
      [
        'other buyer',
        `insert into answer_readings (deal_id) values ($1) on conflict (deal_id, user_id) do update set read_until = app.now()`,
        deal,
      ],
      ['broker', `delete from qoe_workspace_members where deal_id = $1`, deal],
      ['broker', `update ndas set status = 'revoked' where id = $1`, id("ndas/the other buyer's")],
      ['broker', `update participants set status = 'removed' where id = $1`, participants['new buyer']],
      ['admin', `select * from app.invite_to_deal($1, 'admin@example.test', 'admin', 'broker', null)`, deal],
    ];
    for (const [person, text, ...values] of allowed)
      expect([text, await reason(as(person, text, values))]).toEqual([text, 'passed']);
    const [nobody] = await service.sql('select count(*)::int as left from qoe_workspace_members where deal_id = $1', [
      deal,
    ]);
    expect(nobody).toEqual({ left: 0 });
  });

  test('rejects a concurrent change that had to wait for the closing', async () => {
    const { deal, buyer } = await listedDeal();
    await grant(deal, buyer, 30);
    for (const state of ['diligence', 'closing'])
      await as('broker', 'update deals set state = $2 where id = $1', [deal, state]);
    const closing = await connect(service.connections.server);
    try {
      await closing.query('begin');
      await closing.query('select app.enter_as($1)', [scene.people['broker']]);
      await closing.query(`update deals set state = 'closed' where id = $1`, [deal]);
      const late = reason(as('broker', `insert into closing_conditions (deal_id, name) values ($1, 'C')`, [deal]));
      await waitingFor(1);
      await closing.query('commit');
      expect(await late).toBe('deal_closed');
    } finally {
      await closing.end();
    }
  });
});
