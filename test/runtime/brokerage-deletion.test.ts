/** Deletion of a brokerage: who requests and withdraws it, what stops it, and what is left afterwards. */

import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { deleteDueBrokerages } from '../../server/scheduled-jobs.ts';
import { openService, type TestService } from '../harness.ts';
import { addToken, caller } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { openScene } from '../web/scene.ts';
import { cleanUp, run } from './program.ts';
import { deliverToFiles, fileMailer, mailFiles, readers } from './mail-files.ts';
import { tablesWith } from './tables-with.ts';

// Every command is a process of its own, and the machine may be busy.
vi.setConfig({ testTimeout: 240_000 });

const day = 86_400_000;
let service: TestService;
let env: Record<string, string>;
let brokerage: { id: string; name: string; slug: string };
let admin: SignedIn;

beforeAll(async () => {
  service = await openService({ demo: true, config: { smtpUrl: 'smtp://127.0.0.1:1' } });
  const { owner, server } = service.connections;
  env = { DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner), DATA_DIR: service.config.dataDir };
  const [found] = await service.sql<typeof brokerage>(
    `select id, name, slug from brokerages b where sandbox_of is null order by (select count(*) from deals where organization_id = b.id) desc limit 1`,
  );
  brokerage = found!;
  const [first] = await service.sql<{ user_id: string }>(
    `select user_id from members where brokerage_id = $1 and role = 'admin' and status = 'active' order by user_id`,
    [brokerage.id],
  );
  admin = await signInAs(service, first!.user_id);
});
afterAll(async () => {
  await cleanUp();
  await service?.close();
});

const at = () => `/brokerages/${brokerage.id}/deletion`;
const ask = (who: SignedIn, confirmation = brokerage.slug) => who.ask(at(), { confirmation }, 'POST');
const take = (who: SignedIn) => who.ask(at(), undefined, 'DELETE');
const deletion = () => service.sql<{ due_at: Date }>('select due_at from vault.brokerage_deletions');

/** Adds a member with this role to the brokerage, and signs them in. */
async function member(role: string, name: string): Promise<SignedIn & { readonly userId: string }> {
  const [user] = await service.sql<{ id: string }>('insert into users (email, name) values ($1, $2) returning id', [
    `${name.toLowerCase().replaceAll(' ', '.')}@members.example`,
    name,
  ]);
  await service.sql('insert into members (brokerage_id, user_id, role) values ($1, $2, $3)', [
    brokerage.id,
    user!.id,
    role,
  ]);
  return { ...(await signInAs(service, user!.id)), userId: user!.id };
}

test('deletion requires a recent sign-in and the short name; everybody is mailed, and any admin can cancel it', async () => {
  const broker = await member('broker', 'Bertrand Brokerson');
  const other = await member('admin', 'Oda Otheradmin');
  const [stranger] = await service.sql<{ user_id: string }>(
    `select user_id from members m where brokerage_id <> $1 and role = 'admin' and status = 'active'
       and not exists (select from members where user_id = m.user_id and brokerage_id = $1)`,
    [brokerage.id],
  );
  expect((await ask(await signInAs(service, stranger!.user_id))).status).toBe(404);
  expect((await ask(broker)).status).toBe(403);
  expect((await take(broker)).status).toBe(403);
  expect(await ask(admin, brokerage.name)).toMatchObject({
    status: 400,
    body: { error: { message: `Type ${brokerage.slug} to confirm.` } },
  });
  service.clock.advance(11 * 60_000);
  expect(await ask(admin)).toMatchObject({ body: { error: { code: 'recent_sign_in_required' } } });
  service.clock.advance(-11 * 60_000);
  expect(await deletion()).toEqual([]);

  const asked = await ask(admin);
  expect(asked.status).toBe(200);
  const due = Date.parse(String(asked.body.deleted_at));
  expect(Math.abs(due - service.clock.now().getTime() - 30 * day)).toBeLessThan(600_000);
  expect(await ask(admin)).toMatchObject({ status: 409, body: { error: { code: 'deletion_asked' } } });
  // The members of the brokerage see the date; nobody else does.
  expect((await broker.ask(`/brokerages/${brokerage.id}`)).body).toMatchObject({ deleted_at: asked.body.deleted_at });
  const admins = await service.sql<{ email: string }>(
    `select email from users u join members m on m.user_id = u.id
     where m.brokerage_id = $1 and m.role = 'admin' and m.status = 'active' order by email`,
    [brokerage.id],
  );
  expect(admins.length).toBeGreaterThan(1);
  const others = await service.sql<{ email: string }>(
    `select email from users where suspended_at is null and email <> all ($2) and (
       id in (select user_id from members where brokerage_id = $1 and status = 'active') or id in (
         select p.user_id from participants p join deals d on d.id = p.deal_id where d.organization_id = $1 and p.status = 'active'))
     order by email`,
    [brokerage.id, admins.map(({ email }) => email)],
  );
  expect(others.length).toBeGreaterThan(5);
  const about = (await service.deliver()).filter(({ subject }) => subject.includes('will be deleted on'));
  const told = about.filter(({ text }) => text.includes('/settings/brokerage'));
  expect(told.map(({ to }) => to).toSorted()).toEqual(admins.map(({ email }) => email));
  expect(told[0]?.text).toContain(brokerage.name);
  // Everybody else loses their deals with it, and does not read who asked for that.
  const toOthers = about.filter((one) => !told.includes(one));
  expect(toOthers.map(({ to }) => to).toSorted()).toEqual(others.map(({ email }) => email));
  const [who] = await service.sql<{ name: string }>(
    'select u.name from users u join vault.brokerage_deletions d on d.asked_by = u.id',
  );
  for (const { text } of toOthers) {
    expect(text).toContain('with its deals and everything on them');
    expect(text).not.toContain(who!.name);
  }
  // The recipient's time zone is unknown, so the mail gives the time together with its zone.
  const [, said = ''] = / will be deleted on (.* UTC)$/.exec(told[0]?.subject ?? '') ?? [];
  expect(Date.parse(said.replace(' at ', ' '))).toBe(due - (due % 60_000));
  expect(told[0]?.text).toContain(`On ${said} its deals`);
  expect(told[0]?.text).toContain('/settings/brokerage');

  // Whoever joins now is told once, also if it is a deal that they join.
  const before = service.mails.length;
  const late = ['lena.late@members.example', 'dora.deal@members.example'];
  const joinDeals = (person: string) =>
    service.sql(
      `insert into participants (deal_id, user_id, role, status) select id, $2, 'viewer', 'active' from deals where organization_id = $1 limit 2`,
      [brokerage.id, person],
    );
  await joinDeals((await member('broker', 'Lena Late')).userId);
  const [dora] = await service.sql<{ id: string }>(
    `insert into users (email, name) values ($1, 'Dora Deal') returning id`,
    [late[1]],
  );
  await joinDeals(dora!.id);
  const toLate = (await service.deliver()).slice(before);
  expect(toLate.map(({ to, subject }) => [to, subject])).toEqual(late.map((to) => [to, told[0]!.subject]));

  service.clock.advance(29 * day);
  await deleteDueBrokerages(service.services);
  expect(await service.sql('select 1 from brokerages where id = $1', [brokerage.id])).toHaveLength(1);
  service.clock.advance(-29 * day);

  expect(await take(other)).toMatchObject({ status: 200, body: { deleted_at: null } });
  expect(await take(other)).toMatchObject({ status: 200, body: { deleted_at: null } });
  expect(await deletion()).toEqual([]);
  const kept = (await service.deliver()).filter(({ subject }) => subject.endsWith('will not be deleted'));
  expect(kept.map(({ to }) => to).toSorted()).toEqual(
    [...[...admins, ...others].map(({ email }) => email), ...late].toSorted(),
  );
  expect(
    await service.sql(
      `select action from audit_records where brokerage_id = $1 and action like '%deletion' order by at, id`,
      [brokerage.id],
    ),
  ).toEqual([{ action: 'brokerage.ask_deletion' }, { action: 'brokerage.cancel_deletion' }]);
});

test('of the mails about deletion, those to people who are out by then are not sent', async () => {
  const names = { in: 'Ina In', suspended: 'Suki Suspended', left: 'Lena Left' };
  const people = {
    in: await member('broker', names.in),
    suspended: await member('broker', names.suspended),
    left: await member('staff', names.left),
  };
  const mailed = async () => {
    const about = (await service.deliver()).filter(({ subject }) => subject.includes('deleted'));
    return Object.values(names).filter((name) => about.some(({ text }) => text.includes(name)));
  };
  await service.deliver();
  expect((await ask(admin)).status).toBe(200);
  await service.sql('update users set suspended_at = app.now() where id = $1', [people.suspended.userId]);
  await service.sql(`update members set status = 'removed' where user_id = $1`, [people.left.userId]);
  expect(await mailed()).toEqual([names.in]);
  expect((await take(admin)).status).toBe(200);
  expect(await mailed()).toEqual([names.in]);
});

test('the operator requests and cancels deletion; a legal hold stops it on request and when due', async () => {
  const command = (...args: string[]) => run(['brokerages', 'delete', ...args], env);
  expect(await command(brokerage.slug, '--days', '3')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('from 7 to 365'),
  });
  expect(await command('nobody-here')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no brokerage'),
  });
  expect(await command(brokerage.slug, '--cancel')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not going to be deleted'),
  });

  const [deal] = await service.sql<{ id: string; person: string }>(
    `select d.id, p.user_id as person from deals d join participants p on p.deal_id = d.id where organization_id = $1 limit 1`,
    [brokerage.id],
  );
  const holds = [
    ['brokerage', brokerage.id],
    ['deal', deal!.id],
    ['person', deal!.person],
  ] as const;
  for (const [kind, subject] of holds) {
    await service.sql('insert into vault.legal_holds (kind, subject_id) values ($1, $2)', [kind, subject]);
    expect(await ask(admin)).toMatchObject({
      status: 409,
      body: { error: { code: 'legal_hold', message: expect.not.stringContaining(subject) } },
    });
    await service.sql('delete from vault.legal_holds');
  }
  await service.sql(`insert into vault.legal_holds (kind, subject_id) values ('deal', $1)`, [deal!.id]);
  expect(await command(brokerage.slug)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`dealkeep hold off deal ${deal!.id}`),
  });
  await service.sql('delete from vault.legal_holds');

  const { code, stdout } = await command(brokerage.slug, '--days', '7', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id: brokerage.id, slug: brokerage.slug, due_at: expect.any(String) });
  await service.sql(`insert into vault.legal_holds (kind, subject_id) values ('person', $1)`, [deal!.person]);
  service.clock.advance(8 * day);
  await deleteDueBrokerages(service.services);
  expect(await service.sql('select begun_at from vault.brokerage_deletions')).toEqual([{ begun_at: null }]);
  service.clock.advance(-8 * day);
  await service.sql('delete from vault.legal_holds');
  expect(await command(brokerage.slug, '--cancel')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('will not be deleted'),
  });
});

test('a brokerage that cannot be deleted does not block others, and is retried', async () => {
  await service.sql(
    `with made as (insert into brokerages (slug, name) select s, s from unnest('{stuck-one,another-one}'::text[]) s returning id, slug)
     insert into vault.brokerage_deletions (brokerage_id, due_at, begun_at)
       select id, app.now(), case slug when 'stuck-one' then app.now() end from made`,
  );
  await service.sql(
    `create function stuck() returns trigger language plpgsql as $$ begin if old.slug = 'stuck-one' then raise 'stuck'; end if; return old; end $$;
     create trigger stuck before delete on brokerages for each row execute function stuck()`,
  );
  const left = () => service.sql(`select slug from brokerages where slug in ('stuck-one', 'another-one')`);
  await expect(deleteDueBrokerages(service.services)).rejects.toThrow('1 brokerage could not be deleted.');
  expect(await left()).toEqual([{ slug: 'stuck-one' }]);
  await service.sql('drop trigger stuck on brokerages; drop function stuck()');
  await deleteDueBrokerages(service.services);
  expect(await left()).toEqual([]);
});

test('deleting a brokerage named "the" keeps the mails of other brokerages', async () => {
  const made = await service.sql<{ id: string; admin: string; deal: string }>(
    `with people as (insert into users (email, name) select 'admin@' || s || '.example', 'Ada Admin' from unnest('{word,neighbour}'::text[]) s returning id, email),
       made as (insert into brokerages (slug, name) select s, 'A brokerage' from unnest('{word,neighbour}'::text[]) s returning id, slug),
       admins as (insert into members (brokerage_id, user_id, role)
         select b.id, p.id, 'admin' from made b join people p on p.email = 'admin@' || b.slug || '.example' returning brokerage_id, user_id),
       sales as (insert into deals (organization_id, title, state) select id, 'The mill', 'closed' from made returning organization_id, id)
     select b.id, a.user_id as admin, s.id as deal
       from made b join admins a on a.brokerage_id = b.id join sales s on s.organization_id = b.id order by b.slug desc`,
  );
  const [word, neighbour] = await Promise.all(
    made.map(async (one) => ({ ...one, ...(await signInAs(service, one.admin)) })),
  );
  if (!word || !neighbour) throw new Error('there are no two brokerages');
  expect(await word.ask(`/brokerages/${word.id}`, { name: 'the' }, 'PATCH')).toMatchObject({ status: 200 });
  for (const [one, email] of [
    [word, 'guest@word.example'],
    [neighbour, 'guest@neighbour.example'],
  ] as const)
    expect(await one.ask(`/brokerages/${one.id}/members`, { email, name: 'Gus Guest', role: 'staff' })).toMatchObject({
      status: 201,
    });
  // A mail that belongs to a deal, as notifications do.
  for (const { deal, id } of [word, neighbour])
    await service.sql(
      `insert into vault.outbox (kind, recipient, deal_id, urgent, facts)
       select 'invitation', 'buyer@' || slug || '.example', $1, false, '{"name":"Buyer","by":"Ada Admin","brokerage":"A brokerage","deal":null}' from brokerages where id = $2`,
      [deal, id],
    );
  expect(await word.ask(`/brokerages/${word.id}/deletion`, { confirmation: 'word' })).toMatchObject({ status: 200 });
  await deliverToFiles(service);
  const ofWord = ['admin@word.example', 'buyer@word.example', 'guest@word.example'];
  const counted = ({ id, admin: person }: { id: string; admin: string }) =>
    service.sql('select subject, sent from vault.mail_counts where subject like any ($1) order by subject', [
      [`%${id}%`, `%${person}%`],
    ]);
  const [ofNeighbour, ofItself] = await Promise.all([neighbour, word].map(counted));
  expect([ofNeighbour?.length, ofItself?.length]).toEqual([5, 5]);
  const before = await readers(service);
  expect(before).toEqual(expect.arrayContaining([...ofWord, 'buyer@neighbour.example', 'guest@neighbour.example']));

  service.clock.advance(31 * day);
  await deleteDueBrokerages(service.services);
  service.clock.advance(-31 * day);
  expect(await service.sql('select 1 from brokerages where id = $1', [word.id])).toEqual([]);
  expect(await readers(service)).toEqual(before.filter((to) => !ofWord.includes(to)));
  // The counts of its mails, which contain the recipients' addresses, are deleted too; those of other brokerages are
  // not.
  expect(await counted(word)).toEqual([]);
  expect(await service.sql(`select from vault.mail_counts where subject like '%@word.example'`)).toEqual([]);
  expect(await counted(neighbour)).toEqual(ofNeighbour);
});

test('once deletion has begun, nobody has access to its deals, even while a legal hold stops it', async () => {
  const { service: its, scene, as, close } = await openScene();
  try {
    const deal = `/deals/${scene.deal}`;
    const callers = ['broker', 'seller', 'exclusive buyer', "exclusive buyer's advisor", 'viewer'];
    const reached = async (who: string) => {
      const person = await as(who);
      const token = await addToken(its, scene.people[who]!, { scopes: ['mcp:read'] });
      const tool = caller(its, token);
      return {
        pages: await Promise.all(
          [deal, `${deal}/documents`, `${deal}/offers`].map(async (page) => (await person.ask(page)).status),
        ),
        listed: JSON.stringify((await person.ask('/deals')).body).includes(scene.deal),
        home: JSON.stringify((await person.ask('/home')).body).includes(scene.deal),
        tool: JSON.stringify((await tool('svc_deals_get', { deal_id: scene.deal })).structuredContent).includes(
          scene.deal,
        ),
        toolListed: JSON.stringify((await tool('svc_deals_list')).structuredContent).includes(scene.deal),
      };
    };
    const invitations = async () => JSON.stringify((await (await as('invited')).ask('/home')).body.invitations);
    for (const who of callers) expect([who, await reached(who)]).toMatchObject([who, { listed: true, tool: true }]);
    expect(await invitations()).toContain(scene.participants['invited']);
    // A brokerage that requires a second factor keeps out members without one; but once its deletion has begun, it has
    // no members any more.
    await its.sql('update brokerages set requires_second_factor = true where id = $1', [scene.brokerage]);
    expect((await (await as('broker')).ask(deal)).status).not.toBe(200);

    await its.sql('insert into vault.brokerage_deletions (brokerage_id, due_at) values ($1, app.now())', [
      scene.brokerage,
    ]);
    expect(await its.sql('select p.finished from app.delete_brokerage_part($1, 2000) p', [scene.brokerage])).toEqual([
      { finished: false },
    ]);
    await its.sql(`insert into vault.legal_holds (kind, subject_id) values ('deal', $1)`, [scene.deal]);
    await deleteDueBrokerages(its.services);
    expect(await its.sql('select from deals where id = $1', [scene.deal])).toHaveLength(1);
    const nothing = { pages: [404, 404, 404], listed: false, home: false, tool: false, toolListed: false };
    for (const who of callers) expect([who, await reached(who)]).toEqual([who, nothing]);
    // Nobody can join one of its deals either: not from the list of invitations, by a link, or by a change of its
    // participants.
    const invited = await as('invited');
    expect(await invitations()).not.toContain(scene.participants['invited']);
    expect((await invited.ask(`/invitations/${scene.participants['invited']}/accept`, {})).status).toBe(404);
    expect(
      await its.sql(
        `select from vault.invitations i join participants p on p.id = i.participant_id where p.deal_id = $1`,
        [scene.deal],
      ),
    ).toEqual([]);
    await its.sql(`update participants set status = 'active' where id = $1`, [scene.participants['invited']]);
    expect((await invited.ask(deal)).status).toBe(404);
    // A person who alone ran a deal can no longer hand it over, and is erased nevertheless.
    await its.sql('delete from vault.legal_holds');
    expect(await its.sql(`select app.erase_person($1, 'operator', null) as name`, [scene.people['broker']])).toEqual([
      { name: expect.stringMatching(/^Former participant/) },
    ]);
  } finally {
    await close();
  }
});

/** Returns digests of everything that the other brokerages have, and of their people. */
async function restOfTheWorld(): Promise<unknown> {
  const tables = await service.sql<{ name: string; condition: string }>(
    `select name, condition from app.rows_of_brokerage('any (array(select id from public.deals where organization_id = $1))', false)`,
  );
  const others = await service.sql<{ id: string }>(
    'select id from brokerages where id <> $1 and sandbox_of is null order by id',
    [brokerage.id],
  );
  const found: Record<string, unknown> = {};
  for (const { id } of others)
    for (const { name, condition } of tables) {
      const text = `select count(*)::int as rows, md5(coalesce(string_agg(t::text, '' order by t::text), '')) as digest from ${name} t where ${condition}`;
      found[`${name} of ${id}`] = await service.sql(text, [id]);
    }
  found['people'] = await service.sql(
    `select count(*)::int as rows, md5(string_agg(u::text, '' order by u::text)) as digest from users u
     where u.sandbox_id is null and (exists (select from members m where m.user_id = u.id and m.brokerage_id <> $1)
       or exists (select from participants p join deals d on d.id = p.deal_id where p.user_id = u.id and d.organization_id <> $1))`,
    [brokerage.id],
  );
  return found;
}

async function bodies(): Promise<string[]> {
  const entries = await readdir(service.config.dataDir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

test('a completed deletion leaves no trace in tables, log or mails, and changes nothing else', async () => {
  // What a brokerage in use has besides its deals: mails, notifications, keys, a shared client, an invitation, a person
  // with an account of their own.
  const both = await member('broker', 'Bianca Both');
  await service.sql(
    `insert into members (brokerage_id, user_id, role) select id, $2, 'staff' from brokerages where id <> $1 and sandbox_of is null limit 1`,
    [brokerage.id, both.userId],
  );
  const only = await member('staff', 'Ottokar Onlyhere');
  const [deal] = await service.sql<{ id: string; title: string }>(
    `select id, title from deals where organization_id = $1 and state = 'closed' limit 1`,
    [brokerage.id],
  );
  const mails = await service.sql<{ id: string }>(
    `insert into vault.outbox (kind, recipient, brokerage_id, urgent, facts) values ('invitation', 'invitee@people.example', $1, false, $2) returning id`,
    [brokerage.id, { name: 'Invitee', by: 'x', brokerage: brokerage.name, deal: deal!.title }],
  );
  await service.sql(`select app.count_mail_to($1, $2, 'invitee@people.example', true)`, [only.userId, brokerage.id]);
  await service.sql(
    `insert into vault.notifications (event_id, user_id, kind, deal_id, at) values (app.uuid_v7(), $1, 'invited', $2, app.now())`,
    [both.userId, deal!.id],
  );
  await service.sql(
    `insert into connected_clients (created_by, brokerage_id, name, redirect_uris) values ($1, $2, 'A client for all', '{https://client.example/back}')`,
    [both.userId, brokerage.id],
  );
  const mail = { to: 'a@people.example', subject: 'Hello', html: '<p>Hello</p>' };
  const mailer = fileMailer(service.config);
  await mailer.send({ ...mail, messageId: `${mails[0]!.id}@x`, text: 'Somebody invites you.' });
  await mailer.send({ ...mail, messageId: 'other@x', text: `${brokerage.name} is named.` });
  const [document] = await service.sql<{ storage_key: string; kept: string }>(
    `select d.storage_key, (select o.storage_key from documents o join deals l on l.id = o.deal_id where l.organization_id <> $1 and o.storage_key not like 'sandbox-%' limit 1) as kept
     from documents d join deals l on l.id = d.deal_id where l.organization_id = $1 limit 1`,
    [brokerage.id],
  );
  // The demo's bodies are put into the store when the first one is read.
  await service.services.storage.read(document!.storage_key);
  await service.services.storage.write(document!.storage_key, Readable.from([randomBytes(10)]));
  expect(await bodies()).toEqual(expect.arrayContaining([document!.storage_key]));

  const named = await service.sql<{ word: string }>(
    `select title as word from deals where organization_id = $1
     union select filename from documents o join deals d on d.id = o.deal_id where organization_id = $1
     union select display_name from contacts where brokerage_id = $1 union select email from contacts where brokerage_id = $1 and email is not null
     union select d.id::text from deals d where organization_id = $1
     union select u.email from users u where (exists (select from members m where m.user_id = u.id and m.brokerage_id = $1)
         or exists (select from participants p join deals d on d.id = p.deal_id where p.user_id = u.id and d.organization_id = $1))
       and not exists (select from members m where m.user_id = u.id and m.brokerage_id <> $1)
       and not exists (select from participants p join deals d on d.id = p.deal_id where p.user_id = u.id and d.organization_id <> $1)`,
    [brokerage.id],
  );
  const kept = await service.sql<{ word: string }>(
    `select filename as word from documents o join deals d on d.id = o.deal_id where organization_id <> $1
     union select display_name from contacts where brokerage_id <> $1 union select title from deals where organization_id <> $1`,
    [brokerage.id],
  );
  const words = [
    brokerage.name,
    brokerage.slug,
    'Ottokar Onlyhere',
    'invitee@people.example',
    'A client for all',
    ...named.map(({ word }) => word),
  ]
    // A word that another brokerage uses too is no trace of this one.
    .filter((word) => !kept.some((other) => other.word.toLowerCase().includes(word.toLowerCase())));
  expect(words.length).toBeGreaterThan(50);
  expect((await tablesWith(service, words)).length).toBeGreaterThan(15);
  expect(await service.sql('select sandbox_of from brokerages where sandbox_of is not null')).toEqual([
    { sandbox_of: brokerage.id },
  ]);
  // What test keys leave in the sandbox: webhooks with deliveries, and a contact with the address of a person of
  // another brokerage who is under a legal hold.
  await service.sql(
    `with added as (
       insert into webhook_endpoints (key_id, url, place, history)
         select id, 'https://receiver.example/in', 0, gen_random_uuid() from api_keys where brokerage_id = $1 and environment = 'test' limit 1 returning id)
     insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at)
       select id, gen_random_uuid(), 'webhook.test', 'webhook', id, app.now() from added, generate_series(1, 100)`,
    [brokerage.id],
  );
  await service.sql(
    `with held as (select m.user_id, u.email from members m join users u on u.id = m.user_id where m.brokerage_id <> $1
         and not exists (select from members o where o.user_id = u.id and o.brokerage_id = $1)
         and not exists (select from participants p join deals d on d.id = p.deal_id where p.user_id = u.id and d.organization_id = $1)
         and not exists (select from contacts c where c.email = u.email) limit 1),
       hold as (insert into vault.legal_holds (kind, subject_id) select 'person', user_id from held)
     insert into contacts (brokerage_id, type, display_name, email)
       select b.id, 'person', 'A copy', held.email from brokerages b, held where b.sandbox_of = $1`,
    [brokerage.id],
  );
  const before = await restOfTheWorld();

  expect((await ask(admin)).status).toBe(200);
  service.clock.advance(31 * day);
  // Counts of mails to a mailbox belong to no brokerage, and are deleted after two days.
  await service.sql('select app.purge_sign_in()');
  // The deletion can be interrupted at any point and continued: a few rows at a time first, then by the job.
  const part = () =>
    service.sql<{ finished: boolean }>(
      'select p.finished from app.brokerage_to_delete($1) b, app.delete_brokerage_part(b, 40) p',
      [[]],
    );
  for (let count = 0; count < 6; count += 1) expect(await part()).toEqual([{ finished: false }]);
  expect(await take(admin)).toMatchObject({ status: 401 });
  await deleteDueBrokerages(service.services);
  expect(await part()).toEqual([]);

  expect(await service.sql('select id from brokerages where sandbox_of is not null')).toEqual([]);
  expect(await service.sql('select id from users where sandbox_id is not null')).toEqual([]);
  expect(await tablesWith(service, words)).toEqual([]);
  // Its id is in the audit record of its deletion, and nowhere else.
  expect(await tablesWith(service, [brokerage.id])).toEqual([
    'public.audit_records',
    expect.stringMatching(/^vault\.audit_records_/),
  ]);
  expect(
    await service.sql('select action, brokerage_id, user_id, details from audit_records where subject_id = $1', [
      brokerage.id,
    ]),
  ).toEqual([
    {
      action: 'brokerage.delete',
      brokerage_id: null,
      user_id: null,
      details: {
        deals: expect.any(Number),
        documents: expect.any(Number),
        people: expect.any(Number),
        asked_at: expect.any(String),
      },
    },
  ]);
  expect(service.log.join('\n')).not.toContain(brokerage.name);
  expect(await bodies()).not.toContain(document!.storage_key);
  expect(await bodies()).toContain(document!.kept);
  // A mail in which somebody else mentions the brokerage is kept.
  expect((await mailFiles(service)).filter((content) => content.startsWith(`To: ${mail.to}`))).toEqual([
    expect.stringContaining(`${brokerage.name} is named.`),
  ]);
  expect(await restOfTheWorld()).toEqual(before);

  // A person who is also a member of another brokerage signs in as before; the name of a person who was a member of
  // this one alone is erased.
  expect(await service.sql('select name, erased_at from users where id = $1', [both.userId])).toEqual([
    { name: 'Bianca Both', erased_at: null },
  ]);
  expect((await (await signInAs(service, both.userId)).ask('/me')).status).toBe(200);
  expect((await only.ask('/me')).status).toBe(401);
  expect(await service.sql('select name from users where id = $1', [only.userId])).toEqual([
    { name: expect.stringMatching(/^Former participant [0-9A-F]{12}$/) },
  ]);
});
