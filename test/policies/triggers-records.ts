/** The triggers on the records of a deal: conditions, questions, offers, NDAs, workspaces, documents and findings. */

import assert from 'node:assert/strict';
import pg from 'pg';
import type { Check } from './scene.ts';
import { checkInto, dealOf, literal, granting, moving, nda } from './trial.ts';

export const recordsChecks: Check[] = [];
const check = checkInto(recordsChecks);

check('what a condition says, whose it is and whether it is waived, is for brokers', async (trial) => {
  const { as, past, put, person } = trial;
  const on = await dealOf(trial);
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

check('a condition is for somebody who takes part, and whom the selected buyer may know', async (trial) => {
  const { as, past, put, person } = trial;
  const on = await dealOf(trial);
  const adding = (who: string | null) =>
    `insert into closing_conditions (deal_id, name, owner_user_id)
      values ('${on.deal}', 'N', ${literal(who === null ? null : person(who))})`;
  assert.equal(await as('broker', adding(null)), 'done');
  for (const who of ['outsider', 'removed']) assert.equal(await as('broker', adding(who)), 'owner_takes_no_part');
  assert.equal(await as('broker', adding('viewer')), 'owner_is_viewer');
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
  assert.equal(
    await as('broker', `update closing_conditions set name = 'M', owner_user_id = owner_user_id where id = '${id}'`),
    'done',
  );
  const own = (value: string) => `update closing_conditions set owner_user_id = ${value} where id = '${id}'`;
  assert.equal(await past(null, `update participants set status = 'removed' where id = '${on.viewer}'`), 'done');
  assert.equal(await as('broker', own('owner_user_id')), 'done');
  assert.equal(await as('broker', own(`'${person('outsider')}'`)), 'owner_takes_no_part');
});

check('a question is moved by whoever has the next word, and no more once it is closed', async (trial) => {
  const { past, put, person, value } = trial;
  const on = await dealOf(trial);
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
  for (const who of ['seller', 'exclusive buyer'])
    assert.equal(await move(who, first, `status = 'with_seller'`), 'broker_only', who);
  assert.equal(await move('seller', first, `status = 'answered'`), 'answer_missing');
  await put('question_answers', { question_id: first, deal_id: on.deal, answer_text: 'So.' });
  assert.equal(await move('broker', first, `status = 'answered'`), 'seller_only');
  assert.equal(await move('seller', first, `status = 'answered'`), 'done');
  for (const who of ['broker', 'exclusive buyer'])
    assert.equal(await move(who, first, `status = 'answered'`), 'seller_only', who);
  assert.equal(await move('broker', first, `status = 'distributed'`), 'response_missing');
  assert.equal(await move('broker', first, `status = 'distributed', distributed_response = 'So.'`), 'done');
  assert.equal(await value(`select distributed_at = app.now() from questions where id = '${first}'`), true);
  assert.equal(await move('broker', first, `distributed_response = 'Else.'`), 'question_closed');
  assert.equal(await move(null, first, `distributed_response = 'Else.'`), 'done');
  const second = await ask('pending_broker_review');
  assert.equal(await move('exclusive buyer', second, `status = 'withdrawn'`), 'done');
  const third = await ask('pending_broker_review');
  const suspend = (at: string) => past(null, `update users set suspended_at = ${at} where id = '${person('seller')}'`);
  await suspend('app.now()');
  assert.equal(await move('broker', third, `status = 'with_seller'`), 'no_seller', 'suspended');
  await suspend('null');
  for (const status of ['removed', 'invited']) {
    await past(null, `update participants set status = '${status}' where id = '${on.seller}'`);
    assert.equal(await move('broker', third, `status = 'with_seller'`), 'no_seller', status);
  }
  assert.equal(await move('broker', third, `status = 'rejected'`), 'done');
  const joins = (id: string) => past(null, `update participants set status = 'active' where id = '${id}'`);
  await joins(on.seller);
  const fourth = await ask('with_seller');
  for (const who of ['broker', 'seller', 'exclusive buyer'])
    assert.equal(await move(who, fourth, `status = 'pending_broker_review'`), 'seller_answers', who);
});

check('questions that wait for the seller come back with the last seller who leaves', async (trial) => {
  const { past, value, put, person } = trial;
  const on = await dealOf(trial);
  const elsewhere = await dealOf(trial);
  const ask = (of: typeof on, status: string) =>
    put('questions', {
      deal_id: of.deal,
      category: 'tax',
      question_text: 'Why?',
      asked_by: person('exclusive buyer'),
      participant_id: of.buyer,
      status,
    });
  const waits = await ask(on, 'with_seller');
  const others = { [await ask(on, 'answered')]: 'answered', [await ask(elsewhere, 'with_seller')]: 'with_seller' };
  const status = (id: string) => value(`select status from questions where id = '${id}'`);
  const leaves = (id: string) => past('broker', `update participants set status = 'removed' where id = '${id}'`);
  const second = await on.joins('outsider', 'seller', 'active');
  await leaves(on.viewer);
  await leaves(on.seller);
  assert.equal(await status(waits), 'with_seller', 'another seller is left');
  await past(null, `update users set suspended_at = app.now() where id = '${person('outsider')}'`);
  assert.equal(await status(waits), 'with_seller', 'suspended');
  await leaves(second);
  assert.equal(await status(waits), 'pending_broker_review');
  for (const [id, is] of Object.entries(others)) assert.equal(await status(id), is);
  assert.equal(
    await value(`select count(*)::int from vault.events where kind = 'question_returned' and subject_id = '${waits}'`),
    1,
  );

  const closed = await dealOf(trial);
  const kept = await ask(closed, 'with_seller');
  await past(null, moving(closed.deal, 'withdrawn'));
  await leaves(closed.seller);
  assert.equal(await status(kept), 'pending_broker_review', 'withdrawn');
  assert.equal(await value(`select count(*)::int from vault.events where subject_id = '${kept}'`), 0);
});

check('a question is asked in the name of who asks, under an NDA, of a deal that somebody runs', async (trial) => {
  const { past, value, put, person } = trial;
  const asked = (deal: string, by = 'null') => `insert into questions (deal_id, category, question_text, asked_by)
    values ('${deal}', 'tax', 'Why?', ${by})`;
  const on = await dealOf(trial);
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
  const alone = await dealOf(trial);
  await put('ndas', nda(alone, alone.buyer));
  await past(null, `update participants set status = 'removed' where id = '${alone.broker}'`);
  assert.equal(await past('exclusive buyer', asked(alone.deal)), 'no_broker_review');
});

check('an offer is of the buyer who sends it, and each of theirs has its number', async (trial) => {
  const { as, past, value, put, person } = trial;
  const on = await dealOf(trial);
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
  // Somebody who takes no part in the deal does not learn its state.
  assert.equal(await as('outsider', `insert into offers (deal_id, payload) values ($1, '{}')`, on.deal), '42501');
});

check('an offer that was revised since or has expired is not accepted, the latest is', async (trial) => {
  const { as, past, put, person, value } = trial;
  const on = await dealOf(trial);
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
  const until = (days: number) =>
    past(
      null,
      `update offers set payload = jsonb_build_object('expires_at', to_char(app.now() + ${days} * interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SSOF'))
        where id = '${latest}'`,
    );
  assert.equal(await until(-1), 'done');
  assert.equal(await accept(latest), 'offer_expired');
  assert.equal(await until(1), 'done');
  assert.equal(await accept(latest), 'done');
  assert.equal(await value(`select decision from offer_decisions where offer_id = '${latest}'`), 'accepted');
});

check(
  'an NDA is sent by a broker to a buyer of the deal for whom none waits, and none is active for ever',
  async (trial) => {
    const { as, past, put, value, at } = trial;
    const on = await dealOf(trial);
    const other = await dealOf(trial);
    const sending = (part: string, expires = 'null') =>
      `insert into ndas (deal_id, participant_id, terms, expires_at) values ('${on.deal}', '${part}', 'T', ${expires})`;
    for (const part of [other.buyer, on.viewer, on.gone])
      assert.equal(await as('broker', sending(part)), 'not_a_buyer');
    assert.equal(await as('seller', sending(on.viewer)), '42501');
    assert.equal(await as('broker', sending(on.buyer, `app.now() - interval '1 day'`)), 'expires_in_the_past');
    await put('ndas', nda(on, on.buyer, { status: 'revoked' }));
    await put('ndas', nda(on, on.buyer, { expires_at: '2020-02-01' }));
    assert.equal(await as('broker', sending(on.buyer)), 'done');
    assert.equal(await as('broker', sending(on.buyer)), 'nda_there_already');
    const lasting = await put('ndas', nda(on, on.otherBuyer, { expires_at: '2999-01-01' }));
    assert.equal(await as('broker', sending(on.otherBuyer)), 'done');
    assert.equal(await as('broker', sending(on.otherBuyer)), 'nda_there_already');
    await past(
      null,
      `update ndas set status = 'revoked' where participant_id = '${on.otherBuyer}' and status = 'sent'`,
    );
    await past(null, `update ndas set expires_at = null where id = '${lasting}'`);
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
  },
);

check('an NDA that is signed replaces the one in force, and nothing closes in between', async (trial) => {
  const { as, past, put, value, at } = trial;
  const on = await dealOf(trial);
  const inForce = await put('ndas', nda(on, on.buyer, { expires_at: '2999-01-01' }));
  const ofOther = await put('ndas', nda(on, on.otherBuyer));
  const letIn = (part: string) =>
    past(null, `insert into qoe_workspace_members (deal_id, participant_id) values ('${on.deal}', '${part}')`);
  await letIn(on.buyer);
  const places = () => value(`select count(*)::int from qoe_workspace_members where participant_id = '${on.buyer}'`);
  const sends = (expires: string) =>
    as(
      'broker',
      `insert into ndas (deal_id, participant_id, terms, expires_at) values ('${on.deal}', '${on.buyer}', 'T', ${expires})`,
    );
  const sign = () =>
    as(
      'exclusive buyer',
      `select from ndas where participant_id = '${on.buyer}' and status = 'sent' and app.sign_nda(id, 'B', null)`,
    );
  const standing = (id: string) =>
    value(`select jsonb_build_array(status, replaced_at = app.now()) from ndas where id = '${id}'`);
  assert.equal(await sends(`app.now() + interval '1 day'`), 'done');
  assert.deepEqual(await standing(inForce), ['active', null]);
  assert.equal(await sign(), 'done');
  assert.deepEqual(await standing(inForce), ['expired', true]);
  assert.deepEqual(await standing(ofOther), ['active', null]);
  assert.equal(await places(), 1);

  // One that has ended before is not replaced: the places ended with it, also where that was not noted yet.
  assert.equal(await sends('null'), 'done');
  const next = await value(`select id from ndas where participant_id = '${on.buyer}' and status = 'active'`);
  await at(2);
  assert.equal(await sign(), 'done');
  assert.deepEqual(await standing(String(next)), ['expired', null]);
  assert.equal(await places(), 0);
});

check('the workspace takes in buyers under an NDA and others of the deal, and lets go who leaves', async (trial) => {
  const { as, past, put, value } = trial;
  const on = await dealOf(trial);
  const other = await dealOf(trial);
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

check('a document that has come ends the notice of its own upload', async (trial) => {
  const { put, value } = trial;
  const on = await dealOf(trial);
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

check('a person, a deal and a finding take only so many records; loading takes more', async (trial) => {
  const { as, past, put, person } = trial;
  const on = await dealOf(trial);
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
  const strangers = `insert into users (email, name) select 'room-' || generate_series || '@example.test', 'N'`;
  assert.equal(await past(null, many(strangers, 2000)), 'done');
  const people = `insert into participants (deal_id, user_id, role) select '${on.deal}', id, 'viewer' from users where email like 'room-%'`;
  assert.equal(await past(null, people), 'done');
  const invite = (deal: string) =>
    `select app.invite_to_deal('${deal}', 'one-more@example.test', 'One more', 'viewer', null)`;
  assert.equal(await as('broker', invite(on.deal)), 'deal_full');
  const said = 'A deal can have at most 2,000 people at a time: remove somebody first.';
  const compared = `do $$ begin ${invite(on.deal).replace('select', 'perform')};
    exception when others then if sqlerrm <> '${said}' then raise; end if; end $$`;
  assert.equal(await as('broker', compared), 'nothing');
  // People on the deal can be invited anew, and brokers always find room: a full deal can be handed over.
  assert.equal(await as('broker', invite(on.deal).replace('one-more@', 'room-1@')), 'done');
  assert.equal(await as('broker', invite(on.deal).replace(`'viewer'`, `'broker'`)), 'done');
  // Removed participants take no room.
  assert.equal(
    await past(
      null,
      `update participants set status = 'removed' where deal_id = '${on.deal}' and invited_name is null and role = 'viewer'`,
    ),
    'done',
  );
  assert.equal(await as('broker', invite(on.deal)), 'done');
  const add = `insert into findings (deal_id, participant_id, category, title, severity, created_by)
    select '${on.deal}', '${on.broker}', 'tax', 'T', 'minor', '${person('broker')}'`;
  assert.equal(await past(null, many(add, 200)), 'done');
  assert.equal(await past('broker', add), 'too_many_today');
  assert.equal(await past('seller', add.replace(person('broker'), person('seller'))), 'done');
});

const answer = (deal: string, contradiction = 'a') =>
  `insert into contradiction_answers (deal_id, contradiction, figures, status, why)
    values ('${deal}', repeat('${contradiction}', 32), repeat('1', 32), 'explained', 'So.')`;

check('an answer to a contradiction says whose it is, and another answer is not released with it', async (trial) => {
  const { as, past, value, person, at } = trial;
  const on = await dealOf(trial);
  assert.equal(await as('broker', answer(on.deal)), 'done');
  const set = (what: string) => `update contradiction_answers set ${what} where deal_id = '${on.deal}'`;
  const told = () =>
    value(`select jsonb_build_array(answered_by, answered_at = app.now(), released_by, released_at = app.now())
      from contradiction_answers where deal_id = '${on.deal}'`);
  assert.deepEqual(await told(), [person('broker'), true, null, null]);
  await at(1);
  assert.equal(await past('broker', set(`released_at = '2020-01-01', released_by = '${person('seller')}'`)), 'done');
  assert.deepEqual(await told(), [person('broker'), false, person('broker'), true]);
  await at(2);
  // Releasing an answer again keeps its first release, and saying the same again changes nothing.
  assert.equal(await past('colleague', set(`released_at = app.now(), why = why`)), 'done');
  assert.deepEqual(await told(), [person('broker'), false, person('broker'), false]);
  for (const [column, value_] of [
    ['why', 'Otherwise.'],
    ['status', 'to_correct'],
    ['figures', '2'.repeat(32)],
  ]) {
    assert.equal(await past('broker', set(`released_at = app.now()`)), 'done');
    assert.equal(await past('colleague', set(`${column} = '${value_}'`)), 'done');
    assert.deepEqual(await told(), [person('colleague'), true, null, null], column);
  }
  assert.equal(await past('broker', set(`released_at = app.now()`)), 'done');
  assert.equal(await past('broker', set(`released_at = null`)), 'done');
  assert.deepEqual(await told(), [person('colleague'), true, null, null]);
});

check('a deal has room for so many answers to contradictions, and a closed one for none', async (trial) => {
  const { as, past } = trial;
  const on = await dealOf(trial);
  const many = `insert into contradiction_answers (deal_id, contradiction, figures, status, why)
    select '${on.deal}', lpad(to_hex(n), 32, '0'), repeat('1', 32), 'explained', 'So.' from generate_series(1, 500) n`;
  assert.equal(await past(null, many), 'done');
  assert.equal(await as('broker', answer(on.deal)), 'deal_full');
  assert.equal(
    await as('broker', `delete from contradiction_answers where contradiction = lpad('1', 32, '0')`),
    'done',
  );
  assert.equal(await as('broker', answer(on.deal)), 'done');
  assert.equal(await as('broker', answer(on.deal)), 'deal_full');
  const closed = await dealOf(trial, { state: 'closed' });
  assert.equal(await as('broker', answer(closed.deal)), 'deal_closed');
});

recordsChecks.push({
  title:
    'open pages are told of an answer to a contradiction, and of one that is released no more whoever could read it',
  async run({ owner, scene }) {
    const record = scene.records['contradiction_answers/an answer, not released'];
    const where = `where id = '${record}'`;
    const removal = [
      `create temporary table kept as select * from contradiction_answers ${where}`,
      `delete from contradiction_answers ${where}`,
    ];
    const back = ['insert into contradiction_answers select * from kept', 'drop table kept'];
    const told: unknown[] = [];
    const hear = ({ payload = '' }: pg.Notification) => void told.push(JSON.parse(payload));
    const after = async (...statements: string[]) => {
      told.length = 0;
      for (const text of statements) await owner.query(text);
      return [...told];
    };
    const change = (table: string, gone: boolean) => ({ topic: 'qoe', table, record, deal_id: scene.deal, gone });
    const [there, gone, unreleased] = [
      change('contradiction_answers', false),
      change('contradiction_answers', true),
      change('released_answers', true),
    ];
    const release = `update contradiction_answers set released_at = now() ${where}`;
    owner.on('notification', hear);
    try {
      await owner.query('listen dealkeep_changes');
      assert.deepEqual(await after(`update contradiction_answers set why = 'Because.' ${where}`), [there]);
      assert.deepEqual(await after(release), [there]);
      assert.deepEqual(await after(`update contradiction_answers set released_at = null ${where}`), [unreleased]);
      assert.deepEqual(await after(...removal, ...back), [gone, there]);
      assert.deepEqual(await after(release, ...removal, ...back), [there, unreleased, there]);
      assert.deepEqual(await after(`update contradiction_answers set why = 'Else.' ${where}`), [unreleased]);
      const ofBrokerage = await after(
        `set dealkeep.deleting = 'on'`,
        ...removal,
        `set dealkeep.deleting = ''`,
        ...back,
      );
      assert.deepEqual(ofBrokerage, [there]);
    } finally {
      await owner.query('unlisten dealkeep_changes');
      owner.off('notification', hear);
    }
  },
});

check('a finding is of the side of who records it, in whose history each change of status is', async (trial) => {
  const { as, past, put, value } = trial;
  await dealOf(trial);
  const on = await dealOf(trial, { state: 'listed', currency: 'SEK' });
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

check('what is completed says since when', async (trial) => {
  const { past, put, value, at } = trial;
  const on = await dealOf(trial);
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

recordsChecks.push({
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

check('an upload takes rows until it has ended', async (trial) => {
  const { as, put } = trial;
  const { deal } = await dealOf(trial);
  const upload = (of: string, status: string) =>
    put('accounting_snapshots', { deal_id: of, snapshot_type: 'full', status });
  const adding = (to: string, of = deal) => [
    `insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
      values ('${of}', '${to}', 'Diner', '2026-02-01', '2026-02-28', 'USD', 10)`,
    `insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue)
      values ('${of}', '${to}', '2026-02', '2026-02-01', '2026-02-28', 'USD', 10)`,
  ];
  for (const [status, outcome] of Object.entries({
    requested: 'done',
    processing: 'done',
    completed: '42501',
    failed: '42501',
  })) {
    const id = await upload(deal, status);
    for (const text of adding(id)) assert.equal(await as('seller', text), outcome, status);
  }
  const other = await put('deals', { organization_id: trial.brokerage, title: 'Dairy', state: 'listed' });
  const id = await upload(other, 'processing');
  for (const text of adding(id, other)) assert.equal(await as('seller', text), '42501');
  // A foreign key: an upload belongs to the deal of its rows.
  for (const text of adding(id)) assert.equal(await as('seller', text), '23503');
});
