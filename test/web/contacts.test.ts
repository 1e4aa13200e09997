/** Contacts through the web application's routes: permissions, paging, import and export. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { renewForAnotherTry } from '../another-try.ts';
import { openService, type TestService } from '../harness.ts';
import type { Scene } from '../policies/scene.ts';
import { signInAs, type Answer, type SignedIn } from './person.ts';
import { archive, workbook } from './workbook.ts';

const nowhere = '01900000-0000-7000-8000-000000000000';

let service: TestService;
let scene: Scene;
let elsewhere: { brokerage: string; contact: string };
const people: Record<string, SignedIn> = {};
const as = (name: string): SignedIn => people[name]!;

async function setUp(): Promise<void> {
  service = await openService({ scene: true });
  scene = service.scene;
  const members = ['admin', 'broker', 'colleague'];
  for (const name of [...members, 'seller', 'exclusive buyer', "broker's advisor", 'viewer', 'invited', 'outsider'])
    people[name] = await signInAs(service, scene.people[name]!);
  const [foreign] = await service.sql<{ brokerage: string; contact: string }>(
    `with added as (insert into contacts (brokerage_id, type, display_name, email)
       select id, 'person', 'A secret contact', 'secret@example.test' from brokerages where slug = 'elsewhere' returning *)
     select brokerage_id as brokerage, id as contact from added`,
  );
  elsewhere = foreign!;
}
beforeAll(setUp);
renewForAnotherTry(async () => {
  await service.close();
  await setUp();
});
afterAll(() => service?.close());

const listPath = (query: Record<string, string> = {}, brokerage = scene.brokerage) =>
  `/contacts?${new URLSearchParams({ brokerage_id: brokerage, ...query })}`;
const ana = { type: 'person', display_name: 'Ana Ruiz', email: 'ana@example.test', phone: '+1 555 0100' };

async function add(contact: object = {}): Promise<string> {
  const { status, body } = await as('broker').ask('/contacts', {
    brokerage_id: scene.brokerage,
    ...ana,
    ...contact,
  });
  expect(status).toBe(201);
  return body.id;
}

/** Sends a file like the page does. */
async function send(
  name: string,
  path: string,
  csv: string | Uint8Array<ArrayBuffer>,
  brokerage = scene.brokerage,
  options = '',
): Promise<Answer> {
  const response = await fetch(`${service.origin}/api/web${path}?brokerage_id=${brokerage}${options}`, {
    method: 'POST',
    headers: { ...as(name).headers, 'content-type': 'text/csv' },
    body: csv,
  });
  return { status: response.status, body: await response.json() };
}

async function exported(name: string, brokerage = scene.brokerage): Promise<Response> {
  return fetch(`${service.origin}/api/web/contacts/export?brokerage_id=${brokerage}`, { headers: as(name).headers });
}

/** Every contact of the list, fetched page by page. */
async function wholeList(query: Record<string, string>): Promise<{ id: string; display_name: string }[]> {
  const found = [];
  let cursor: string | null = null;
  do {
    const { status, body }: Answer = await as('broker').ask(listPath({ ...query, ...(cursor && { cursor }) }));
    expect(status).toBe(200);
    found.push(...body.items);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return found;
}

describe('members of the brokerage', () => {
  test('add, change, archive and restore contacts, with an audit record for each change', async () => {
    const id = await add();
    const { body: seen } = await as('colleague').ask(listPath({ search: 'RUIZ 0100' }));
    expect(seen).toEqual({
      items: [
        {
          ...ana,
          id,
          archived_at: null,
          erased_at: null,
          created_at: expect.stringMatching(/Z$/),
          updated_at: expect.stringMatching(/Z$/),
        },
      ],
      next_cursor: null,
    });
    expect(await as('admin').ask(`/contacts/${id}`, { phone: '' }, 'PATCH')).toMatchObject({
      status: 200,
      body: { ...ana, phone: null },
    });
    expect((await as('colleague').ask(`/contacts/${id}/archive`, {})).body.archived_at).toMatch(/Z$/);
    expect((await as('broker').ask(listPath({ search: 'ruiz' }))).body.items).toEqual([]);
    expect((await as('broker').ask(listPath({ search: 'ruiz', archived: 'true' }))).body.items).toHaveLength(1);
    expect((await as('broker').ask(`/contacts/${id}/restore`, {})).body.archived_at).toBeNull();

    const records = await service.sql<{ action: string; brokerage_id: string; details: unknown }>(
      'select action, brokerage_id, details from audit_records where subject_id = $1 order by at, id',
      [id],
    );
    expect(records.map(({ action }) => action)).toEqual([
      'contact.create',
      'contact.update',
      'contact.archive',
      'contact.restore',
    ]);
    expect(new Set(records.map(({ brokerage_id }) => brokerage_id))).toEqual(new Set([scene.brokerage]));
    expect(JSON.stringify(records)).not.toMatch(/Ruiz|example\.test/);
  });

  test('archive and restore many at once, with an audit record for each, but restore none that was erased or merged', async () => {
    const [a, b, erased, merged] = [await add(), await add(), await add(), await add()];
    expect((await as('admin').ask(`/contacts/${erased}/erase`, {})).status).toBe(204);
    await service.sql('update contacts set archived_at = app.now(), merged_into = $2 where id = $1', [merged, a]);
    const put = (archived: boolean, ids: string[], brokerage_id = scene.brokerage) =>
      as('broker').ask('/contacts/archived', { brokerage_id, ids, archived });
    const there = async () => {
      const found = await service.sql<{ id: string }>(
        'select id from contacts where id = any ($1) and archived_at is null order by id',
        [[a, b, erased, merged, elsewhere.contact]],
      );
      return found.map(({ id }) => id);
    };
    const all = [a, b, erased, merged, elsewhere.contact, nowhere];
    expect((await put(true, all)).body.ids.toSorted()).toEqual([a, b].toSorted());
    expect(await there()).toEqual([elsewhere.contact]);
    expect((await put(true, all)).body).toEqual({ ids: [] });
    expect((await put(false, all)).body.ids.toSorted()).toEqual([a, b].toSorted());
    expect(await there()).toEqual([a, b, elsewhere.contact].toSorted());
    expect((await put(true, [elsewhere.contact], elsewhere.brokerage)).status).toBe(404);
    expect(await there()).toHaveLength(3);
    for (const ids of [[], ['x'], Array.from({ length: 1001 }, () => nowhere)])
      expect((await put(true, ids)).status).toBe(400);
    const records = await service.sql<{ action: string; by: string }>(
      `select action, user_id as by from audit_records where subject_id = any ($1) and action <> 'contact.create'
         and brokerage_id = $2 order by action, id`,
      [[a, b], scene.brokerage],
    );
    expect(records.map(({ action }) => action)).toEqual([
      'contact.archive',
      'contact.archive',
      'contact.restore',
      'contact.restore',
    ]);
  });

  test('who are admins erase a contact with its duplicates, and others may not', async () => {
    const id = await add({ display_name: 'Zenobia Oldcontact', email: 'zenobia@example.test' });
    const duplicate = await add({ display_name: 'Zenobia (twice)', email: null, phone: '+1 555 0177' });
    await as('broker').ask(`/contacts/${duplicate}/archive`, {});
    await service.sql('update contacts set merged_into = $2 where id = $1', [duplicate, id]);
    const erase = (name: string, which = id) => as(name).ask(`/contacts/${which}/erase`, {});
    for (const name of ['broker', 'colleague']) expect(await erase(name)).toMatchObject({ status: 403 });
    for (const name of ['seller', 'exclusive buyer', 'outsider'])
      expect(await erase(name)).toEqual(await erase(name, nowhere));
    expect(await erase('admin', elsewhere.contact)).toMatchObject({ status: 404 });

    const hold = `('brokerage', '${scene.brokerage}')`;
    await service.sql(`insert into vault.legal_holds (kind, subject_id) values ${hold}`);
    expect(await erase('admin')).toMatchObject({ status: 409, body: { error: { code: 'legal_hold' } } });
    await service.sql(`delete from vault.legal_holds where (kind, subject_id::text) = ${hold}`);
    // Of an account with the address of the duplicate, too.
    const [account] = await service.sql<{ id: string }>(
      `insert into users (email, name) values ('zenobia.twice@example.test', 'Zenobia') returning id`,
    );
    await service.sql(`update contacts set email = 'Zenobia.Twice@example.test' where id = $1`, [duplicate]);
    await service.sql(`insert into vault.legal_holds (kind, subject_id) values ('person', $1)`, [account!.id]);
    expect(await erase('admin')).toMatchObject({ status: 409, body: { error: { code: 'legal_hold' } } });
    await service.sql('delete from vault.legal_holds where subject_id = $1', [account!.id]);

    expect((await erase('admin')).status).toBe(204);
    // The id by which the operator erases it again after a restore.
    expect(service.log.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ level: 'info', msg: 'erased a contact', contact: id }),
    );
    for (const one of [id, duplicate])
      expect(
        await service.sql(
          'select display_name, email, phone, external_id, archived_at is not null as archived from contacts where id = $1',
          [one],
        ),
      ).toEqual([{ display_name: 'Former participant', email: null, phone: null, external_id: null, archived: true }]);
    expect((await as('broker').ask(listPath({ search: 'zenobia', archived: 'true' }))).body.items).toEqual([]);
    expect(
      await service.sql(
        `select a.brokerage_id, a.user_id, a.details from audit_records a where a.action = 'contact.erase' and a.subject_id = $1`,
        [id],
      ),
    ).toEqual([{ brokerage_id: scene.brokerage, user_id: scene.people['admin'], details: { by: 'admin' } }]);
    expect(
      await service.sql(`select change from change_events where object_id = $1 order by at desc, id desc limit 1`, [
        id,
      ]),
    ).toEqual([{ change: 'archived' }]);

    const [row] = (await as('broker').ask(listPath({ search: 'former', archived: 'true' }))).body.items;
    expect(row).toMatchObject({ display_name: 'Former participant', erased_at: expect.any(String) });
    for (const [path, body, method] of [
      [`/contacts/${id}/restore`, {}],
      [`/contacts/${id}`, { display_name: 'Zenobia again' }, 'PATCH'],
    ] as const)
      expect(await as('broker').ask(path, body, method)).toMatchObject({
        status: 409,
        body: { error: { code: 'contact_erased' } },
      });
    expect(await erase('admin')).toMatchObject({ status: 204 });
  });

  test('get an error at each invalid field', async () => {
    const { status, body } = await as('broker').ask('/contacts', {
      brokerage_id: scene.brokerage,
      type: 'cat',
      display_name: ' ',
      email: 'ana at example',
      phone: '1'.repeat(65_537),
    });
    expect(status).toBe(400);
    expect(body.error.details).toEqual([
      { path: 'type', message: 'Choose person or company.' },
      { path: 'display_name', message: 'Enter a name.' },
      { path: 'email', message: 'This is not an e-mail address.' },
      { path: 'phone', message: 'At most 65536 characters.' },
    ]);
    expect((await as('broker').ask(listPath({ sort: 'phone' }))).body.error.details[0].path).toBe('sort');
  });

  test('cannot change anything without the CSRF token of their session', async () => {
    const id = await add();
    const { 'x-csrf-token': _, ...headers } = as('broker').headers;
    for (const [method, path] of [
      ['POST', '/contacts'],
      ['PATCH', `/contacts/${id}`],
      ['POST', `/contacts/${id}/archive`],
      ['POST', '/contacts/archived'],
      ['POST', `/contacts/import?brokerage_id=${scene.brokerage}`],
    ] as const)
      expect((await fetch(`${service.origin}/api/web${path}`, { method, headers })).status).toBe(403);
  });
});

describe('everybody else', () => {
  test.each(['seller', 'exclusive buyer', "broker's advisor", 'viewer', 'invited', 'outsider'])(
    'sees no contacts and cannot change any: %s',
    async (name) => {
      const id = await add();
      const person = as(name);
      expect((await person.ask(listPath())).body).toEqual({ items: [], next_cursor: null });
      expect((await person.ask('/contacts', { brokerage_id: scene.brokerage, ...ana })).status).toBe(403);
      for (const [path, body, method] of [
        ['', { phone: null }, 'PATCH'],
        ['/archive', {}, 'POST'],
        ['/restore', {}, 'POST'],
      ] as const)
        expect(await person.ask(`/contacts/${id}${path}`, body, method)).toEqual(
          await person.ask(`/contacts/${nowhere}${path}`, body, method),
        );
      expect((await exported(name)).status).toBe(404);
      const many = { brokerage_id: scene.brokerage, ids: [id], archived: true };
      expect((await person.ask('/contacts/archived', many)).status).toBe(404);
      for (const path of ['/contacts/import/preview', '/contacts/import'])
        expect((await send(name, path, 'name\nAna')).status).toBe(404);
    },
  );

  // Errors in a file can only be found by reading it.
  test.each([
    ['too large', `name\n${'x'.repeat(2_200_000)}`],
    ['not in UTF-8', new Uint8Array([0x6e, 0xff, 0xfe])],
    ['without a column that is known', 'who,what\na,b'],
    ['of too many rows', `name\n${'x\n'.repeat(5001)}`],
  ])('gets 404 before their file is read: one that is %s', async (_, file) => {
    for (const path of ['/contacts/import/preview', '/contacts/import'])
      for (const [name, brokerage] of [
        ['outsider', scene.brokerage],
        ['exclusive buyer', nowhere],
        ['broker', elsewhere.brokerage],
      ] as const)
        expect((await send(name, path, file, brokerage)).status, `${name} ${path}`).toBe(404);
  });

  test('from another brokerage gets the same responses as for nonexistent contacts', async () => {
    const broker = as('broker');
    expect((await broker.ask(listPath({}, elsewhere.brokerage))).body.items).toEqual([]);
    expect(await broker.ask(`/contacts/${elsewhere.contact}/archive`, {})).toEqual(
      await broker.ask(`/contacts/${nowhere}/archive`, {}),
    );
    expect((await broker.ask('/contacts', { brokerage_id: elsewhere.brokerage, ...ana })).status).toBe(403);
    expect((await exported('broker', elsewhere.brokerage)).status).toBe(404);
    const probe = await send(
      'broker',
      '/contacts/import/preview',
      'name,email\nx,secret@example.test',
      elsewhere.brokerage,
    );
    expect(probe.status).toBe(404);
    expect(probe.body).toEqual((await send('broker', '/contacts/import/preview', 'name\nx', nowhere)).body);
  });
});

describe('the list', () => {
  test('is paged without duplicates or gaps, even if a contact is added meanwhile', async () => {
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name, created_at)
       select $1, 'company', 'Paged ' || (n % 5), app.now() - (n % 3) * interval '1 day' from generate_series(1, 23) n`,
      [scene.brokerage],
    );
    for (const sort of ['display_name', '-display_name', 'created_at', '-created_at']) {
      const all = await wholeList({ search: 'paged', sort, limit: '4' });
      expect(new Set(all.map(({ id }) => id)).size).toBe(23);
      expect(all.map(({ id }) => id)).toEqual(
        (await as('broker').ask(listPath({ search: 'paged', sort }))).body.items.map(({ id }: { id: string }) => id),
      );
    }
    const first = (await as('broker').ask(listPath({ search: 'paged', sort: 'display_name', limit: '12' }))).body;
    await add({ display_name: 'Paged 0, come lately' });
    const rest = (
      await as('broker').ask(
        listPath({ search: 'paged', sort: 'display_name', cursor: first.next_cursor, limit: '50' }),
      )
    ).body;
    expect(first.items.length + rest.items.length).toBe(23);
  });

  test('accepts a cursor only from the person who received it, for the same list', async () => {
    const { body } = await as('broker').ask(listPath({ limit: '2' }));
    const cursor = body.next_cursor;
    for (const [name, query] of [
      ['colleague', { cursor }],
      ['broker', { cursor, sort: 'display_name' }],
      ['broker', { cursor: `${cursor}x` }],
      ['broker', { cursor: 'x' }],
    ] as const)
      expect((await as(name).ask(listPath(query))).status, `${name} ${JSON.stringify(query)}`).toBe(400);
  });

  test('finds contacts by all words of a search, and takes pattern characters literally', async () => {
    await add({ display_name: '100% Plumbing_Ltd', email: null, phone: null });
    const names = async (search: string) =>
      (await as('broker').ask(listPath({ search }))).body.items.map((one: typeof ana) => one.display_name);
    expect(await names('100% plumb')).toEqual(['100% Plumbing_Ltd']);
    expect(await names('plumbing_')).toEqual(['100% Plumbing_Ltd']);
    expect(await names('1_0% plumb')).toEqual([]);
    // PostgreSQL and JavaScript convert these names to lower case differently.
    for (const display_name of ['ΟΔΟΣ ΑΕ', 'İstanbul Ltd']) {
      await add({ display_name, email: null, phone: null });
      expect(await names(display_name)).toEqual([display_name]);
    }
  });

  test('finds contacts however accents, punctuation and phone numbers are written', async () => {
    const names = async (search: string) =>
      (await as('broker').ask(listPath({ search }))).body.items.map((one: typeof ana) => one.display_name);
    const own = async (display_name: string, phone: string | null = null) => add({ display_name, email: null, phone });
    await own('José Quintero');
    await own('Müller Straßenbau');
    await own('Zoë Decomposed'.normalize('NFD'));
    await own('O’Brien “Lucky” Łukasz Ærø');
    await own('Sam Jonesworth');
    await own('مُحَمَّد الأَمِين');
    await own('محمــد الأمين');
    await own('שָׁלוֹם וּבְרָכָה בע״מ');
    await own('\u200fשלום\u200f וברכה בע"מ');
    await own('Acmeworks, Inc', '+1 (614) 555-0942');
    await own('Vale Two', '614.555.0943 x12');
    for (const [search, found] of [
      ['jose quintero', 'José Quintero'],
      ['JOSÉ', 'José Quintero'],
      ['quintero josé'.normalize('NFD'), 'José Quintero'],
      ['muller strassenbau', 'Müller Straßenbau'],
      ['müller STRASSE', 'Müller Straßenbau'],
      ['zoë decomposed', 'Zoë Decomposed'.normalize('NFD')],
      ["o'brien lukasz aero", 'O’Brien “Lucky” Łukasz Ærø'],
      ['o’brien "lucky"', 'O’Brien “Lucky” Łukasz Ærø'],
      ['Jonesworth, Sam', 'Sam Jonesworth'],
      ['acmeworks inc.', 'Acmeworks, Inc'],
      ['6145550942', 'Acmeworks, Inc'],
      ['614-555-0942', 'Acmeworks, Inc'],
      ['(614) 555-0942', 'Acmeworks, Inc'],
      ['+1 614 5550942', 'Acmeworks, Inc'],
      ['614/5550943', 'Vale Two'],
      ['5550943 x12', 'Vale Two'],
      // More words than a request of an API key may have.
      ['a c m e w o r k s acmeworks', 'Acmeworks, Inc'],
    ] as const)
      expect(await names(search), search).toEqual([found]);
    expect(await names('a c m e w o r k s acmeworks nowhere')).toEqual([]);
    for (const search of ['محمد الامين', 'مُحَمَّد', 'محـــمد', 'אין'])
      expect((await names(search)).toSorted(), search).toEqual(
        search === 'אין' ? [] : ['محمــد الأمين', 'مُحَمَّد الأَمِين'],
      );
    for (const search of ['שלום בע"מ', 'שָׁלוֹם', 'וּבְרָכָה בע״מ', 'ש\u200eלום'])
      expect(await names(search), search).toHaveLength(2);
  });

  test('is exported as it is searched, and one contact is read by its id', async () => {
    const id = await add({ display_name: 'Exported Ümit', email: null });
    const gone = await add({ display_name: 'Exported Gone', email: null });
    await as('broker').ask(`/contacts/${gone}/archive`, {});
    const file = async (query: string) => {
      const path = `/api/web/contacts/export?brokerage_id=${scene.brokerage}&${query}`;
      const text = await (await fetch(service.origin + path, { headers: as('broker').headers })).text();
      return text
        .trim()
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(',')[1]);
    };
    expect(await file('search=umit%20exported')).toEqual(['Exported Ümit']);
    expect(await file('search=exported&archived=true')).toEqual(['Exported Gone']);
    expect(await as('colleague').ask(`/contacts/${id}`)).toMatchObject({
      status: 200,
      body: { ...ana, id, email: null, display_name: 'Exported Ümit' },
    });
    expect((await as('broker').ask(`/contacts/${gone}`)).body.archived_at).toMatch(/Z$/);
    for (const [name, other] of [
      ['seller', id],
      ['outsider', id],
      ['broker', elsewhere.contact],
      ['broker', nowhere],
    ] as const)
      expect((await as(name).ask(`/contacts/${other}`)).status, `${name} ${other}`).toBe(404);
  });
});

const table = [
  'Name;Kind;E-mail address;Phone;Notes',
  'Known Kit;person;KIT@example.test;;met in May',
  '"Bloom; Sons ""Co"""',
  ';company;;;',
  'Wrong;cat;nowhere;;',
].join('\r\n');

describe('importing', () => {
  test('previews each row, duplicate and error, and stores nothing', async () => {
    const known = await add({ display_name: 'Kit', email: 'kit@example.test' });
    const before = await wholeList({});
    const { status, body } = await send('broker', '/contacts/import/preview', `\ufeff${table}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      row_count: 4,
      rows: [
        {
          row: 2,
          contact: { type: 'person', display_name: 'Known Kit', email: 'KIT@example.test', phone: null },
          duplicate_of: known,
          duplicate_archived: false,
          same_as: null,
        },
        {
          row: 3,
          contact: { type: 'person', display_name: 'Bloom; Sons "Co"', email: null, phone: null },
          duplicate_of: null,
          duplicate_archived: false,
          same_as: null,
        },
      ],
      faults: [
        { row: 4, column: 'display_name', message: 'Enter a name.', name: '', value: '' },
        { row: 5, column: 'email', message: 'This is not an e-mail address.', name: 'Wrong', value: 'nowhere' },
      ],
      left_out: ['Notes', 'Kind (where it is neither person nor company)'],
      imported: 0,
      heading_row: 1,
      rows_left_out: [
        '\ufeffRow,Why it was left out,Name,Kind,E-mail address,Phone,Notes',
        '2,Already in contacts.,Known Kit,person,KIT@example.test,,met in May',
        '4,Name: Enter a name.,,company,,,',
        '5,E-mail: This is not an e-mail address.,Wrong,cat,nowhere,,',
        '',
      ].join('\r\n'),
    });
    expect(await wholeList({})).toEqual(before);
  });

  test('stores all rows or none, and each address once', async () => {
    await add({ display_name: 'Lee', email: 'lee@example.test' });
    const before = await wholeList({});
    expect(await send('broker', '/contacts/import', table)).toMatchObject({
      status: 409,
      body: { error: { code: 'faults_in_file' } },
    });
    expect(await wholeList({})).toEqual(before);

    const csv =
      'name,email\nMoss One,moss@example.test\nLee again,LEE@example.test\nMoss Two,Moss@example.test\nNobody,\n';
    const { body } = await send('broker', '/contacts/import', csv);
    expect(body).toMatchObject({ row_count: 4, imported: 2, faults: [] });
    expect(body.rows).toMatchObject([
      { row: 2, duplicate_of: null, same_as: null },
      { row: 3, duplicate_of: expect.any(String), same_as: null },
      { row: 4, duplicate_of: null, same_as: 2 },
      { row: 5, duplicate_of: null, same_as: null },
    ]);
    expect((await wholeList({ search: 'moss' })).map(({ display_name }) => display_name)).toEqual(['Moss One']);
    const [record] = await service.sql(
      `select action, details from audit_records where action = 'contact.import' order by at desc, id desc limit 1`,
    );
    expect(record).toEqual({ action: 'contact.import', details: { added: 2 } });
  });

  test('stores the rows without errors where that is asked for, and gives the others to correct', async () => {
    const csv = [
      'name,email,notes',
      'Skip One,one@skip.test,',
      'Skip Two,two@skip,"=1+1, twice"',
      `Skip Three,${'x'.repeat(1_100)},${'n'.repeat(1_100)}`,
      'Skip, Four,',
    ].join('\n');
    const { rows_left_out: file } = (await send('broker', '/contacts/import/preview', csv)).body;
    expect(file.split('\r\n')).toEqual([
      '\ufeffRow,Why it was left out,name,email,notes',
      `3,E-mail: This is not an e-mail address.,Skip Two,two@skip,"'=1+1, twice"`,
      `4,"E-mail: A cell can have at most 1,000 characters: shorten it, or add this contact by hand.",Skip Three,${'x'.repeat(1_100)},${'n'.repeat(1_100)}`,
      '5,E-mail: This is not an e-mail address.,Skip, Four,',
      '',
    ]);
    const skipping = (text: string) => send('broker', '/contacts/import', text, scene.brokerage, '&skip_faults=true');
    expect(await skipping(csv)).toMatchObject({ status: 200, body: { row_count: 4, imported: 1 } });
    expect((await wholeList({ search: 'skip' })).map(({ display_name }) => display_name)).toEqual(['Skip One']);

    const corrected = file.replace('two@skip', 'two@skip.test');
    const { rows_left_out: again } = (await send('broker', '/contacts/import/preview', corrected)).body;
    expect(again.split('\r\n').map((line: string) => line.slice(0, 30))).toEqual([
      '\ufeffRow,Why it was left out,name,',
      '3,"E-mail: A cell can have at ',
      '4,E-mail: This is not an e-mai',
      '',
    ]);
    expect(await skipping(corrected)).toMatchObject({ body: { imported: 1 } });
    expect(await wholeList({ search: 'skip' })).toHaveLength(2);

    // A column of the file's own is kept.
    const own = 'Row,name,email\nA7,Skip Five,five@skip\n';
    expect((await send('broker', '/contacts/import/preview', own)).body.rows_left_out).toBe(
      '\ufeffRow,Why it was left out,Row,name,email\r\n2,E-mail: This is not an e-mail address.,A7,Skip Five,five@skip\r\n',
    );
  });

  test('takes the first of several addresses, and knows how people write that there is none', async () => {
    const cells = [
      'a@x.test; b@y.test',
      'a@x.test ::: b@y.test',
      '"Kim, Sarah <s@x.test>"',
      'mailto:s@x.test',
      'a@x.test b@y.test',
      'n/a',
      '-',
      'None',
      'ana kim@x.test',
    ];
    const csv = ['name;email;phone', ...cells.map((cell, n) => `N${n};${cell.replaceAll(/.*;.*/g, '"$&"')};`)];
    csv.push('P1;;555 1 ::: 555 2', 'P2;;N/A');
    expect(await look(csv.join('\n'))).toEqual({
      contacts: [
        'person|N0|a@x.test|',
        'person|N1|a@x.test|',
        'person|N2|s@x.test|',
        'person|N3|s@x.test|',
        'person|N4|a@x.test|',
        ...[5, 6, 7].map((n) => `person|N${n}||`),
        'person|P1||555 1',
        'person|P2||',
      ],
      faults: [
        {
          row: 10,
          column: 'email',
          message: 'This is not an e-mail address.',
          name: 'N8',
          value: 'ana kim@x.test',
        },
      ],
      left_out: ['email (all but the first)', 'phone (all but the first)'],
    });
    expect(await look('name,email 1,email 2\nAna,n/a,a@x.test\n')).toMatchObject({
      contacts: ['person|Ana|a@x.test|'],
      left_out: [],
    });
  });

  test('a second time adds nobody, and brings nobody back who was archived', async () => {
    const csv = [
      'name,type,email,phone',
      'Twice Known,,,+1 (614) 555 0777',
      'Twice Known,,,614 555 0778',
      'Twice Known,company,,',
      'twice known,company,,',
      'Filed Away,,filed@example.test,',
      'Filed Too,,,',
    ].join('\n');
    const first = (await send('broker', '/contacts/import', csv)).body;
    expect(first).toMatchObject({ imported: 5 });
    expect(first.rows.map(({ same_as }: { same_as: number | null }) => same_as)).toEqual([
      null,
      null,
      null,
      4,
      null,
      null,
    ]);
    for (const { id, display_name } of await wholeList({ search: 'filed' })) {
      expect(display_name).toMatch(/^Filed/);
      await as('broker').ask(`/contacts/${id}/archive`, {});
    }
    const { body } = await send(
      'broker',
      '/contacts/import',
      csv.replace('+1 (614) 555 0777', '1-614-555-0777').replace('filed@', 'FILED@'),
    );
    expect(body.imported).toBe(0);
    expect(body.rows).toMatchObject(
      [false, false, false, false, true, true].map((duplicate_archived) => ({
        duplicate_of: expect.any(String),
        duplicate_archived,
      })),
    );
    expect(await wholeList({ search: 'twice' })).toHaveLength(3);
    expect(await wholeList({ search: 'filed' })).toEqual([]);
  });

  test('tells people of one name apart by numbers in any digits, and knows a name however its accents are stored', async () => {
    const name = 'José Álvarez';
    const csv = ['name,phone', `${name},۰۹۱۲ ۱۱۱`, `${name},۰۹۱۲ ۲۲۲`, `${name.normalize('NFD')},۰۹۱۲ ۱۱۱`].join('\n');
    const first = (await send('broker', '/contacts/import', csv)).body;
    expect(first.rows.map(({ same_as }: { same_as: number | null }) => same_as)).toEqual([null, null, 2]);
    expect(first.imported).toBe(2);
    const again = (await send('broker', '/contacts/import', csv.normalize('NFD').replace('۲۲۲', '۳۳۳'))).body;
    expect(again.rows.map(({ duplicate_of }: { duplicate_of: string | null }) => duplicate_of === null)).toEqual([
      false,
      true,
      false,
    ]);
    expect(again.imported).toBe(1);
  });

  test('of one file at once stores each contact once', async () => {
    const csv = `name,email\n${Array.from({ length: 300 }, (_, n) => `At Once ${n},${n % 2 ? '' : `once${n}@example.test`}`).join('\n')}`;
    const answers = await Promise.all([1, 2, 3].map(() => send('broker', '/contacts/import', csv)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ body }) => body.imported as number).toSorted((a, b) => a - b)).toEqual([0, 0, 300]);
    expect(await wholeList({ search: 'at once' })).toHaveLength(300);
    await service.sql(`delete from contacts where display_name like 'At Once %'`);
  });

  test('recognizes each of thousands of contacts with the same name', async () => {
    const count = 4_000;
    const phone = (n: number) => `+1 614 ${1_000_000 + n}`;
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name, phone)
       select $1, 'person', 'Reception', '1614' || 1000000 + n from generate_series(1, $2::int) n`,
      [scene.brokerage, count],
    );
    onTestFinished(async () => {
      await service.sql(`delete from contacts where display_name = 'Reception'`);
    });
    const lines = Array.from({ length: count }, (_, n) => `reception,${phone(n + 1)}`);
    const begun = performance.now();
    const { body } = await send('broker', '/contacts/import/preview', ['name,phone', ...lines].join('\n'));
    // Each compared with each took many times as long.
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(body.rows).toHaveLength(count);
    expect(new Set(body.rows.map(({ duplicate_of }: { duplicate_of: string | null }) => duplicate_of)).size).toBe(
      count,
    );
  });

  const look = async (csv: string | Uint8Array<ArrayBuffer>) => {
    const { rows, faults, left_out } = (await send('broker', '/contacts/import/preview', csv)).body;
    const contacts = rows.map(({ contact }: { contact: typeof ana }) => Object.values(contact).map((one) => one ?? ''));
    return { contacts: contacts.map((values: string[]) => values.join('|')), faults, left_out };
  };

  test('uses the company as the name only of rows without another name', async () => {
    expect(await look('name,company,email\nSarah Kim,Acme,s@x.test\n,Bloom,b@x.test\n')).toEqual({
      contacts: ['person|Sarah Kim|s@x.test|', 'company|Bloom|b@x.test|'],
      faults: [],
      left_out: ['company (where there is a name)'],
    });
    expect(await look('Company;Type;Name\nAcme;person;\nBloom;company;Bloom Inc\n')).toMatchObject({
      contacts: ['person|Acme||', 'company|Bloom Inc||'],
    });
  });

  test('recognizes the columns of address books, and lists those that it ignores', async () => {
    const google = [
      'First Name,Middle Name,Last Name,Notes,Organization Name,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Value,Phone 1 - Value,',
      'Sarah,,Kim,,Acme,Work,s@x.test,s2@x.test,555 0100,,',
      ',,Ruiz,,,,,,,,',
      ',,,,Bloom,,b@x.test,,,,',
    ];
    expect(await look(google.join('\n'))).toEqual({
      contacts: ['person|Sarah Kim|s@x.test|555 0100', 'person|Ruiz||', 'company|Bloom|b@x.test|'],
      faults: [],
      left_out: ['Organization Name (where there is a name)', 'E-mail 1 - Label', 'E-mail 2 - Value'],
    });
    const outlook = [
      'Given Name,Family Name,E-mail Address,Business Phone,Mobile Phone,,Title',
      'Sarah,Kim,s@x.test,555 0100,555 0101,x,',
      'Ana,Ruiz,,,555 0102,,',
    ];
    expect(await look(outlook.join('\n'))).toEqual({
      contacts: ['person|Sarah Kim|s@x.test|555 0100', 'person|Ana Ruiz||555 0102'],
      faults: [],
      left_out: ['Mobile Phone', 'no. 6'],
    });
    expect(await look('Name,Display name,First name\nSarah Kim,Kim,Sarah\n,Ana Ruiz,\n')).toEqual({
      contacts: ['person|Sarah Kim||', 'person|Ana Ruiz||'],
      faults: [],
      left_out: ['Display name', 'First name'],
    });
  });

  test.each([
    ['Pipedrive', 'Person - Name,Person - Organization,Person - Email - Work,Person - Phone - Work'],
    ['Zoho', 'Contact Name,Account Name,Email,Mobile'],
    ['a list of buyers', 'Buyer Name,Buyer Company,Buyer Email,Buyer Phone'],
    ['German programs', 'Name;Firma;E-Mail-Adresse;Telefon geschäftlich'],
  ])('recognizes the columns of %s', async (_, heading) => {
    const mark = heading.includes(';') ? ';' : ',';
    const rows = [heading, 'Ana Ruiz,Acme,a@x.test,555 1', ',Bloom,b@x.test,'].map((one) => one.replaceAll(',', mark));
    expect(await look(rows.join('\n'))).toMatchObject({
      contacts: ['person|Ana Ruiz|a@x.test|555 1', 'company|Bloom|b@x.test|'],
      faults: [],
    });
  });

  test('never joins the name of one person with the address of another', async () => {
    expect(
      (
        await send(
          'broker',
          '/contacts/import/preview',
          'Deal,Seller Name,Seller Email,Seller Phone,Buyer Name,Buyer Email,Buyer Phone\nBakery,Sam,,1,Ana,a@x.test,2\n',
        )
      ).status,
    ).toBe(400);
    for (const [heading, row, contact] of [
      ['Company,Seller Name,Seller Email,Buyer Name,Buyer Email', 'Bakery,Sam,,Ana,a@x.test', 'company|Bakery||'],
      ['Name,Buyer 1 Email,Buyer 1 Phone,Buyer 2 Email', 'Sam,,1,b@x.test', 'person|Sam||'],
      ['Company,Client Name,Contact First Name,Contact Email', 'Bakery,Acme Inc,Ana,a@x.test', 'company|Bakery||'],
      ['Name,Contact Name,Contact Email', 'Acme Inc,Ana,a@x.test', 'person|Acme Inc||'],
      ['Name,Contact Email,Contact Phone,Buyer Type', 'Ana,a@x.test,1,Cash', 'person|Ana|a@x.test|1'],
      ['Company,Contact,Contact Email', 'Acme,Ana,a@x.test', 'person|Ana|a@x.test|'],
      ['Company,First Name,Last Name,Contact', 'Acme,Ana,Ruiz,Yes', 'person|Ana Ruiz||'],
      ['Company,First Name,Last Name,Contact', 'Acme,,,Yes', 'company|Acme||'],
    ])
      expect((await look(`${heading}\n${row}\n`)).contacts, heading).toEqual([contact]);
  });

  test('takes a type that it does not know for none, and skips a title above the headings', async () => {
    expect(
      await look(
        'All buyers\n\nExported on,2026-05-01\nVorname,Nachname,Company,Type\nAna,Ruiz,,Buyer\n,,Acme,Buyer\n,,Bloom,Individual\n',
      ),
    ).toEqual({
      contacts: ['person|Ana Ruiz||', 'company|Acme||', 'person|Bloom||'],
      faults: [],
      left_out: ['Type (where it is neither person nor company)'],
    });
    const { body } = await send('broker', '/contacts/import/preview', 'All buyers\nname,email\nAna,nowhere\nEva,\n');
    expect(body).toMatchObject({ heading_row: 2, row_count: 2, rows: [{ row: 4 }], faults: [{ row: 3 }] });
    // A row that is no longer than the first one, or has only one word that could be a heading, may be a contact.
    for (const csv of ['who,kind\nAna,Company\n', 'Ana\nFirma\nBo\n', 'Ana,\nFirma,555 1\nBo,555 2\n'])
      expect((await send('broker', '/contacts/import/preview', csv)).status, csv).toBe(400);
  });

  test('reads each row of a file with mixed line ends, and line ends in quotation marks', async () => {
    expect(await look('name,phone\r\nAlpha Loss,1\nBeta Loss\r\nGamma Loss,2\r"Delta\nLoss","3\r\n4"\n')).toMatchObject(
      {
        contacts: ['person|Alpha Loss||1', 'person|Beta Loss||', 'person|Gamma Loss||2', 'person|Delta\nLoss||3\r\n4'],
        faults: [],
      },
    );
  });

  test('reads marks for inches, a first line that names the delimiter, and the encodings of spreadsheets', async () => {
    const csv = 'name,phone\n5" Pipe Co,1\n"6"" Pipe, Inc",2\n';
    const contacts = ['person|5" Pipe Co||1', 'person|6" Pipe, Inc||2'];
    expect(await look(csv)).toMatchObject({ contacts, faults: [] });
    expect(await look('sep=;\r\nname;phone\r\n5" Pipe Co;1\r\n"6"" Pipe, Inc";2\r\n')).toMatchObject({ contacts });
    expect(await look(new Uint8Array(Buffer.from(`\ufeff${csv}`, 'utf16le')))).toMatchObject({ contacts });
    expect(await look(new Uint8Array(Buffer.from('name\nAna\x92s Shop\n', 'latin1')))).toMatchObject({
      contacts: ['person|Ana’s Shop||'],
    });
  });

  test('rejects a row with more cells than the first line names', async () => {
    const message =
      'This row has more cells than the first line: put quotation marks around a cell that contains a comma or semicolon.';
    expect(await look('name\nKim, Sarah\nAna,\n')).toEqual({
      contacts: ['person|Ana||'],
      faults: [{ row: 2, column: null, message, name: 'Kim, Sarah', value: '' }],
      left_out: [],
    });
    expect(await send('broker', '/contacts/import', 'name\nKim, Sarah')).toMatchObject({ status: 409 });
    // A row whose cells are in the wrong columns gets no further errors.
    expect(await look('name,email,\nKim, Sarah,s@x.test')).toMatchObject({
      contacts: [],
      faults: [{ row: 2, column: null, message, name: 'Kim, Sarah, s@x.test', value: '' }],
    });
  });

  test('reports a value that is too long for a file at its cell, and never truncates it', async () => {
    const name = `Long ${'n'.repeat(1_495)}`;
    const id = await add({ display_name: name, email: 'long@example.test', phone: '1'.repeat(1_001) });
    const csv = await (await exported('broker')).text();
    const row = csv.split('\r\n').findIndex((line) => line.includes('long@example.test')) + 1;
    const message = 'A cell can have at most 1,000 characters: shorten it, or add this contact by hand.';
    await as('broker').ask(`/contacts/${id}/archive`, {});
    const before = await wholeList({});
    const { body } = await send('broker', '/contacts/import/preview', csv);
    expect(body.faults).toMatchObject([
      { row, column: 'display_name', message },
      { row, column: 'phone', message },
    ]);
    expect(body.rows.map((one: { row: number }) => one.row)).not.toContain(row);
    expect(await send('broker', '/contacts/import', csv)).toMatchObject({
      status: 409,
      body: { error: { code: 'faults_in_file' } },
    });
    expect(await wholeList({})).toEqual(before);

    const most = 'm'.repeat(1_000);
    const file = `name,email,notes\n${most},${'e'.repeat(1_001)},\n,x,\n${most}${' '.repeat(500)},,${'unread'.repeat(200)}\n`;
    const read = (await send('broker', '/contacts/import/preview', file)).body;
    expect(read.faults).toMatchObject([
      { row: 2, column: 'email', message },
      { row: 3, column: 'display_name', message: 'Enter a name.' },
      { row: 3, column: 'email', message: 'This is not an e-mail address.' },
    ]);
    expect(read.rows).toMatchObject([{ row: 4, contact: { display_name: most } }]);
  });

  test('explains what is wrong with an invalid file', async () => {
    const faultOf = async (csv: string | Uint8Array<ArrayBuffer>) => {
      const { status, body } = await send('broker', '/contacts/import/preview', csv);
      return `${status} ${body.error.message}`;
    };
    expect(await faultOf('who,what\na,b')).toMatch(
      /^400 The first line must name the columns, and none of these is known to be a name: “who”, “what”\. Call one “Name”/,
    );
    expect(await faultOf(new Uint8Array(archive(workbook({ People: [['name'], ['Ana']] }))))).toMatch(
      /^400 This is a workbook\. Save it as CSV/,
    );
    expect(await faultOf('name\n"open')).toMatch(/^400 Line 2: quotation marks around a cell/);
    for (const csv of [
      'name,phone\r\nok,"1\n2"\rok too\n"5" Pipe Co",1\n"fine",2',
      'sep=;\nname;phone\n\n\n"5;1\n',
      'name,phone\n\n\n\nok, "1,2"\n',
    ])
      expect(await faultOf(csv)).toMatch(/^400 Line 5: quotation marks around a cell must be its first and last/);
    expect(await faultOf('')).toMatch(/^400 The first line/);
    expect(await faultOf('name\n')).toMatch(/^400 .*no rows/);
    expect(await faultOf(`name\n${'x\n'.repeat(5001)}`)).toMatch(/^400 .*limit is 5,?000/);
    // A file that would take long to parse is not parsed.
    expect(await faultOf(`name\n${'\n'.repeat(1_000_000)}`)).toMatch(
      /^400 .*more than 20000 lines.*limit is 5000 rows: remove columns of long texts/,
    );
    expect(await faultOf(`name\n${'x,'.repeat(100_000)}`)).toMatch(/^400 This is not a CSV file: line 2 /);
    expect(await faultOf(`name\n"${`${'x'.repeat(999)}\n`.repeat(120)}"`)).toMatch(
      /^400 This is not a CSV file: line /,
    );
    expect(await faultOf(new Uint8Array([0x6e, 0xff, 0xfe]))).toMatch(/^400 Save the file as CSV in UTF-8/);
    expect(await faultOf(`name\n${'x'.repeat(2_200_000)}`)).toMatch(/^413 .*remove other columns, such as notes/);
  });
});

describe('exporting', () => {
  test('returns a file that is safe in a spreadsheet and can be imported again', async () => {
    const wild = [
      '=1+1',
      '+49 30',
      '-SUM(A1)',
      '@cmd',
      '＝1+1',
      "'quoted",
      'Söhne; "Groß", GmbH',
      'tab\tinside',
      'Ann;=1+1',
    ];
    for (const name of wild) await add({ display_name: `${name} wild`, email: null, phone: '+1 555 0101' });
    await service.sql(`update contacts set email = null where email not like '%@%'`);
    await add({ display_name: 'gone wild' }).then((id) => as('broker').ask(`/contacts/${id}/archive`, {}));
    const response = await exported('colleague');
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="contacts\.csv"$/);
    const csv = Buffer.from(await response.arrayBuffer()).toString();
    expect(csv.startsWith('\ufefftype,name,email,phone,created\r\n')).toBe(true);
    expect(csv).not.toMatch(/(^|[,;\n])"?[=+@＝-]/);
    expect(csv).not.toContain('gone wild');

    const { body } = await send('broker', '/contacts/import/preview', csv);
    expect(body.faults).toEqual([]);
    const read = body.rows.map(({ contact }: { contact: typeof ana }) => contact);
    for (const name of wild)
      expect(read).toContainEqual({
        type: 'person',
        display_name: `${name} wild`,
        email: null,
        phone: '+1 555 0101',
      });
  });

  /** Deletes the contacts with such names once the test is over, whether it passes or fails. */
  const forgetAfterwards = (names: string) =>
    onTestFinished(
      async () =>
        void (await service.sql(`delete from contacts where brokerage_id = $1 and display_name like $2`, [
          scene.brokerage,
          names,
        ])),
    );

  test('returns all contacts ordered by name, even if they are read in several portions', async () => {
    const many = 3_000;
    forgetAfterwards('Name %');
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select '${scene.brokerage}', 'person', 'Name ' || lpad(n::text, 6, '0')
       from generate_series(1, ${many}) n`,
    );
    const csv = await (await exported('colleague')).text();
    const names = csv.split('\r\n').flatMap((line) => /^person,(Name \d{6}),/.exec(line)?.slice(1) ?? []);
    expect(names.length).toBe(many);
    expect(names).toEqual(names.toSorted());
  });

  test('returns all contacts even if a portion of them would take too much memory', async () => {
    forgetAfterwards('Long %');
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select '${scene.brokerage}', 'person', 'Long ' || lpad(n::text, 3, '0') || repeat(' x', 30000)
       from generate_series(1, 700) n`,
    );
    const csv = await (await exported('colleague')).text();
    const names = csv.split('\r\n').flatMap((line) => /^person,(Long \d{3})( x){30000},/.exec(line)?.[1] ?? []);
    expect(names.length).toBe(700);
    expect(names).toEqual(names.toSorted());
  });
});
