/** The triggers on people: invitations, clients, memberships, and what ends with them. */

import assert from 'node:assert/strict';
import type { Check } from './scene.ts';
import { checkInto, dealOf, literal, type Trial } from './trial.ts';

export const peopleChecks: Check[] = [];
const check = checkInto(peopleChecks);

check('an invitation is accepted by whoever it is for, and what was typed is kept until then', async (trial) => {
  const { put, person, past, value, at } = trial;
  const on = await dealOf(trial);
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

check('an advisor advises nobody who advises, and is advised by nobody', async (trial) => {
  const { past } = trial;
  const on = await dealOf(trial);
  const elsewhere = await dealOf(trial);
  const advisor = await on.joins("broker's advisor", 'advisor', 'active', { advises: on.broker });
  const far = await elsewhere.joins("broker's advisor", 'advisor', 'active', { advises: elsewhere.broker });
  const join = (advises: string) =>
    past(
      null,
      `insert into participants (deal_id, user_id, role, status, advises)
        values ('${on.deal}', '${trial.person('outsider')}', 'advisor', 'active', '${advises}')`,
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

check(
  'advisors leave with whom they advise, also where these get another role, and nobody else does',
  async (trial) => {
    const { as, past, value, person } = trial;
    const on = await dealOf(trial);
    const elsewhere = await dealOf(trial);
    const asked = await on.joins('coast broker', 'buyer', 'invited');
    const advisors = {
      active: await on.joins('outsider', 'advisor', 'active', { advises: on.buyer }),
      invited: await on.joins('invited', 'advisor', 'invited', { advises: on.buyer }),
      left: await on.joins('colleague', 'advisor', 'removed', { advises: on.buyer }),
      other: await on.joins("other buyer's advisor", 'advisor', 'active', { advises: on.otherBuyer }),
      elsewhere: await elsewhere.joins('outsider', 'advisor', 'active', { advises: elsewhere.buyer }),
      'of who is asked': await on.joins('coast admin', 'advisor', 'active', { advises: asked }),
    };
    const statuses = async () => {
      const found: Record<string, unknown> = {};
      // One after the other: the queries share a connection.
      for (const [name, id] of Object.entries(advisors))
        found[name] = await value(`select status from participants where id = '${id}'`);
      return found;
    };
    /** Who removed the participant, according to the audit trail. */
    const by = (id: string) =>
      value(
        `select coalesce(jsonb_agg(user_id), '[]') from audit_records where action = 'participant.remove' and subject_id = '${id}'`,
      );
    const set = (what: string, id: string) => `update participants set ${what} where id = '${id}'`;
    const before = {
      active: 'active',
      invited: 'invited',
      left: 'removed',
      other: 'active',
      elsewhere: 'active',
      'of who is asked': 'active',
    };
    assert.equal(await past('broker', set('status = status', on.buyer)), 'done');
    assert.equal(await past(null, set(`role = role`, on.buyer)), 'done');
    assert.deepEqual(await statuses(), before);
    assert.equal(await past('broker', set(`status = 'removed'`, on.buyer)), 'done');
    assert.deepEqual(await statuses(), { ...before, active: 'removed', invited: 'removed' });
    assert.deepEqual(await by(advisors.active), [person('broker')]);
    assert.deepEqual(await by(advisors.invited), [person('broker')]);
    assert.deepEqual(await by(advisors.left), []);
    const advises = (status: string) =>
      past(
        null,
        `insert into participants (deal_id, user_id, role, status, advises)
          values ('${on.deal}', '${person('admin')}', 'advisor', '${status}', '${on.buyer}')`,
      );
    assert.equal(await advises('invited'), 'advised_removed');
    assert.equal(await past(null, set(`status = 'invited'`, on.buyer)), 'done');
    assert.equal(await past('exclusive buyer', set(`status = 'active'`, on.buyer)), 'done');
    assert.deepEqual(await statuses(), { ...before, active: 'removed', invited: 'removed' });
    assert.equal(await past(null, set(`role = 'viewer'`, on.otherBuyer)), 'done');
    assert.deepEqual(await statuses(), { ...before, active: 'removed', invited: 'removed', other: 'removed' });
    // Somebody who declines removes nobody, so the audit record of the advisor's removal does not name them to the
    // deal's people.
    assert.equal(await as('coast broker', 'select app.answer_deal_invitation($1, false, null, null)', asked), 'done');
    assert.equal((await statuses())['of who is asked'], 'removed');
    assert.deepEqual(await by(advisors['of who is asked']), [null]);
  },
);

check('somebody has at most 50 clients', async (trial) => {
  const { past } = trial;
  const add = (
    n: number,
    deleted: string,
  ) => `insert into connected_clients (created_by, name, redirect_uris, deleted_at)
    select '${trial.person('outsider')}', 'C' || n, '{https://client.example/x}', ${deleted} from generate_series(1, ${n}) n`;
  assert.equal(await past(null, add(5, 'app.now()')), 'done');
  assert.equal(await past(null, add(50, 'null')), 'done');
  assert.equal(await past(null, add(1, 'null')), 'too_many_clients');
});

check(
  'mails to an address that somebody names are counted for the person, the brokerage and the address',
  async (trial) => {
    const { past, value, person, brokerage } = trial;
    const counts = (subject: string) =>
      value(`select coalesce(sum(sent), 0) from vault.mail_counts where subject = 'day ${subject}'`);
    const on = await dealOf(trial);
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
    assert.equal(await counts('change to another@example.test'), 1);
  },
);

/** A client of one person, shared with the coast brokerage, with a tool grant of each of three people. */
async function givenClient({ put, person, ids }: Trial, more: Record<string, unknown> = {}) {
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
  async (trial) => {
    const { past, value, person, ids } = trial;
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
      const client = await givenClient(trial, more);
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
  async (trial) => {
    const { past, person, ids } = trial;
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
    const client = await givenClient(trial);
    const change = (what: string) => past('coast admin', `update connected_clients set ${what} where id = '${client}'`);
    assert.equal(await change(`redirect_uris = '{https://client.example/z}'`), asked);
    assert.equal(await change(`brokerage_id = '${trial.brokerage}'`), asked);
    assert.equal(await change('brokerage_id = brokerage_id'), 'done');
  },
);

check('a brokerage keeps an active admin', async (trial) => {
  const { past, person, ids, put } = trial;
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

check('with a membership end the parts, tool grants and opt-ins that came with it, and no others', async (trial) => {
  const { past, put, person, brokerage, ids, value } = trial;
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

check('who leaves a deal takes along their own opt-in alone', async (trial) => {
  const { past, put, person, value } = trial;
  const on = await dealOf(trial);
  for (const who of ['broker', 'viewer']) await put('deal_opt_ins', { deal_id: on.deal, user_id: person(who) });
  await past(null, `update participants set status = 'removed' where id = '${on.viewer}'`);
  assert.deepEqual(await value(`select array_agg(user_id) from deal_opt_ins where deal_id = '${on.deal}'`), [
    person('broker'),
  ]);
});

check('who is suspended is signed out, and so are the clients that they use', async (trial) => {
  const { past, put, person, value } = trial;
  const client_id = await givenClient(trial);
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

check('the link to a calendar ends with the suspension of its person, and with nothing else', async (trial) => {
  const { put, past, value, person } = trial;
  const user_id = person('outsider');
  await put('vault.calendar_links', { user_id, digest: `\\x${'cd'.repeat(32)}` });
  const links = () => value(`select count(*) from vault.calendar_links where user_id = '${user_id}'`);
  assert.equal(
    await past(null, `update users set name = 'Renamed', suspended_at = null where id = '${user_id}'`),
    'done',
  );
  assert.equal(Number(await links()), 1);
  assert.equal(await past(null, `update users set suspended_at = app.now() where id = '${user_id}'`), 'done');
  assert.equal(Number(await links()), 0);
});

check('of somebody who is erased no row says whom they reminded, or who reminded them', async (trial) => {
  const { past, value, person } = trial;
  const on = await dealOf(trial);
  const rows = () => value(`select count(*) from vault.sent_reminders where deal_id = '${on.deal}'`);
  const send = (to: string, by: string) =>
    past(
      null,
      `insert into vault.sent_reminders (subject, subject_id, recipient_id, deal_id, sent_by)
       values ('ndas', gen_random_uuid(), '${person(to)}', '${on.deal}', '${person(by)}')`,
    );
  assert.equal(await send('outsider', 'broker'), 'done');
  assert.equal(await send('seller', 'outsider'), 'done');
  assert.equal(await send('seller', 'broker'), 'done');
  assert.equal(await past(null, `update users set erased_at = null where id = '${person('outsider')}'`), 'done');
  assert.equal(Number(await rows()), 3);
  assert.equal(await past(null, `update users set erased_at = app.now() where id = '${person('outsider')}'`), 'done');
  assert.equal(Number(await rows()), 1);
});

check('when somebody looked at a deal is forgotten when they are off it, or erased', async (trial) => {
  const { past, value, person } = trial;
  const on = await dealOf(trial);
  const other = await dealOf(trial);
  const look = (who: string, deal: string) =>
    past(null, `insert into vault.visits (user_id, deal_id, tab) values ('${person(who)}', '${deal}', 'documents')`);
  const rows = () => value(`select count(*) from vault.visits where deal_id in ('${on.deal}', '${other.deal}')`);
  const [viewer] = [String(await value(`select user_id from participants where id = '${on.viewer}'`))];
  for (const deal of [on.deal, other.deal])
    for (const who of [viewer, 'outsider']) assert.equal(await look(who, deal), 'done');
  assert.equal(await past(null, `update participants set status = 'removed' where id = '${on.viewer}'`), 'done');
  assert.equal(Number(await rows()), 3);
  assert.equal(await past(null, `update users set erased_at = null where id = '${person('outsider')}'`), 'done');
  assert.equal(Number(await rows()), 3);
  assert.equal(await past(null, `update users set erased_at = app.now() where id = '${person('outsider')}'`), 'done');
  assert.equal(Number(await rows()), 1);
});

check('somebody of a sandbox takes part there and nowhere else, and nobody else does', async (trial) => {
  const { past, value, person } = trial;
  const on = await dealOf(trial);
  const brokerage = await value(`select organization_id from deals where id = '${on.deal}'`);
  assert.equal(
    await past(
      null,
      `insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
        values ('${String(brokerage)}', 'Trial', 'test', '{contacts:read}', '1111', '${person('admin')}')`,
    ),
    'done',
  );
  const sandbox = String(await value(`select id from brokerages where sandbox_of = '${String(brokerage)}'`));
  const there = String(await value(`select id from deals where organization_id = '${sandbox}' and state = 'draft'`));
  const fictive = String(
    await value(
      `select id from users where sandbox_id = '${sandbox}' and id not in (select user_id from participants where deal_id = '${there}') limit 1`,
    ),
  );
  const joins = (deal: string, who: string) =>
    past(null, `insert into participants (deal_id, user_id, role) values ('${deal}', '${who}', 'viewer')`);
  const isMember = (of: string, who: string) =>
    past(null, `insert into members (brokerage_id, user_id, role) values ('${of}', '${who}', 'staff')`);
  assert.equal(await joins(on.deal, fictive), 'address_not_taken');
  assert.equal(await joins(there, person('outsider')), 'address_not_taken');
  assert.equal(await isMember(String(brokerage), fictive), 'address_not_taken');
  assert.equal(await isMember(sandbox, person('outsider')), 'address_not_taken');
  assert.equal(
    await past(null, `update participants set user_id = '${fictive}' where id = '${on.viewer}'`),
    'address_not_taken',
  );
  assert.equal(await joins(there, fictive), 'done');
  // Fictive people cannot be let in or notified, and nobody can take their addresses.
  assert.equal(await past(null, `update users set suspended_at = null where id = '${fictive}'`), '23514');
  assert.equal(await past(null, `update users set email = 'fictive@example.test' where id = '${fictive}'`), '23514');
  assert.equal(
    await past(null, `insert into users (email, name) values ('somebody@anything.sandbox.invalid', 'Somebody')`),
    '23514',
  );
});

check('what was typed about somebody in a sandbox goes when they are erased', async (trial) => {
  const { past, value, person } = trial;
  const on = await dealOf(trial);
  const brokerage = String(await value(`select organization_id from deals where id = '${on.deal}'`));
  await past(
    null,
    `insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
      values ('${brokerage}', 'Trial', 'test', '{contacts:read}', '1111', '${person('admin')}')`,
  );
  const sandbox = String(await value(`select id from brokerages where sandbox_of = '${brokerage}'`));
  const email = String(await value(`select email from users where id = '${person('outsider')}'`));
  const address = `app.sandbox_address('${sandbox}', md5('${email}'))`;
  await past(
    null,
    `insert into users (email, name, sandbox_id, suspended_at) values (${address}, 'Typed', '${sandbox}', now())`,
  );
  await past(
    null,
    `insert into participants (deal_id, user_id, role, invited_name, invited_email)
      select d.id, u.id, 'viewer', 'Typed', '${email}' from deals d, users u
      where d.organization_id = '${sandbox}' and d.state = 'draft' and u.email = ${address}`,
  );
  const fictive = String(await value(`select id from users where email = ${address}`));
  const typed = () =>
    value(`select p.invited_name || ' ' || u.name || ' ' || (p.invited_email = '${email}') || ' ' || (u.email = ${address})
      from participants p join users u on u.id = p.user_id where u.id = '${fictive}'`);
  assert.equal(await typed(), 'Typed Typed true true');
  await value(`select app.erase_person('${person('outsider')}', 'operator', null)`);
  assert.equal(await typed(), 'Former participant Former participant false false');
});
