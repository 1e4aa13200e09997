/** What the triggers of the tables refuse, and what they bring about elsewhere, each tried in a transaction that is taken back. */

import assert from 'node:assert/strict';
import pg from 'pg';
import type { Check, Stage } from './scene.ts';

type Values = readonly (string | number | null | undefined)[];

interface Play {
  /** User ids of a person of the scene, by name, or the id itself. */
  person(who: string): string;
  readonly brokerage: string;
  readonly ids: Readonly<Record<string, string>>;
  /** What became of a statement of the server's role, for somebody: "done", "nothing", the reason, or the code of the error. */
  as(who: string, text: string, ...values: Values): Promise<string>;
  /** The same past every policy and right: as the owner of the tables, with somebody entered or, for null, nobody. */
  past(who: string | null, text: string): Promise<string>;
  /** One value, as the owner. */
  value(text: string): Promise<unknown>;
  /** Puts a row into a table as the owner; its id. */
  put(table: string, values: Record<string, unknown>): Promise<string>;
  /** From now on it is so many days later than it is. */
  at(days: number): Promise<void>;
}

const literal = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return pg.escapeLiteral(value.toISOString());
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return pg.escapeLiteral(String(value));
};

async function inPlay({ server, scene, particulars: ids }: Stage, run: (play: Play) => Promise<void>): Promise<void> {
  const person = (who: string) => scene.people[who] ?? ids[who] ?? who;
  const owner = async (who: string | null, text: string): Promise<unknown> =>
    (await server.query('select app.as_owner($1, $2) as result', [text, who === null ? null : person(who)])).rows[0]
      .result;
  async function outcome(attempt: () => Promise<number>): Promise<string> {
    await server.query('savepoint attempt');
    try {
      return (await attempt()) > 0 ? 'done' : 'nothing';
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      await server.query('rollback to savepoint attempt');
      return error.code === 'DK001' ? (error.hint ?? '') : (error.code ?? '');
    }
  }
  await server.query('begin');
  try {
    await run({
      person,
      ids,
      brokerage: scene.brokerage,
      as: (who, text, ...values) =>
        outcome(async () => {
          await server.query('select app.enter_as($1)', [person(who)]);
          return (await server.query(text, [...values])).rowCount ?? 0;
        }),
      past: (who, text) => outcome(async () => Number(await owner(who, text))),
      value: (text) => owner(null, `select to_jsonb((${text}))`),
      put: async (table, values) =>
        String(
          await owner(
            null,
            `insert into ${table} as added (${Object.keys(values).join(', ')})
              values (${Object.values(values).map(literal).join(', ')}) returning to_jsonb(added) -> 'id'`,
          ),
        ),
      at: async (days) =>
        void (await server.query(
          `select set_config('dealkeep.now', (transaction_timestamp() + $1 * interval '1 day')::text, true)`,
          [days],
        )),
    });
  } finally {
    await server.query('rollback');
  }
}

/** Each rejects when a trigger lets pass, or brings about, more or less than it should. */
export const triggerChecks: Check[] = [];

function check(title: string, run: (play: Play) => Promise<void>): void {
  triggerChecks.push({ title, run: (stage) => inPlay(stage, run) });
}

/** A deal of the scene's brokerage with a broker, a seller, a viewer, two buyers and one who left; the ids of their parts. */
async function dealOf({ put, person, brokerage }: Play, values: Record<string, unknown> = { state: 'listed' }) {
  const deal = await put('deals', { organization_id: brokerage, title: 'Mill', ...values });
  const joins = (who: string, role: string, status = 'active', more: Record<string, unknown> = {}) =>
    put('participants', { deal_id: deal, user_id: person(who), role, status, ...more });
  return {
    deal,
    joins,
    broker: await joins('broker', 'broker'),
    seller: await joins('seller', 'seller'),
    viewer: await joins('viewer', 'viewer'),
    buyer: await joins('exclusive buyer', 'buyer'),
    otherBuyer: await joins('other buyer', 'buyer'),
    gone: await joins('removed', 'buyer', 'removed'),
  };
}

type Deal = Awaited<ReturnType<typeof dealOf>>;

const granting = (deal: string, part: string, days: number) =>
  `insert into exclusivities (deal_id, participant_id, expires_at)
    values ('${deal}', '${part}', app.now() + ${days} * interval '1 day')`;
const moving = (deal: string, state: string) => `update deals set state = '${state}' where id = '${deal}'`;
const stateOf = ({ value }: Play, deal: string) => value(`select app.actual_state('${deal}')`);
const nda = (of: Deal, part: string, more: Record<string, unknown> = {}) => ({
  deal_id: of.deal,
  participant_id: part,
  terms: 'Keep it.',
  status: 'active',
  signed_at: '2020-01-01',
  signed_name: 'B',
  ...more,
});

check('exclusivity is granted to an active buyer of the deal, for the time to come, by a broker', async (play) => {
  const { as, past } = play;
  const on = await dealOf(play);
  const other = await dealOf(play);
  for (const part of [other.buyer, on.seller, on.gone])
    assert.equal(await as('broker', granting(on.deal, part, 9)), 'not_an_active_buyer');
  // Who may not grant it learns nothing of whom it could be granted to.
  assert.equal(await as('seller', granting(on.deal, on.gone, 9)), '42501');
  assert.equal(await as('broker', granting(on.deal, on.buyer, -1)), 'expires_in_the_past');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 9)), 'done');
  assert.equal(await as('broker', granting(on.deal, on.otherBuyer, 9)), 'exclusivity_runs');
  // The owner, loading data, is held to the same and need not name the person.
  assert.equal(await past(null, granting(other.deal, other.buyer, 9)), 'done');
});

check('exclusivity that has lapsed or was released makes room for another, and stays as it ended', async (play) => {
  const { as, at, value } = play;
  const on = await dealOf(play);
  const ends = `select array_agg(x.ended_at order by x.granted_at) from exclusivities x where x.deal_id = '${on.deal}'`;
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  await at(1);
  assert.equal(
    await as('broker', `update exclusivities set ended_at = '2999-01-01' where deal_id = $1`, on.deal),
    'done',
  );
  assert.equal(await stateOf(play, on.deal), 'listed');
  assert.equal(await value(`select ended_at = app.now() from exclusivities where deal_id = '${on.deal}'`), true);
  await at(8);
  assert.equal(await as('broker', granting(on.deal, on.otherBuyer, 5)), 'done');
  await at(14);
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(
    await value(`select every(x.ended_at = x.expires_at) from exclusivities x
      where x.deal_id = '${on.deal}' and x.participant_id = '${on.otherBuyer}'`),
    true,
  );
  assert.equal(((await value(ends)) as unknown[]).filter((ended) => ended === null).length, 1);
  assert.equal(
    await as(
      'broker',
      `update exclusivities set expires_at = '2999-01-01' where deal_id = $1 and ended_at is not null`,
      on.deal,
    ),
    'exclusivity_over',
  );
});

check('the end of an exclusivity is moved while it runs, or while the deal goes on with the buyer', async (play) => {
  const { as, past, at } = play;
  const on = await dealOf(play);
  const until = (when: string) => `update exclusivities set expires_at = ${when} where deal_id = '${on.deal}'`;
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(await as('broker', `update exclusivities set ended_at = null where deal_id = $1`, on.deal), 'done');
  assert.equal(await stateOf(play, on.deal), 'exclusivity');
  await at(2);
  assert.equal(await as('broker', until(`app.now() - interval '1 hour'`)), 'expires_in_the_past');
  assert.equal(await as('broker', until(`app.now() + interval '2 days'`)), 'done');
  await at(6);
  assert.equal(await as('broker', until('expires_at')), 'done');
  assert.equal(await as('broker', until(`app.now() + interval '9 days'`)), 'exclusivity_over');
  assert.equal(await past(null, until(`app.now() - interval '1 day'`)), 'done');
  const further = await dealOf(play);
  assert.equal(await as('broker', granting(further.deal, further.buyer, 5)), 'done');
  assert.equal(await as('broker', moving(further.deal, 'diligence')), 'done');
  await at(20);
  assert.equal(
    await as(
      'broker',
      `update exclusivities set expires_at = app.now() + interval '9 days' where deal_id = $1`,
      further.deal,
    ),
    'done',
  );
  // What ends or begins in diligence leaves the deal where it is.
  assert.equal(
    await as('broker', 'update exclusivities set ended_at = app.now() where deal_id = $1', further.deal),
    'done',
  );
  assert.equal(await stateOf(play, further.deal), 'diligence');
  assert.equal(await as('broker', granting(further.deal, further.buyer, 5)), 'done');
  assert.equal(await stateOf(play, further.deal), 'diligence');
});

check('a deal goes from state to state as the decisions say, and its stage with it', async (play) => {
  const { as, past, at, value } = play;
  const kept = await dealOf(play, { state: 'diligence' });
  const on = await dealOf(play, { state: 'draft' });
  for (const state of ['closing', 'closed', 'under_offer'])
    assert.equal(await as('broker', moving(on.deal, state)), 'move_not_allowed');
  assert.equal(await as('broker', moving(on.deal, 'listed')), 'done');
  assert.equal(await as('broker', moving(on.deal, 'exclusivity')), 'exclusivity_missing');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(await as('broker', moving(on.deal, 'listed')), 'exclusivity_runs');
  assert.equal(await as('broker', 'update exclusivities set ended_at = app.now() where deal_id = $1', on.deal), 'done');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(await value(`select state from deals where id = '${on.deal}'`), 'under_offer');
  assert.equal(await as('broker', moving(on.deal, 'diligence')), 'done');
  assert.equal(await as('broker', moving(on.deal, 'withdrawn')), 'done');
  assert.equal(await stateOf(play, on.deal), 'withdrawn');
  assert.equal(await value(`select count(*) from exclusivities where deal_id = '${on.deal}' and ended_at is null`), 0);
  assert.equal(await stateOf(play, kept.deal), 'diligence');
  // One that lapsed is listed again, from then on.
  const lapsed = await dealOf(play);
  assert.equal(await as('broker', granting(lapsed.deal, lapsed.buyer, 5)), 'done');
  await at(6);
  assert.equal(await as('broker', moving(lapsed.deal, 'exclusivity')), 'done');
  assert.equal(await as('broker', moving(lapsed.deal, 'listed')), 'done');
  assert.equal(await stateOf(play, lapsed.deal), 'listed');
  assert.equal(await as('broker', granting(lapsed.deal, lapsed.buyer, 5)), 'done');
  await at(12);
  assert.equal(await as('broker', moving(lapsed.deal, 'under_offer')), 'done');
  const closing = await dealOf(play, { state: 'closing' });
  assert.equal(await as('broker', moving(closing.deal, 'closed')), 'done');
  const closedAt = `select closed_at from deals where id = '${closing.deal}'`;
  const closed = await value(closedAt);
  assert.ok(closed !== null);
  await at(13);
  assert.equal(await past(null, moving(closing.deal, 'closed')), 'done');
  assert.equal(await value(closedAt), closed);
  assert.equal(await as('broker', `update deals set title = 'X' where id = $1`, closing.deal), 'deal_closed');
});

check('a closed deal takes no more records, and another one does', async (play) => {
  const { as, put } = play;
  const add = `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`;
  const remark = `insert into finding_comments (finding_id, body) values ($1, 'B')`;
  for (const [state, becomes] of [
    ['closed', 'deal_closed'],
    ['listed', 'done'],
  ] as const) {
    const on = await dealOf(play, { state });
    const finding = { deal_id: on.deal, participant_id: on.broker, category: 'tax', title: 'T', severity: 'minor' };
    assert.equal(await as('broker', add, on.deal), becomes);
    assert.equal(await as('broker', remark, await put('findings', finding)), becomes);
  }
});

check('other states go where the table of moves says, and the refusal says where', async (play) => {
  const { past, put, value } = play;
  const on = await dealOf(play);
  const id = await put('ndas', nda(on, on.buyer));
  const to = (status: string) => past(null, `update ndas set status = '${status}' where id = '${id}'`);
  assert.equal(await to('sent'), 'move_not_allowed');
  assert.equal(await to('revoked'), 'done');
  assert.equal(await to('active'), 'move_not_allowed');
  const condition = await put('closing_conditions', { deal_id: on.deal, name: 'N', status: 'satisfied' });
  await play.past(
    null,
    `create function pg_temp.said(statement text) returns text language plpgsql as $$
    begin execute statement; return ''; exception when others then return sqlerrm; end $$`,
  );
  assert.equal(
    await value(`select pg_temp.said('update closing_conditions set status = ''waived'' where id = ''${condition}''')`),
    'A closing condition cannot go from satisfied to waived. From satisfied it can go to: open.',
  );
});

check('an invitation is accepted by whoever it is for, and what was typed is kept until then', async (play) => {
  const { put, person, past, value, at } = play;
  const on = await dealOf(play);
  const invited = await on.joins('outsider', 'viewer', 'invited');
  const typed = await on.joins('invited', 'viewer', 'invited', {
    invited_name: 'Typed',
    invited_email: 'typed@example.test',
  });
  const of = (id: string, column: string) => value(`select ${column} from participants where id = '${id}'`);
  assert.equal(await of(invited, 'joined_at'), null);
  assert.equal(
    await of(invited, 'invited_email'),
    await value(`select email from users where id = '${person('outsider')}'`),
  );
  assert.equal(await of(typed, 'invited_email'), 'typed@example.test');
  assert.ok((await of(on.gone, 'joined_at')) !== null);
  assert.ok((await of(on.buyer, 'joined_at')) !== null);
  const accept = (id: string) => `update participants set status = 'active' where id = '${id}'`;
  assert.equal(await past('broker', accept(invited)), 'not_yours_to_accept');
  assert.equal(await past('outsider', accept(invited)), 'done');
  assert.ok((await of(invited, 'joined_at')) !== null);
  assert.equal(await past(null, accept(typed)), 'done');
  const other = await put('participants', {
    deal_id: on.deal,
    user_id: person('colleague'),
    role: 'viewer',
    status: 'active',
  });
  await at(1);
  assert.equal(await past(null, `update participants set status = 'removed' where id = '${other}'`), 'done');
  assert.equal(await of(other, 'invited_email'), null);
});

check('an advisor advises nobody who advises, and is advised by nobody', async (play) => {
  const { past } = play;
  const on = await dealOf(play);
  const elsewhere = await dealOf(play);
  const advisor = await on.joins("broker's advisor", 'advisor', 'active', { advises: on.broker });
  const far = await elsewhere.joins("broker's advisor", 'advisor', 'active', { advises: elsewhere.broker });
  const join = (advises: string) =>
    past(
      null,
      `insert into participants (deal_id, user_id, role, status, advises)
        values ('${on.deal}', '${play.person('outsider')}', 'advisor', 'active', '${advises}')`,
    );
  assert.equal(await join(advisor), 'advisor_of_advisor');
  assert.equal(await join(far), '23503');
  const become = (id: string, advises: string) =>
    past(null, `update participants set role = 'advisor', advises = '${advises}' where id = '${id}'`);
  assert.equal(await become(on.broker, on.seller), 'advisor_of_advisor');
  assert.equal(await become(on.viewer, on.viewer), 'advisor_of_advisor');
  assert.equal(await past(null, `update participants set status = 'removed' where id = '${advisor}'`), 'done');
  assert.equal(await become(on.broker, on.seller), 'done');
});

check('somebody has at most 50 clients', async (play) => {
  const { past } = play;
  const add = (
    n: number,
    deleted: string,
  ) => `insert into connected_clients (created_by, name, redirect_uris, deleted_at)
    select '${play.person('outsider')}', 'C' || n, '{https://client.example/x}', ${deleted} from generate_series(1, ${n}) n`;
  assert.equal(await past(null, add(5, 'app.now()')), 'done');
  assert.equal(await past(null, add(50, 'null')), 'done');
  assert.equal(await past(null, add(1, 'null')), 'too_many_clients');
});

check('what a condition says, whose it is and whether it is waived, is for brokers', async (play) => {
  const { as, past, put, person } = play;
  const on = await dealOf(play);
  const id = await put('closing_conditions', { deal_id: on.deal, name: 'N', owner_user_id: person('seller') });
  const set = (what: string) => `update closing_conditions set ${what} where id = '${id}'`;
  assert.equal(await as('seller', set(`name = 'X'`)), 'broker_only');
  assert.equal(await as('seller', set(`status = 'waived'`)), 'broker_only');
  assert.equal(await as('seller', set(`status = 'in_progress'`)), 'done');
  assert.equal(await as('broker', set(`status = 'waived', name = 'X'`)), 'done');
  assert.equal(await as('seller', set(`status = 'open'`)), 'broker_only');
  assert.equal(await as('seller', set('status = status')), 'done');
  assert.equal(await past(null, set(`name = 'Y'`)), 'done');
});

check('a condition is for somebody who takes part, and whom the selected buyer may know', async (play) => {
  const { as, past, put, person } = play;
  const on = await dealOf(play);
  const adding = (who: string | null) =>
    `insert into closing_conditions (deal_id, name, owner_user_id)
      values ('${on.deal}', 'N', ${literal(who === null ? null : person(who))})`;
  assert.equal(await as('broker', adding(null)), 'done');
  for (const who of ['outsider', 'removed']) assert.equal(await as('broker', adding(who)), 'owner_takes_no_part');
  assert.equal(await as('broker', adding('other buyer')), 'done');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 9)), 'done');
  assert.equal(await as('broker', adding('other buyer')), 'owner_not_known_to_buyer');
  assert.equal(await as('broker', adding('broker')), 'done');
  assert.equal(await past(null, adding('other buyer')), 'done');
  assert.equal(
    await past(
      null,
      `insert into findings (deal_id, participant_id, category, title, severity, owner_user_id)
        values ('${on.deal}', '${on.buyer}', 'tax', 'T', 'minor', '${person('other buyer')}')`,
    ),
    'done',
  );
  const id = await put('closing_conditions', { deal_id: on.deal, name: 'N', owner_user_id: person('viewer') });
  const own = (value: string) => `update closing_conditions set owner_user_id = ${value} where id = '${id}'`;
  assert.equal(await past(null, `update participants set status = 'removed' where id = '${on.viewer}'`), 'done');
  assert.equal(await as('broker', own('owner_user_id')), 'done');
  assert.equal(await as('broker', own(`'${person('outsider')}'`)), 'owner_takes_no_part');
});

check('a question is moved by whoever has the next word, and no more once it is closed', async (play) => {
  const { past, put, person, value } = play;
  const on = await dealOf(play);
  await put('ndas', nda(on, on.buyer));
  const ask = (status: string, more: Record<string, unknown> = {}) =>
    put('questions', {
      deal_id: on.deal,
      category: 'tax',
      question_text: 'Why?',
      asked_by: person('exclusive buyer'),
      participant_id: on.buyer,
      status,
      ...more,
    });
  const move = (who: string | null, id: string, what: string) =>
    past(who, `update questions set ${what} where id = '${id}'`);
  const first = await ask('pending_broker_review');
  for (const status of ['with_seller', 'rejected'])
    assert.equal(await move('seller', first, `status = '${status}'`), 'broker_only');
  assert.equal(await move('broker', first, `status = 'withdrawn'`), 'asker_only');
  assert.equal(await move('seller', first, `rejection_reason = 'No.'`), 'broker_only');
  assert.equal(await move('broker', first, `rejection_reason = 'No.'`), 'done');
  assert.equal(await move('broker', first, `status = 'with_seller'`), 'done');
  assert.equal(await move('seller', first, `status = 'answered'`), 'answer_missing');
  await put('question_answers', { question_id: first, deal_id: on.deal, answer_text: 'So.' });
  assert.equal(await move('broker', first, `status = 'answered'`), 'seller_only');
  assert.equal(await move('seller', first, `status = 'answered'`), 'done');
  assert.equal(await move('broker', first, `status = 'distributed'`), 'response_missing');
  assert.equal(await move('broker', first, `status = 'distributed', distributed_response = 'So.'`), 'done');
  assert.equal(await value(`select distributed_at = app.now() from questions where id = '${first}'`), true);
  assert.equal(await move('broker', first, `distributed_response = 'Else.'`), 'question_closed');
  assert.equal(await move(null, first, `distributed_response = 'Else.'`), 'done');
  const second = await ask('pending_broker_review');
  assert.equal(await move('exclusive buyer', second, `status = 'withdrawn'`), 'done');
});

check('a question is asked in the name of who asks, under an NDA, of a deal that somebody runs', async (play) => {
  const { past, value, put, person } = play;
  const asked = (deal: string, by = 'null') => `insert into questions (deal_id, category, question_text, asked_by)
    values ('${deal}', 'tax', 'Why?', ${by})`;
  const on = await dealOf(play);
  assert.equal(await past('exclusive buyer', asked(on.deal)), 'no_active_nda');
  assert.equal(await past('seller', asked(on.deal)), 'not_a_buyer');
  assert.equal(await past('outsider', asked(on.deal)), '23502');
  await put('ndas', nda(on, on.buyer));
  assert.equal(await past('exclusive buyer', asked(on.deal, `'${person('outsider')}'`)), 'done');
  assert.deepEqual(await value(`select array[asked_by, participant_id] from questions where deal_id = '${on.deal}'`), [
    person('exclusive buyer'),
    on.buyer,
  ]);
  assert.equal(
    await past(
      null,
      `insert into questions (deal_id, category, question_text, asked_by, participant_id)
        values ('${on.deal}', 'tax', 'Why?', '${person('other buyer')}', '${on.otherBuyer}')`,
    ),
    'done',
  );
  await past(null, moving(on.deal, 'withdrawn'));
  assert.equal(await past('exclusive buyer', asked(on.deal)), 'deal_over');
  const alone = await dealOf(play);
  await put('ndas', nda(alone, alone.buyer));
  await past(null, `update participants set status = 'removed' where id = '${alone.broker}'`);
  assert.equal(await past('exclusive buyer', asked(alone.deal)), 'no_broker_review');
});

check('an offer is of the buyer who sends it, and each of theirs has its number', async (play) => {
  const { as, past, value, put, person } = play;
  const on = await dealOf(play);
  const sending = (more = 'null', payload = '{}', deal = on.deal) =>
    `insert into offers (deal_id, payload, buyer_user_id) values ('${deal}', '${payload}', ${more})`;
  const loaded = (who: string, part: string, number: number, more: Record<string, unknown> = {}) =>
    put('offers', {
      deal_id: on.deal,
      participant_id: part,
      buyer_user_id: person(who),
      revision_number: number,
      payload: '{}',
      is_current: false,
      ...more,
    });
  for (let number = 1; number <= 20; number += 1)
    await loaded('other buyer', on.otherBuyer, number, { is_current: number === 20 });
  for (let number = 1; number <= 19; number += 1)
    await loaded('exclusive buyer', on.buyer, number, { submitted_at: '2020-01-01', is_current: number === 19 });
  for (const who of ['viewer', 'removed', 'outsider']) assert.equal(await past(who, sending()), '23502', who);
  assert.equal(await past('other buyer', sending()), 'too_many_today');
  assert.equal(await past('exclusive buyer', sending(`'${person('viewer')}'`)), 'done');
  assert.equal(await past('exclusive buyer', sending()), 'done');
  assert.deepEqual(
    await value(`select array_agg(concat_ws(' ', participant_id, revision_number) order by buyer_user_id = '${person('other buyer')}')
      from offers where deal_id = '${on.deal}' and is_current`),
    [`${on.buyer} 21`, `${on.otherBuyer} 20`],
  );
  assert.equal(await past('exclusive buyer', sending('null', '{"expires_at": "2020-01-01T00:00:00Z"}')), 'DK002');
  await past(null, moving(on.deal, 'withdrawn'));
  assert.equal(await past('exclusive buyer', sending()), 'deal_takes_no_offers');
  // Who takes no part in the deal does not learn of its state.
  assert.equal(await as('outsider', `insert into offers (deal_id, payload) values ($1, '{}')`, on.deal), '42501');
});

check('an offer that was revised since is not accepted, the latest is', async (play) => {
  const { as, put, person, value } = play;
  const on = await dealOf(play);
  const offer = (number: number, is_current: boolean) =>
    put('offers', {
      deal_id: on.deal,
      participant_id: on.buyer,
      buyer_user_id: person('exclusive buyer'),
      revision_number: number,
      payload: '{}',
      is_current,
    });
  const accept = (id: string) =>
    as(
      'broker',
      `insert into exclusivities (deal_id, participant_id, offer_id, expires_at) values ($1, $2, $3, app.now() + interval '9 days')`,
      on.deal,
      on.buyer,
      id,
    );
  const [earlier, latest] = [await offer(1, false), await offer(2, true)];
  assert.equal(await accept(earlier), 'offer_superseded');
  assert.equal(await accept(latest), 'done');
  assert.equal(await value(`select decision from offer_decisions where offer_id = '${latest}'`), 'accepted');
});

check('an NDA is sent to a buyer of the deal who has none, by a broker', async (play) => {
  const { as, past, put, value, at } = play;
  const on = await dealOf(play);
  const other = await dealOf(play);
  const sending = (part: string, expires = 'null') =>
    `insert into ndas (deal_id, participant_id, terms, expires_at) values ('${on.deal}', '${part}', 'T', ${expires})`;
  for (const part of [other.buyer, on.viewer, on.gone]) assert.equal(await as('broker', sending(part)), 'not_a_buyer');
  assert.equal(await as('seller', sending(on.viewer)), '42501');
  assert.equal(await as('broker', sending(on.buyer, `app.now() - interval '1 day'`)), 'expires_in_the_past');
  await put('ndas', nda(on, on.buyer, { status: 'revoked' }));
  await put('ndas', nda(on, on.buyer, { expires_at: '2020-02-01' }));
  assert.equal(await as('broker', sending(on.buyer)), 'done');
  assert.equal(await as('broker', sending(on.buyer)), 'nda_there_already');
  const lasting = await put('ndas', nda(on, on.otherBuyer, { expires_at: '2999-01-01' }));
  assert.equal(await as('broker', sending(on.otherBuyer)), 'nda_there_already');
  assert.equal(await past(null, sending(on.otherBuyer)), 'done');

  const sent = await put('ndas', nda(other, other.buyer, { status: 'sent', signed_at: null, signed_name: null }));
  const set = (id: string, what: string) => past(null, `update ndas set ${what} where id = '${id}'`);
  assert.equal(await set(sent, `status = 'active'`), 'nda_unsigned');
  assert.equal(await set(sent, `status = 'active', signed_at = app.now(), signed_name = 'B'`), 'done');
  assert.equal(await set(sent, 'signed_at = null'), '23514');
  assert.equal(await set(lasting, `status = 'revoked'`), 'done');
  const revoked = `select revoked_at from ndas where id = '${lasting}'`;
  const since = await value(revoked);
  assert.ok(since !== null);
  await at(1);
  assert.equal(await set(lasting, `terms = 'T'`), 'done');
  assert.equal(await value(revoked), since);
  assert.equal(await value(`select revoked_at from ndas where id = '${sent}'`), null);
});

check('the workspace takes in buyers under an NDA and others of the deal, and lets go who leaves', async (play) => {
  const { as, past, put, value } = play;
  const on = await dealOf(play);
  const other = await dealOf(play);
  const letting = (part: string) =>
    `insert into qoe_workspace_members (deal_id, participant_id) values ('${on.deal}', '${part}')`;
  const former = await on.joins('colleague', 'viewer', 'removed');
  for (const part of [other.viewer, on.seller, former])
    assert.equal(await as('broker', letting(part)), 'not_to_let_in');
  assert.equal(await as('seller', letting(on.broker)), '42501');
  assert.equal(await as('broker', letting(on.buyer)), 'no_active_nda');
  const lapsed = await put('ndas', nda(on, on.buyer, { expires_at: '2020-02-01' }));
  assert.equal(await as('broker', letting(on.buyer)), 'no_active_nda');
  await past(null, `update ndas set expires_at = '2999-01-01' where id = '${lapsed}'`);
  assert.equal(await as('broker', letting(on.buyer)), 'done');
  await put('ndas', nda(on, on.otherBuyer));
  assert.equal(await as('broker', letting(on.otherBuyer)), 'done');
  const sent = await on.joins('new buyer', 'buyer');
  await put('ndas', nda(on, sent, { status: 'sent' }));
  assert.equal(await as('broker', letting(sent)), 'no_active_nda');
  assert.equal(await past(null, letting(sent)), 'done');
  await past(null, `update participants set status = 'removed' where id = '${on.buyer}'`);
  assert.deepEqual(
    new Set(
      (await value(
        `select array_agg(participant_id) from qoe_workspace_members where deal_id = '${on.deal}'`,
      )) as string[],
    ),
    new Set([on.otherBuyer, sent]),
  );
});

check(
  'mails to an address that somebody names are counted for the person, the brokerage and the address',
  async (play) => {
    const { past, value, person, brokerage } = play;
    const counts = (subject: string) =>
      value(`select coalesce(sum(sent), 0) from vault.mail_counts where subject = 'day ${subject}'`);
    const on = await dealOf(play);
    const before = [await counts(`for ${brokerage}`), await counts(`from ${person('broker')}`)] as number[];
    assert.equal(
      await past(
        'broker',
        `insert into vault.invitations (digest, user_id, participant_id, mailed)
        values (sha256('a'), '${person('outsider')}', '${on.viewer}', true)`,
      ),
      'done',
    );
    assert.deepEqual(
      [await counts(`for ${brokerage}`), await counts(`from ${person('broker')}`)],
      before.map((n) => n + 1),
    );
    assert.equal(await counts('to outsider@example.test'), 1);
    assert.equal(
      await past(
        'broker',
        `insert into vault.address_changes (user_id, digest, new_email)
        values ('${person('broker')}', sha256('b'), 'another@example.test')`,
      ),
      'done',
    );
    assert.equal(await counts('to another@example.test'), 1);
  },
);

/** A client of one person, shared with the coast brokerage, with what three people gave it. */
async function givenClient({ put, person, ids }: Play, more: Record<string, unknown> = {}) {
  const client = await put('connected_clients', {
    created_by: person('coast broker'),
    brokerage_id: ids['coast'],
    name: 'Given',
    redirect_uris: '{https://client.example/a,https://client.example/b}',
    ...more,
  });
  for (const who of ['coast broker', 'coast admin', 'coast second'])
    await put('tool_grants', { user_id: person(who), client_id: client, tool: 'svc_deals_get' });
  return client;
}

check(
  'what people gave a client ends when it is switched off, points elsewhere, is shared anew or renamed',
  async (play) => {
    const { past, value, person, ids } = play;
    const everybody = ['coast admin', 'coast broker', 'coast second'];
    for (const [what, by, left, more] of [
      ['disabled = true', null, [], {}],
      [`redirect_uris = '{https://client.example/a}'`, null, [], {}],
      [`redirect_uris = redirect_uris || '{https://client.example/c}'`, null, everybody, {}],
      ['brokerage_id = null', null, ['coast broker'], {}],
      [`brokerage_id = '${ids['coast']}'`, null, everybody, { brokerage_id: null }],
      [`name = 'Other'`, 'coast admin', ['coast admin'], {}],
      [`name = 'Other'`, 'coast admin', ['coast admin'], { disabled: true }],
      ['name = name', 'coast admin', everybody, {}],
    ] as const) {
      const client = await givenClient(play, more);
      assert.equal(await past(by, `update connected_clients set ${what} where id = '${client}'`), 'done', what);
      const there = await value(
        `select coalesce(array_agg(user_id), '{}') from tool_grants where client_id = '${client}'`,
      );
      assert.deepEqual(new Set(there as string[]), new Set(left.map(person)), what);
    }
  },
);

check(
  'making somebody an admin, and sharing a client or pointing it elsewhere, asks for a recent sign-in',
  async (play) => {
    const { past, person, ids } = play;
    const coast = ids['coast']!;
    const member = (who: string, status: string) => `insert into members (brokerage_id, user_id, role, status)
    values ('${coast}', '${person(who)}', 'admin', '${status}')`;
    const set = (who: string, what: string) =>
      `update members set ${what} where brokerage_id = '${coast}' and user_id = '${person(who)}'`;
    const asked = 'recent_sign_in_required';
    assert.equal(await past('coast admin', member('outsider', 'invited')), asked);
    assert.equal(await past('coast admin', set('coast broker', `role = 'admin'`)), asked);
    assert.equal(await past(null, member('outsider', 'invited')), 'done');
    assert.equal(await past('outsider', set('outsider', `status = 'active'`)), 'done');
    assert.equal(await past(null, set('outsider', `status = 'removed'`)), 'done');
    assert.equal(await past('coast admin', set('outsider', `status = 'invited'`)), asked);
    const client = await givenClient(play);
    const change = (what: string) => past('coast admin', `update connected_clients set ${what} where id = '${client}'`);
    assert.equal(await change(`redirect_uris = '{https://client.example/z}'`), asked);
    assert.equal(await change(`brokerage_id = '${play.brokerage}'`), asked);
    assert.equal(await change('brokerage_id = brokerage_id'), 'done');
  },
);

check('a brokerage keeps an active admin', async (play) => {
  const { past, person, ids, put } = play;
  await put('members', { brokerage_id: ids['coast'], user_id: person('outsider'), role: 'admin', status: 'invited' });
  const set = (what: string) =>
    past(
      null,
      `update members set ${what} where brokerage_id = '${ids['coast']}' and user_id = '${person('coast admin')}'`,
    );
  assert.equal(await set(`role = 'broker'`), 'last_admin');
  assert.equal(await set(`status = 'removed'`), 'last_admin');
  assert.equal(
    await past('outsider', `update members set status = 'active' where user_id = '${person('outsider')}'`),
    'done',
  );
  assert.equal(await set(`role = 'broker'`), 'done');
});

check('with a membership end the parts, tool grants and opt-ins that came with it, and no others', async (play) => {
  const { past, put, person, brokerage, ids, value } = play;
  const who = person('outsider');
  for (const [change, lost, grants] of [
    [`status = 'removed'`, ['broker', 'viewer'], ['own', 'foreign']],
    [`role = 'staff'`, ['broker'], ['own', 'foreign', 'shared']],
    [`role = 'admin'`, [], ['own', 'foreign', 'shared']],
  ] as const) {
    await past(null, `delete from members where user_id = '${who}'`);
    await put('members', { brokerage_id: brokerage, user_id: who, role: 'broker' });
    const parts: Record<string, string> = {};
    const deals: Record<string, string> = {};
    for (const [name, organization_id, role, status] of [
      ['broker', brokerage, 'broker', 'active'],
      ['viewer', brokerage, 'viewer', 'active'],
      ['buyer', brokerage, 'buyer', 'active'],
      ['gone', brokerage, 'broker', 'removed'],
      ['elsewhere', ids['quiet'], 'broker', 'active'],
      ['gone elsewhere', ids['quiet'], 'broker', 'removed'],
    ] as const) {
      deals[name] = await put('deals', { organization_id, title: name });
      await put('participants', {
        deal_id: deals[name],
        user_id: person('colleague'),
        role: 'broker',
        status: 'active',
      });
      parts[name] = await put('participants', { deal_id: deals[name], user_id: who, role, status });
      for (const user_id of [who, person('viewer')]) await put('deal_opt_ins', { deal_id: deals[name], user_id });
    }
    const families: Record<string, string> = {};
    for (const [name, brokerage_id] of [
      ['own', null],
      ['foreign', ids['coast']],
      ['shared', brokerage],
    ] as const) {
      const client_id = await put('connected_clients', {
        created_by: person('admin'),
        brokerage_id,
        name: `${change} ${name}`,
        redirect_uris: '{https://client.example/a}',
      });
      families[name] = await put('vault.token_families', {
        user_id: who,
        client_id,
        scopes: '{mcp:read}',
        resource: 'r',
        consented_at: '2020-01-01',
        ends_at: '2999-01-01',
      });
      await put('tool_grants', { user_id: who, client_id, tool: 'svc_deals_get' });
    }
    const set = `update members set ${change} where brokerage_id = '${brokerage}' and user_id = '${who}'`;
    assert.equal(await past(null, set), 'done');
    const names = async (query: string, of: Record<string, string>) => {
      const found = (await value(`select coalesce(array_agg(x), '{}') from (${query}) found (x)`)) as string[];
      return Object.keys(of).filter((name) => found.includes(of[name]!));
    };
    const before = ['broker', 'viewer', 'buyer', 'elsewhere'];
    const kept = before.filter((name) => !(lost as readonly string[]).includes(name));
    assert.deepEqual(await names(`select id from participants where status = 'active'`, parts), kept, change);
    assert.deepEqual(
      await names(`select deal_id from deal_opt_ins where user_id = '${who}'`, deals),
      [...kept, 'gone elsewhere'],
      change,
    );
    assert.deepEqual(
      await names(`select deal_id from deal_opt_ins where user_id = '${person('viewer')}'`, deals),
      Object.keys(deals),
    );
    assert.deepEqual(await names(`select subject_id from audit_records where action = 'participant.remove'`, parts), [
      ...lost,
    ]);
    assert.equal(
      await value(`select count(*) from participants p join deals d on d.id = p.deal_id
        where d.id in (${Object.values(deals).map(literal).join(', ')}) and p.user_id = '${person('colleague')}' and p.status = 'active'`),
      6,
    );
    assert.deepEqual(await names('select id from vault.token_families where revoked_at is null', families), [
      ...grants,
    ]);
    assert.deepEqual(
      await names(
        `select f.id from vault.token_families f join tool_grants g on g.client_id = f.client_id and g.user_id = f.user_id`,
        families,
      ),
      [...grants],
    );
  }
});

check('who leaves a deal takes along their own opt-in alone', async (play) => {
  const { past, put, person, value } = play;
  const on = await dealOf(play);
  for (const who of ['broker', 'viewer']) await put('deal_opt_ins', { deal_id: on.deal, user_id: person(who) });
  await past(null, `update participants set status = 'removed' where id = '${on.viewer}'`);
  assert.deepEqual(await value(`select array_agg(user_id) from deal_opt_ins where deal_id = '${on.deal}'`), [
    person('broker'),
  ]);
});

check('a document that has come ends the notice of its own upload', async (play) => {
  const { put, value } = play;
  const on = await dealOf(play);
  for (const key of ['key-of-this-document', 'key-of-another-one']) await put('vault.uploads', { storage_key: key });
  await put('documents', {
    deal_id: on.deal,
    filename: 'a.pdf',
    category: 'tax',
    confidentiality: 'public',
    size_bytes: 1,
    media_type: 'application/pdf',
    storage_key: 'key-of-this-document',
  });
  assert.deepEqual(await value(`select array_agg(storage_key) from vault.uploads where storage_key like 'key-of-%'`), [
    'key-of-another-one',
  ]);
});

check('a person, a deal and a finding take only so many records; loading takes more', async (play) => {
  const { as, past, put, person } = play;
  const on = await dealOf(play);
  const finding = { deal_id: on.deal, participant_id: on.broker, category: 'tax', title: 'T', severity: 'minor' };
  const full = await put('findings', finding);
  const fresh = await put('findings', finding);
  const comment = (id: string) => `insert into finding_comments (finding_id, body) values ('${id}', 'B')`;
  const many = (text: string, times: number) => `${text} from generate_series(1, ${times})`;
  assert.equal(
    await past(null, many(`insert into finding_comments (finding_id, body) select '${full}', 'B'`, 501)),
    'done',
  );
  assert.equal(await as('broker', comment(full)), 'finding_full');
  assert.equal(await as('broker', comment(fresh)), 'done');
  const conditions = `insert into closing_conditions (deal_id, name) select '${on.deal}', 'N'`;
  assert.equal(await past(null, many(conditions, 501)), 'done');
  assert.equal(await as('broker', conditions), 'deal_full');
  const add = `insert into findings (deal_id, participant_id, category, title, severity, created_by)
    select '${on.deal}', '${on.broker}', 'tax', 'T', 'minor', '${person('broker')}'`;
  assert.equal(await past(null, many(add, 200)), 'done');
  assert.equal(await past('broker', add), 'too_many_today');
  assert.equal(await past('seller', add.replace(person('broker'), person('seller'))), 'done');
});

check('who is suspended is signed out, and so are the clients that they use', async (play) => {
  const { past, put, person, value } = play;
  const client_id = await givenClient(play);
  const user_id = person('coast second');
  const family = await put('vault.token_families', {
    user_id,
    client_id,
    scopes: '{mcp:read}',
    resource: 'r',
    consented_at: '2020-01-01',
    ends_at: '2999-01-01',
  });
  const session = await put('vault.sessions', { user_id, digest: `\\x${'ab'.repeat(32)}`, method: 'password' });
  assert.equal(await past(null, `update users set suspended_at = app.now() where id = '${user_id}'`), 'done');
  assert.ok((await value(`select ended_at from vault.sessions where id = '${session}'`)) !== null);
  assert.ok((await value(`select revoked_at from vault.token_families where id = '${family}'`)) !== null);
});

check('a finding is of the side of who records it, in whose history each change of status is', async (play) => {
  const { as, past, put, value } = play;
  await dealOf(play);
  const on = await dealOf(play, { state: 'listed', currency: 'SEK' });
  const add = `insert into findings (deal_id, category, title, severity) values ('${on.deal}', 'tax', 'T', 'minor')`;
  assert.equal(await past('broker', add), 'done');
  assert.equal(await value(`select participant_id from findings where deal_id = '${on.deal}'`), on.broker);
  assert.equal(await as('broker', `update findings set status = 'mitigated' where deal_id = $1`, on.deal), 'done');
  assert.equal(await as('broker', `update findings set title = 'U' where deal_id = $1`, on.deal), 'done');
  assert.deepEqual(
    await value(`select array_agg(concat_ws(' ', c.from_status, c.to_status) order by c.from_status is not null)
      from finding_changes c join findings f on f.id = c.finding_id where f.deal_id = '${on.deal}'`),
    ['open', 'open mitigated'],
  );
  const source = `insert into financing_sources (deal_id, source_type, source_name, commitment_amount, currency)
    values ('${on.deal}', 'other', 'S', 1, 'USD')`;
  assert.equal(await past('broker', source), 'done');
  assert.equal(await value(`select currency from financing_sources where deal_id = '${on.deal}'`), 'SEK');
  await put('financing_sources', {
    deal_id: on.deal,
    participant_id: on.seller,
    source_type: 'other',
    source_name: 'T',
    commitment_amount: 1,
    currency: 'USD',
  });
  assert.equal(
    await value(`select currency from financing_sources where deal_id = '${on.deal}' and source_name = 'T'`),
    'USD',
  );
});

check('what is completed says since when', async (play) => {
  const { past, put, value, at } = play;
  const on = await dealOf(play);
  const condition = (values: Record<string, unknown>) =>
    put('closing_conditions', { deal_id: on.deal, name: 'N', ...values });
  const since = (id: string) => value(`select completed_at from closing_conditions where id = '${id}'`);
  const set = (id: string, what: string) => past(null, `update closing_conditions set ${what} where id = '${id}'`);
  const open = await condition({ completed_at: '2020-01-01' });
  assert.equal(await since(open), null);
  assert.equal(await set(open, `status = 'satisfied'`), 'done');
  const first = await since(open);
  assert.ok(first !== null);
  await at(1);
  assert.equal(await set(open, 'status = status'), 'done');
  assert.equal(await since(open), first);
  assert.equal(await set(open, `status = 'open'`), 'done');
  assert.equal(await since(open), null);
  assert.ok((await since(await condition({ status: 'satisfied' }))) !== null);
  assert.match(
    String(await since(await condition({ status: 'satisfied', completed_at: '2020-01-01' }))),
    /^2020-01-01/,
  );
});

triggerChecks.push({
  title: 'open pages are told of a change, and that a document which was taken out is gone',
  async run({ owner, scene }) {
    const told: unknown[] = [];
    const hear = ({ payload = '' }: pg.Notification) => void told.push(JSON.parse(payload));
    owner.on('notification', hear);
    const record = scene.records['documents/public'];
    try {
      await owner.query('listen dealkeep_changes');
      for (const removed of ['app.now()', 'null'])
        await owner.query(`update documents set removed_at = ${removed} where id = $1`, [record]);
    } finally {
      await owner.query('unlisten dealkeep_changes');
      owner.off('notification', hear);
    }
    assert.deepEqual(
      told,
      [true, false].map((gone) => ({ topic: 'documents', table: 'documents', record, deal_id: scene.deal, gone })),
    );
  },
});
