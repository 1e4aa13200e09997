/**
 * `dealkeep people` and `dealkeep hold`: the export of a person's data, what is left of them after erasure, and what
 * prevents it.
 */

import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { deleteUnusedBodies } from '../../server/documents/deletion.ts';
import { newPassword, openAccount, signedInVisitor, Visitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import { addBrokerage, addClient, addPerson, connect } from '../oauth/scene.ts';
import { signInAs } from '../web/person.ts';
import { cleanUp, run } from './program.ts';
import { answeredAbout } from './answered.ts';
import { deliverToFiles, fileMailer, mailFiles, readers } from './mail-files.ts';
import { tablesWith } from './tables-with.ts';

let service: TestService;
let env: Record<string, string>;

beforeAll(async () => {
  service = await openService({ demo: true, config: { smtpUrl: 'smtp://127.0.0.1:1' } });
  const { owner, server } = service.connections;
  env = { DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner), DATA_DIR: service.config.dataDir };
});
afterAll(async () => {
  await cleanUp();
  await service?.close();
});

const name = 'Zebulon Quackenbush-Öhr';
const email = 'zebulon.quackenbush@people.example';
const documentUrl = 'https://assistant.example/oauth/client.json';

/**
 * Prepares the demo's buyer with the most records on deals (a signed NDA, offers, questions) and an account in full
 * use.
 */
async function aBuyerInFullUse() {
  const [buyer] = await service.sql<{ id: string; participation: string; deal: string; brokerage: string }>(
    `select p.user_id as id, p.id as participation, p.deal_id as deal, d.organization_id as brokerage
     from participants p join deals d on d.id = p.deal_id join ndas n on n.participant_id = p.id and n.status = 'active'
     join offers o on o.participant_id = p.id join questions q on q.asked_by = p.user_id
     join brokerages b on b.id = d.organization_id and b.sandbox_of is null
     where p.role = 'buyer' and p.status = 'active' order by p.id limit 1`,
  );
  if (!buyer) throw new Error('the demo has no such buyer');
  const { id, participation, deal, brokerage } = buyer;
  await service.sql('update users set name = $2, email = $3 where id = $1', [id, name, email]);
  await service.sql('update participants set invited_name = $2, invited_email = $3 where id = $1', [
    participation,
    name,
    email,
  ]);
  await service.sql(`update ndas set signed_name = $2, signed_address = '198.51.100.7' where participant_id = $1`, [
    participation,
    name,
  ]);
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email, phone, external_id) values ($1, 'person', $2, $3, '+1 555 0100', $4)`,
    [brokerage, name, email.replace('zeb', 'Zeb'), email],
  );
  const password = newPassword();
  await service.sql(
    `insert into vault.passwords (user_id, phc, address_proven_at) values ($1, $2, app.now())
     on conflict (user_id) do update set phc = excluded.phc`,
    [id, await hashPassword(password, service.config.passwordParameters)],
  );
  await service.sql(`delete from vault.totp where user_id = $1`, [id]);
  const account = { id, email, name, password };
  const browser = new Visitor(service.origin);
  expect((await browser.signIn(account)).status).toBe(200);
  const session = browser.cookies.get('dealkeep') ?? '';
  const person = { ...account, session, cookie: `dealkeep=${session}` };
  const grant = await connect(service, person, await addClient(service, person, { name: `Claude of ${name}` }));
  await service.sql(
    `insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name) values ($1, 'c', '\\x00', 0, '{}', $2)`,
    [id, `${name}'s phone`],
  );
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'staff')`, [
    await addBrokerage(service),
    id,
  ]);
  const { digest, lastFour } = mintApiKey('live');
  await service.sql(`select app.issue_api_key($1, $2, 'a key', 'live', '{contacts:read}', null, null, $3, $4)`, [
    brokerage,
    id,
    digest,
    lastFour,
  ]);
  // Stored responses to requests with an Idempotency-Key.
  for (const answer of [{ userId: id, name }, { email }, { displayName: 'Somebody' }])
    await service.sql(
      `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, made_at, answer)
       select id, gen_random_uuid(), sha256(''), app.now(), $1 from api_keys where created_by = $2 order by id desc limit 1`,
      [JSON.stringify({ status: 201, body: answer }), id],
    );
  for (const recipient of [email, 'somebody@people.example'])
    await service.sql(
      `insert into vault.outbox (kind, recipient, recipient_id, caused_by, urgent, facts) values ('security_change', $1, $2, $3, false, $4)`,
      [recipient, recipient === email ? id : null, id, { name, what: 'passkey_added' }],
    );
  await service.sql(`select app.count_mail_to($1, null, $2, false)`, [id, email]);
  await service.sql(
    `insert into vault.notifications (event_id, user_id, kind, at) values (app.uuid_v7(), $1, 'invited', app.now())`,
    [id],
  );
  await service.sql(
    `insert into vault.sent_reminders (subject, subject_id, recipient_id, deal_id, sent_by) values ('ndas', gen_random_uuid(), $1, $2, $1)`,
    [id, deal],
  );
  await service.sql(`insert into vault.visits (user_id, deal_id, tab) values ($1, $2, 'documents')`, [id, deal]);
  await service.sql(`insert into vault.calendar_links (user_id, digest) values ($1, sha256('a link'))`, [id]);
  await service.sql(
    `insert into connected_clients (created_by, name, redirect_uris, metadata_url) values ($1, 'By a document', '{http://127.0.0.1/callback}', $2)`,
    [id, documentUrl],
  );
  return { ...person, browser, grant, deal, participation, brokerage };
}

test('an erased person leaves no trace in tables, log or mails, and their records stay pseudonymized', async () => {
  const buyer = await aBuyerInFullUse();
  const mailer = fileMailer(service.config);
  const mail = { to: 'other@people.example', subject: 'Hello', html: '<p>Hello</p>' };
  const rows = await service.sql<{ id: string }>('select id from vault.outbox where caused_by = $1', [buyer.id]);
  for (const { id } of rows) await mailer.send({ ...mail, messageId: `${id}@x`, text: 'A mail which they caused.' });
  await mailer.send({ ...mail, messageId: 'a@x', to: email, text: 'A mail that they got.' });
  // In the files of both mails the address is broken over two lines, or all is in base64.
  await mailer.send({ ...mail, messageId: 'b@x', text: `A mail with ${email}.\n`.repeat(9), html: email.padStart(99) });
  await mailer.send({ ...mail, messageId: 'c@x', text: `A mail with <${email}>, ${'日本語'.repeat(30)}` });
  // Mails in which others mention them are kept, and so are mails with another address that contains theirs.
  const kept = [`${name} joined.`, `Ask jo.${email}.`, `Ask ${email}.org.`, 'Nothing about anybody.'];
  for (const [place, text] of kept.entries()) await mailer.send({ ...mail, messageId: `kept-${place}@x`, text });
  const records = () =>
    service.sql(
      `select (select count(*) from offers where buyer_user_id = $1) as offers, (select count(*) from questions where asked_by = $1) as questions,
         (select count(*) from ndas where participant_id = $2) as ndas, (select count(*) from document_openings where user_id = $1) as openings`,
      [buyer.id, buyer.participation],
    );
  const before = await records();
  expect(await tablesWith(service, [name, email])).toEqual(
    expect.arrayContaining([
      'public.contacts',
      'public.connected_clients',
      'public.ndas',
      'public.participants',
      'public.users',
    ]),
  );

  const exported = await run(['people', 'export', email], env);
  expect(exported.code).toBe(0);
  const data = JSON.parse(exported.stdout) as Record<string, unknown[]>;
  expect(data['account']).toMatchObject({ id: buyer.id, email, name });
  expect(data['ndas']).toContainEqual(expect.objectContaining({ signed_name: name, signed_address: '198.51.100.7' }));
  for (const kind of [
    'sessions',
    'passkeys',
    'clients',
    'grants',
    'api_keys',
    'memberships',
    'participations',
    'offers',
  ])
    expect(data[kind], kind).not.toEqual([]);
  expect(data['clients']).toContainEqual(expect.objectContaining({ name: 'By a document', metadata_url: documentUrl }));
  for (const kind of ['questions', 'notifications', 'mails', 'audit_records']) expect(data[kind], kind).not.toEqual([]);
  expect(data['reminders']).toHaveLength(1);
  expect(data['visits']).toHaveLength(1);
  expect(data['calendar_link']).toMatchObject({ created_at: expect.any(String) });
  expect(exported.stdout).not.toMatch(/digest|argon2id|public_key/);

  const done = await run(['people', 'erase', email, '--json'], env);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  const { id, pseudonym } = JSON.parse(done.stdout) as { id: string; pseudonym: string };
  expect(id).toBe(buyer.id);
  expect(pseudonym).toMatch(/^Former participant [0-9A-F]{4}$/);

  expect(await tablesWith(service, [name, email, 'quackenbush', '198.51.100.7'])).toEqual([]);
  expect(rows.length).toBeGreaterThan(1);
  const left = (await mailFiles(service)).filter((content) => content.startsWith('To: '));
  expect(left.map((content) => content.split('\n').at(-1)).toSorted()).toEqual(kept.toSorted());
  expect(await mailFiles(service)).toHaveLength(2 * kept.length);
  expect(service.log.join('\n')).not.toMatch(/quackenbush/i);
  const gone = await service.sql(
    `select (select count(*)::int from vault.sessions where user_id = $1) + (select count(*)::int from vault.token_families where user_id = $1)
       + (select count(*)::int from vault.passwords where user_id = $1) + (select count(*)::int from vault.passkeys where user_id = $1)
       + (select count(*)::int from vault.calendar_links where user_id = $1)
       + (select count(*)::int from vault.visits where user_id = $1)
       + (select count(*)::int from vault.sent_reminders where recipient_id = $1 or sent_by = $1)
       + (select count(*)::int from audit_records where user_id = $1 and address is not null)
       + (select count(*)::int from api_keys where created_by = $1 and revoked_at is null) as count`,
    [id],
  );
  expect(gone).toEqual([{ count: 0 }]);
  expect((await buyer.browser.send('/api/web/me')).status).toBe(401);
  expect((await new Visitor(service.origin).signIn(buyer)).status).toBe(401);

  expect(await records()).toEqual(before);
  expect(
    await service.sql('select distinct signed_name from ndas where participant_id = $1', [buyer.participation]),
  ).toEqual([{ signed_name: pseudonym }]);
  expect(
    await service.sql('select name, status from participants p join users u on u.id = user_id where p.id = $1', [
      buyer.participation,
    ]),
  ).toEqual([{ name: pseudonym, status: 'removed' }]);
  const trail = await service.sql(
    `select brokerage_id, user_id, details from audit_records where action = 'person.erase' and subject_id = $1`,
    [id],
  );
  expect(trail.length).toBeGreaterThan(1);
  expect(trail).toContainEqual({ brokerage_id: buyer.brokerage, user_id: null, details: { by: 'operator' } });

  const again = await run(['people', 'erase', id, '--json'], env);
  expect(JSON.parse(again.stdout)).toEqual({ id, pseudonym });
  expect(await run(['people', 'erase', email], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Nobody has the e-mail address or id "${email}".`),
  });
});

test("the last admin, an open deal's only broker and people under a legal hold cannot be erased", async () => {
  const brokerage = await addBrokerage(service, 'Harbor & Pine');
  const admin = await addPerson(service, 'Ada Admin', { brokerage, role: 'admin' });
  const broker = await addPerson(service, 'Bo Broker', { brokerage });
  const [deal] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title) values ($1, 'The bakery') returning id`,
    [brokerage],
  );
  const join = (who: string) =>
    service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
      deal?.id,
      who,
    ]);
  await join(broker.id);

  const refused = async (who: string, words: string) => {
    const { code, stdout, stderr } = await run(['people', 'erase', who], env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
  };
  await refused(admin.email, 'They are the last admin of Harbor & Pine: make somebody else admin first.');
  await refused(
    broker.email,
    'They are the only broker of the brokerage on the open deal "The bakery": hand it over or close it first.',
  );
  const outsider = await addPerson(service, 'Ed Elsewhere');
  await join(outsider.id);
  await refused(broker.email, 'They are the only broker of the brokerage on the open deal "The bakery"');
  expect((await run(['people', 'erase', outsider.email], env)).code).toBe(0);
  await join(admin.id);

  const holds = [
    ['deal', deal?.id ?? '', 'The bakery'],
    ['brokerage', brokerage, 'Harbor & Pine'],
    ['person', broker.id, 'Bo Broker'],
  ] as const;
  for (const [kind, subject, title] of holds) {
    expect(await run(['hold', 'on', kind, subject, '--reference', 'matter 12'], env)).toMatchObject({ code: 0 });
    await refused(
      broker.email,
      `A legal hold on the ${kind} "${title}" stops this: when it has ended, dealkeep hold off ${kind} ${subject}.`,
    );
    expect((await run(['hold', 'list'], env)).stdout).toContain(`${subject}  matter 12`);
    expect(await run(['hold', 'off', kind, subject], env)).toMatchObject({ code: 0 });
  }
  expect(
    await service.sql(`select 1 from users where id = $1 and name = 'Bo Broker' and erased_at is null`, [broker.id]),
  ).toHaveLength(1);
  expect(
    await service.sql(
      `select action, details from audit_records where brokerage_id = $1 and subject_id = $2 and action like 'hold.%' order by id`,
      [brokerage, deal?.id],
    ),
  ).toEqual([
    { action: 'hold.place', details: { kind: 'deal', by: 'command line' } },
    { action: 'hold.lift', details: { kind: 'deal', by: 'command line' } },
  ]);
  expect((await run(['people', 'erase', broker.email], env)).code).toBe(0);
});

test('people export their data and erase themselves with a recent sign-in and their typed address', async () => {
  const brokerage = await addBrokerage(service, 'Elm & Ash');
  await addPerson(service, 'Eve Admin', { brokerage, role: 'admin' });
  const account = await openAccount(service, { email: 'ursula.vandermeer@people.example', name: 'Ursula Vandermeer' });
  const admin = await addPerson(service, 'Uno Admin');
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage,
    account.id,
  ]);
  await service.sql(`insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'staff', 'invited')`, [
    await addBrokerage(service, 'A brokerage that invited them'),
    account.id,
  ]);
  // A brokerage of which they are no admin any more, with a key that they made there.
  const left = await addBrokerage(service, 'A brokerage that they left');
  await addPerson(service, 'Lea Admin', { brokerage: left, role: 'admin' });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [left, account.id]);
  for (const of of [brokerage, left])
    await service.sql(
      `insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
       values ($1, 'Their key', 'live', '{contacts:read}', 'abcd', $2)`,
      [of, account.id],
    );
  const browser = await signedInVisitor(service, account);
  const post = (at: string, json: object) => browser.change(`/api${at}`, json);

  service.clock.advance(11 * 60_000);
  for (const [at, json] of [
    ['/auth/export', {}],
    ['/auth/erase', { confirmation: account.email }],
  ] as const)
    expect(await post(at, json)).toMatchObject({ body: { error: { code: 'recent_sign_in_required' } } });
  await browser.signIn(account);

  const data = await post('/auth/export', {});
  expect(data).toMatchObject({ status: 200, body: { account: { email: account.email, name: account.name } } });
  expect(data.body['memberships']).toEqual([
    expect.objectContaining({ brokerage: 'Elm & Ash', role: 'admin' }),
    expect.objectContaining({ brokerage: 'A brokerage that they left', role: 'broker' }),
  ]);
  expect(data.body['api_keys']).toEqual([
    expect.objectContaining({ brokerage_id: brokerage, name: 'Their key', last_four: 'abcd' }),
    { id: expect.any(String), brokerage_id: left, created_at: expect.any(String) },
  ]);
  expect(await post('/auth/erase', { confirmation: admin.email })).toMatchObject({ status: 400 });

  await service.sql(`insert into vault.legal_holds (kind, subject_id) values ('person', $1)`, [account.id]);
  expect(await post('/auth/erase', { confirmation: account.email })).toMatchObject({
    status: 409,
    body: { error: { code: 'legal_hold', message: expect.stringMatching(/^Your data must be kept for now/) } },
  });
  await service.sql(`delete from vault.legal_holds where subject_id = $1`, [account.id]);

  expect([...browser.cookies.keys()].toSorted()).toEqual(['dealkeep', 'dealkeep-device']);
  const erased = await post('/auth/erase', { confirmation: account.email.toUpperCase() });
  expect(erased).toMatchObject({
    status: 200,
    body: { pseudonym: expect.stringMatching(/^Former participant [0-9A-F]{4}$/) },
  });
  expect([...browser.cookies.keys()]).toEqual([]);
  expect(await tablesWith(service, [account.email, account.name])).toEqual([]);
  expect(service.log.join('\n')).not.toMatch(/vandermeer/i);
  // The id by which the operator erases them again after a restore.
  expect(service.log.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ level: 'info', msg: 'erased a person', person: account.id }),
  );
  expect((await browser.send('/api/web/me')).status).toBe(401);
  expect(
    await service.sql(
      `select user_id, address, details from audit_records where brokerage_id = $1 and action = 'person.erase'`,
      [brokerage],
    ),
  ).toEqual([{ user_id: account.id, address: null, details: { by: 'oneself' } }]);
});

test('somebody who is only a contact of brokerages is exported and erased by their address', async () => {
  const [one, other] = [await addBrokerage(service, 'Fir & Co'), await addBrokerage(service, 'Larch & Co')];
  const address = 'only.zyxcontact@people.example';
  const add = async (brokerage: string, type: string, named: string, mail: string | null, into: string | null = null) =>
    (
      await service.sql<{ id: string }>(
        `insert into contacts (brokerage_id, type, display_name, email, phone, external_id, merged_into, archived_at)
         values ($1, $2, $3, $4, '+1 555 0100', $5, $6::uuid, case when $6::uuid is not null then app.now() end) returning id`,
        [brokerage, type, named, mail, `crm-zyx-${named.length}`, into],
      )
    )[0]!.id;
  const person = await add(one, 'person', 'Only Zyxcontact', address.replace('only', 'Only'));
  const duplicate = await add(one, 'person', 'Zyxcontact, O.', null, person);
  const there = await add(other, 'person', 'O. Zyxcontact', address);
  const company = await add(other, 'company', 'A company', address);
  const { digest, lastFour } = mintApiKey('live');
  const admin = await addPerson(service, 'Fir Admin', { brokerage: one, role: 'admin' });
  await service.sql(`select app.issue_api_key($1, $2, 'a key', 'live', '{contacts:read}', null, null, $3, $4)`, [
    one,
    admin.id,
    digest,
    lastFour,
  ]);
  await service.sql(
    `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, made_at, answer)
     select id, 'once', sha256(''), app.now(), $1 from api_keys where brokerage_id = $2`,
    [JSON.stringify({ status: 200, body: { id: person, displayName: 'Only Zyxcontact' } }), one],
  );
  await answeredAbout(service, { id: one, admin: admin.id }, duplicate, 'I got Zyxcontact, O.');
  // Invited to a deal in a sandbox, where their address is made into one of somebody fictive.
  await service.sql(
    `with sandbox as (insert into brokerages (slug, name, sandbox_of, reset_at) values ($3, 'Fir & Co', $1, app.now()) returning id),
       deal as (insert into deals (organization_id, title) select id, 'Of a test' from sandbox returning id),
       fictive as (insert into users (email, name, sandbox_id, suspended_at)
         select app.sandbox_address(id, md5($2)), 'Zyx fictive', id, app.now() from sandbox returning id)
     insert into participants (deal_id, user_id, role, status, invited_name, invited_email)
     select deal.id, fictive.id, 'buyer', 'invited', 'Zyx typed', $2 from deal, fictive`,
    [one, address, `sandbox-${randomUUID()}`],
  );
  await fileMailer(service.config).send({
    messageId: 'about@x',
    to: 'somebody@people.example',
    subject: 'Hello',
    text: `Ask ${address}`,
    html: '',
  });

  const exported = await run(['people', 'export', address.toUpperCase()], env);
  expect(exported).toMatchObject({ code: 0, stderr: '' });
  const { contacts } = JSON.parse(exported.stdout) as { contacts: { id: string; brokerage: string }[] };
  expect(contacts.map(({ id }) => id)).toEqual([person, duplicate, there, company]);
  expect(contacts[0]).toMatchObject({ brokerage: 'Fir & Co', display_name: 'Only Zyxcontact', phone: '+1 555 0100' });

  await service.sql(`insert into vault.legal_holds (kind, subject_id) values ('brokerage', $1)`, [other]);
  expect(await run(['people', 'erase', address], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`dealkeep hold off brokerage ${other}`),
  });
  await service.sql('delete from vault.legal_holds where subject_id = $1', [other]);

  const erased = await run(['people', 'erase', address], env);
  expect(erased).toMatchObject({ code: 0, stdout: expect.stringContaining('Erased: 4 contacts (') });
  for (const id of [person, there, company]) expect(erased.stdout).toContain(id);
  // Long enough not to stand in a password's hash by chance.
  const words = ['zyxcontact', 'crm-zyx-', 'zyx fictive', 'zyx typed', createHash('md5').update(address).digest('hex')];
  expect(await tablesWith(service, words)).toEqual(['public.contacts']);
  expect(
    await service.sql(
      `select id, display_name, email, phone, external_id, archived_at is not null as archived from contacts where brokerage_id in ($1, $2) order by id`,
      [one, other],
    ),
  ).toEqual([
    ...[person, duplicate, there].map((id) => ({
      id,
      display_name: 'Former participant',
      email: null,
      phone: null,
      external_id: null,
      archived: true,
    })),
    // What is about the company stays.
    {
      id: company,
      display_name: 'A company',
      email: null,
      phone: '+1 555 0100',
      external_id: 'crm-zyx-9',
      archived: false,
    },
  ]);
  expect((await mailFiles(service)).join('\n')).not.toContain('zyxcontact');
  for (const [brokerage, id] of [
    [one, person],
    [one, duplicate],
    [other, there],
  ])
    expect(
      await service.sql(
        `select user_id, details from audit_records where brokerage_id = $1 and action = 'contact.erase' and subject_id = $2`,
        [brokerage, id],
      ),
    ).toEqual([{ user_id: null, details: { by: 'operator' } }]);
  // The command has the real clock: its change may be older than that of the test.
  expect(await service.sql('select change from change_events where object_id = $1', [there])).toContainEqual({
    change: 'archived',
  });
  expect(await run(['people', 'erase', address], env)).toMatchObject({ code: 1 });

  // A restored backup has a contact again, which an admin had erased.
  await service.sql('update contacts set erased_at = null where id = $1', [there]);
  await service.sql(`update contacts set display_name = 'Only Zyxcontact', email = $2 where id = $1`, [there, address]);
  const again = await run(['people', 'erase', there ?? '', '--json'], env);
  expect(JSON.parse(again.stdout)).toMatchObject({ id: null, contacts: 1, contact_ids: [there] });
  expect(await tablesWith(service, ['zyxcontact'])).toEqual([]);
});

test('erasing a contact by its id leaves an account with that address, and its mails, as they are', async () => {
  const account = await openAccount(service, { email: 'stays.on@people.example', name: 'Stays On' });
  const brokerage = await addBrokerage(service, 'Knows an account');
  const [contact] = await service.sql<{ id: string }>(
    `insert into contacts (brokerage_id, type, display_name, email) values ($1, 'person', 'Stays On', $2) returning id`,
    [brokerage, account.email],
  );
  await fileMailer(service.config).send({
    messageId: 'own@x',
    to: account.email,
    subject: 'Reset your password',
    text: 'Hello',
    html: '',
  });
  const { code, stdout } = await run(['people', 'erase', contact!.id.toUpperCase()], env);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^The contact is erased\. What they/)]);
  expect((await mailFiles(service)).join('\n')).toContain(account.email);
  expect(await service.sql('select email from users where id = $1', [account.id])).toEqual([{ email: account.email }]);
});

test('an account with an unproven address cannot erase itself or contacts with that address', async () => {
  const account = await openAccount(service, { email: 'passed.on@people.example', name: 'Somebody Else' });
  const brokerage = await addBrokerage(service, 'Knows the address');
  const [contact] = await service.sql<{ id: string }>(
    `insert into contacts (brokerage_id, type, display_name, email) values ($1, 'person', 'Paul Passed-On', $2) returning id`,
    [brokerage, account.email],
  );
  const kept = () => service.sql('select display_name, email, archived_at from contacts where id = $1', [contact?.id]);
  const browser = await signedInVisitor(service, account);
  const erase = () => browser.change('/api/auth/erase', { confirmation: account.email });

  // The state after an invitation whose link was passed on by hand.
  await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [account.id]);
  await service.sql(`insert into vault.legal_holds (kind, subject_id) values ('brokerage', $1)`, [brokerage]);
  // The response does not reveal either that a brokerage under a hold knows the address.
  expect(await erase()).toMatchObject({
    status: 409,
    body: { error: { code: 'address_unproven', message: expect.stringContaining('request a new password') } },
  });
  await service.sql(`delete from vault.legal_holds where subject_id = $1`, [brokerage]);
  expect(await kept()).toEqual([{ display_name: 'Paul Passed-On', email: account.email, archived_at: null }]);
  expect((await browser.send('/api/web/me')).status).toBe(200);

  await service.sql('update vault.passwords set address_proven_at = app.now() where user_id = $1', [account.id]);
  expect((await erase()).status).toBe(200);
  expect(await kept()).toEqual([
    { display_name: expect.stringMatching(/^Former/), email: null, archived_at: expect.anything() },
  ]);
  expect(
    await service.sql(`select action from audit_records where brokerage_id = $1 and subject_id = $2`, [
      brokerage,
      contact?.id,
    ]),
  ).toEqual([{ action: 'person.erase' }]);
});

test('erasing an admin ends their API keys, except those that another admin has rotated', async () => {
  const brokerage = await addBrokerage(service, 'Goes on');
  const ann = await openAccount(service, { email: 'ann@goes-on.example', name: 'Ann Admin' });
  const bob = await addPerson(service, 'Bob Admin', { brokerage, role: 'admin' });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [brokerage, ann.id]);
  const asAnn = await signInAs(service, ann.id);
  const fields = { environment: 'live', scopes: ['contacts:read'], ceiling: 120, expires_at: null };
  const make = async (title: string) =>
    (await asAnn.ask(`/brokerages/${brokerage}/keys`, { name: title, ...fields })).body;
  const [own, handed] = [await make('Own'), await make('Handed on')];
  const rotated = (await (await signInAs(service, bob.id)).ask(`/keys/${handed.key.id}/rotate`, { overlap_seconds: 0 }))
    .body;
  const works = async (token: string) =>
    (await fetch(`${service.restUrl}/contacts`, { headers: { Authorization: `Bearer ${token}` } })).status;
  expect([await works(own.token), await works(rotated.token)]).toEqual([200, 200]);
  await service.sql(`update members set status = 'removed' where user_id = $1`, [ann.id]);
  const browser = await signedInVisitor(service, ann);
  expect((await browser.change('/api/auth/erase', { confirmation: ann.email })).status).toBe(200);
  expect([await works(own.token), await works(rotated.token)]).toEqual([401, 200]);
  expect(
    await service.sql(
      `select subject_id, user_id from audit_records where brokerage_id = $1 and action = 'api_key.revoke'`,
      [brokerage],
    ),
  ).toEqual([{ subject_id: own.key.id, user_id: null }]);
});

test('erasing a person named "id" keeps stored responses about others', async () => {
  const brokerage = await addBrokerage(service, 'Works by key');
  const admin = await addPerson(service, 'Ida Admin', { brokerage, role: 'admin' });
  const { digest, lastFour } = mintApiKey('live');
  const values = [brokerage, admin.id, digest, lastFour];
  await service.sql(`select app.issue_api_key($1, $2, 'a key', 'live', '{contacts:read}', null, null, $3, $4)`, values);
  const answer = JSON.stringify({ status: 201, body: { id: randomUUID(), displayName: 'Somebody' } });
  await service.sql(
    `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, made_at, answer)
     select id, gen_random_uuid(), sha256(''), app.now(), $1 from api_keys where created_by = $2`,
    [answer, admin.id],
  );
  const account = await openAccount(service, { email: 'id@people.example', name: 'id' });
  const browser = await signedInVisitor(service, account);
  expect((await browser.change('/api/auth/erase', { confirmation: account.email })).status).toBe(200);
  expect(
    await service.sql(
      'select i.answer from vault.idempotency_keys i join api_keys k on k.id = i.key_id where k.created_by = $1',
      [admin.id],
    ),
  ).toEqual([{ answer }]);
});

test('erasing a person named "Hello" keeps the mails of others', async () => {
  await deliverToFiles(service);
  const before = await readers(service);
  const brokerage = await addBrokerage(service, 'Birch & Yew');
  const other = await addPerson(service, 'Olga Other', { brokerage, role: 'admin' });
  const account = await openAccount(service, { email: 'hella@people.example', name: 'Hella Lowe' });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage,
    account.id,
  ]);
  const browser = await signedInVisitor(service, account);
  expect(await browser.change('/api/auth/profile', { name: 'Hello' })).toMatchObject({ status: 200 });

  const invite = async (who: string, address: string) =>
    (await signInAs(service, who)).ask(`/brokerages/${brokerage}/members`, {
      email: address,
      name: 'Gus Guest',
      role: 'staff',
    });
  expect(await invite(account.id, 'of-hello@people.example')).toMatchObject({ status: 201 });
  expect(await invite(other.id, 'of-other@people.example')).toMatchObject({ status: 201 });
  // Anybody can have a link sent to any address.
  const links = () =>
    service.sql(`select 1 from vault.outbox where kind = 'password_reset' and recipient in ($1, $2)`, [
      account.email,
      other.email,
    ]);
  for (const { email: to } of [account, other])
    expect(await browser.json('/api/auth/reset', { email: to })).toMatchObject({ status: 200 });
  await expect.poll(links).toHaveLength(2);
  await deliverToFiles(service);
  const sent = (...mails: string[]) => [...before, ...mails, ...mails].toSorted();
  const ofOthers = [other.email, 'of-other@people.example'];
  expect(await readers(service)).toEqual(sent(...ofOthers, account.email, 'of-hello@people.example'));

  await browser.signIn(account);
  expect(await browser.change('/api/auth/erase', { confirmation: account.email })).toMatchObject({ status: 200 });
  expect(await readers(service)).toEqual(sent(...ofOthers));
});

test("erasing an account with the sender's address keeps the mails sent from it", async () => {
  const from = 'no-reply@dealkeep.example';
  const { id } = await openAccount(service, { email: from });
  const config = { ...service.config, mailFrom: `Dealkeep <${from}>` };
  await fileMailer(config).send({
    messageId: 'from@x',
    to: 'anybody@people.example',
    subject: 'Hello',
    text: 'Hello',
    html: '<p>Hello</p>',
  });
  const before = await readers(service);
  expect(before.filter((to) => to === 'anybody@people.example')).toHaveLength(2);
  expect(await run(['people', 'erase', id], env)).toMatchObject({ code: 0 });
  expect(await readers(service)).toEqual(before);
});

test('the body of a removed document is kept while its deal or uploader is under a legal hold', async () => {
  const [document] = await service.sql<{ deal_id: string; storage_key: string; uploaded_by: string }>(
    `update documents set removed_at = app.now() - interval '8 days'
     where id = (select d.id from documents d join users u on u.id = d.uploaded_by where d.removed_at is null and u.sandbox_id is null order by d.id limit 1)
     returning deal_id, storage_key, uploaded_by`,
  );
  const toClear = async () =>
    (await service.sql<{ key: string }>('select app.bodies_to_clear() as key')).map(({ key }) => key);
  for (const [kind, subject] of Object.entries({ deal: document?.deal_id, person: document?.uploaded_by })) {
    expect(await toClear()).toContain(document?.storage_key);
    expect(await run(['hold', 'on', kind, `${subject}`], env)).toMatchObject({ code: 0 });
    expect(await toClear()).not.toContain(document?.storage_key);
    expect(await run(['hold', 'off', kind, `${subject}`], env)).toMatchObject({ code: 0 });
  }
});

describe('a legal hold placed while', () => {
  const hold = (kind: string, subject: string) => run(['hold', 'on', kind, subject], env);
  const underHold = async (subject: string) =>
    (await service.sql('select from vault.legal_holds where subject_id = $1', [subject])).length;

  test('removed documents are being cleared keeps the remaining bodies', async () => {
    const { services } = service;
    await deleteUnusedBodies(services);
    const documents = await service.sql<{ storage_key: string; deal_id: string }>(
      `update documents set removed_at = app.now() - interval '8 days' where id in (
         select d.id from documents d join deals l on l.id = d.deal_id join brokerages b on b.id = l.organization_id and b.sandbox_of is null
         where d.removed_at is null and d.deal_id = (
           select deal_id from documents where removed_at is null group by deal_id order by count(*) desc, deal_id limit 1)
         order by d.id limit 3)
       returning storage_key, deal_id`,
    );
    expect(documents).toHaveLength(3);
    const removed: string[] = [];
    const storage: typeof services.storage = Object.create(services.storage, {
      remove: {
        value: async (key: string) => {
          removed.push(key);
          expect(await hold('deal', documents[0]!.deal_id)).toMatchObject({ code: 0 });
        },
      },
    });
    await deleteUnusedBodies({ ...services, storage });
    expect(removed).toHaveLength(1);
    expect(
      await service.sql(
        'select storage_key from documents where storage_key = any ($1) and body_cleared_at is not null',
        [documents.map((one) => one.storage_key)],
      ),
    ).toEqual([{ storage_key: removed[0] }]);
    expect(await run(['hold', 'off', 'deal', documents[0]!.deal_id], env)).toMatchObject({ code: 0 });
  });

  test('a brokerage is being deleted waits, and reports what is gone', async () => {
    const brokerage = await addBrokerage(service, 'Nearly gone');
    const [deal] = await service.sql<{ id: string }>(
      `insert into deals (organization_id, title, state) values ($1, 'Nearly gone', 'draft') returning id`,
      [brokerage],
    );
    await service.sql(
      `insert into vault.brokerage_deletions (brokerage_id, due_at, begun_at) values ($1, app.now() - interval '1 day', app.now())`,
      [brokerage],
    );
    const part = [['select from app.delete_brokerage_part($1, 1000)', [brokerage]]] as const;
    const told = await whileChanging(service, part, () => hold('deal', deal!.id));
    expect([told.code, told.stderr]).toEqual([1, expect.stringContaining(`There is no deal "${deal!.id}".`)]);
    expect(await underHold(deal!.id)).toBe(0);
    expect(await hold('brokerage', brokerage)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /nothing more of it is .* has taken its members and keys, 1 deals with 0 documents/,
      ),
    });
    expect(await run(['hold', 'off', 'brokerage', brokerage], env)).toMatchObject({ code: 0 });
  });

  test('a person is being erased waits, and reports that the person does not exist', async () => {
    const account = await openAccount(service, { email: 'gone.meanwhile@people.example' });
    const erasing = [[`select app.erase_person($1, 'command line', null)`, [account.id]]] as const;
    const told = await whileChanging(service, erasing, () => hold('person', account.id));
    expect([told.code, told.stderr]).toEqual([1, expect.stringContaining(`There is no person "${account.id}".`)]);
    expect(await underHold(account.id)).toBe(0);
  });

  test('an erasure starts makes the erasure wait, and stops it', async () => {
    const account = await openAccount(service, { email: 'held.meanwhile@people.example' });
    const placing = [
      ['lock table vault.legal_holds in exclusive mode', []],
      [`insert into vault.legal_holds (kind, subject_id) values ('person', $1)`, [account.id]],
    ] as const;
    const told = await whileChanging(service, placing, () => run(['people', 'erase', account.id], env));
    expect([told.code, told.stderr]).toEqual([1, expect.stringContaining('A legal hold on the person')]);
    expect(await service.sql('select erased_at from users where id = $1', [account.id])).toEqual([{ erased_at: null }]);
  });
});
