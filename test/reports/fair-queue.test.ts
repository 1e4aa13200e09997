/**
 * Reports are written one after the other: whose turn is next, who loses a place in the queue, who may still receive a
 * finished report, and which reports are served from the cache.
 */

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { insert } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { changeAll, download, endWriters, noWriters, printedOf, writers, type File } from './files.ts';

let service: TestService;
let deal: string;
let directory: string;
const people: Record<string, SignedIn> = {};
const { execPath } = process;
/** Milliseconds: longer than a report takes, and shorter than it may take. */
const inTime = 25_000;
const later = globalThis.setTimeout;
/**
 * Makes timeouts of more than 20 seconds ten times as long: on a busy machine the reports that the tests request take
 * longer.
 */
const patiently = (work: (...given: unknown[]) => void, millis = 0, ...given: unknown[]) =>
  later(work, millis > 20_000 ? millis * 10 : millis, ...given);

async function signIn(): Promise<void> {
  for (const [name, { user_id }] of Object.entries(service.demo.people))
    people[name] = await signInAs(service, user_id);
}

beforeAll(async () => {
  globalThis.setTimeout = Object.assign(patiently, later);
  service = await openService({ demo: true, config: { features: { financing: true, findings: true } } });
  // The report of another day differs, so the clock is set to a time of day at which no day ends during the tests.
  const day = 86_400_000;
  service.clock.advance((1.5 * day - (service.clock.now().getTime() % day)) % day);
  deal = service.demo.deals.with_everything;
  await signIn();
  directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-queue-'));
  // The writer's process creates `begun<N>` for task N of the test, counted from 0. If there is a file `hold`, it
  // begins with the task only when there is a file `go` or `go<N>`.
  const preloaded = path.join(directory, 'held.mjs');
  await writeFile(
    preloaded,
    `import { existsSync, mkdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const on = process.on.bind(process);
process.on = (event, listener) => on(event, event !== 'message' ? listener : async (task) => {
  const waits = existsSync('${directory}/hold');
  let own = 0;
  while (existsSync('${directory}/begun' + own)) own += 1;
  mkdirSync('${directory}/begun' + own);
  while (waits && existsSync('${directory}/begun' + own) && !existsSync('${directory}/go') && !existsSync('${directory}/go' + own)) await setTimeout(20);
  listener(task);
});
`,
  );
  await writeFile(path.join(directory, 'writer'), `#!/bin/sh\nexec '${execPath}' --import '${preloaded}' "$@"\n`, {
    mode: 0o755,
  });
  await endWriters();
  process.execPath = path.join(directory, 'writer');
});
afterAll(async () => {
  globalThis.setTimeout = later;
  process.execPath = execPath;
  await endWriters();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

beforeEach(() => changeAll(service));
afterEach(async () => {
  vi.useRealTimers();
  for (const name of await readdir(directory))
    if (/^(begun|go|hold)/.test(name)) await rm(path.join(directory, name), { recursive: true });
});

type Format = 'pdf' | 'xlsx';

/**
 * Requests a report, by default a workbook: it takes a third of the time, and waits in the same queue. Its contents do
 * not matter.
 */
const ask = (name: string, signal?: AbortSignal, format: Format = 'xlsx'): Promise<File> =>
  download(service, people[name]!, deal, format, 'GET', signal);

const begun = (at: number) =>
  vi.waitFor(() => expect(existsSync(path.join(directory, `begun${at}`))).toBe(true), inTime);
/** Returns how many tasks the writer has been given in this test. */
const tasks = async () => (await readdir(directory)).filter((name) => name.startsWith('begun')).length;
/** Makes new tasks wait for `goOn`, until `holdNoMore` is called. */
const hold = () => writeFile(path.join(directory, 'hold'), '');
const holdNoMore = () => rm(path.join(directory, 'hold'));
/** Lets one task continue, or all with ''. */
const goOn = (at: number | '') => writeFile(path.join(directory, `go${at}`), '');

/**
 * Requests a report and resolves when everything for it is read; its writing waits for `letGo`, or for `leave`, which
 * aborts the request.
 */
async function held(name: string, format?: Format) {
  const gone = new AbortController();
  const at = await tasks();
  await hold();
  const file = ask(name, gone.signal, format);
  file.catch(() => {});
  await begun(at);
  await holdNoMore();
  return { file, leave: () => gone.abort(), letGo: () => goOn('') };
}

/**
 * Requests `count` reports and one more, of which one is refused because the others take all places; returns the
 * others.
 */
async function inQueue(name: string, count: number, signal?: AbortSignal): Promise<Promise<File>[]> {
  const files = Array.from({ length: count + 1 }, () => ask(name, signal));
  const refused = await Promise.race(files.map((file, at) => file.then(({ status }) => ({ at, status }))));
  expect(refused.status).toBe(503);
  const others = files.filter((_, at) => at !== refused.at);
  for (const file of others) file.catch(() => {});
  return others;
}

/** Adds an adjustment to the deal's books; returns its id. */
const adjustment = () =>
  insert(service, 'normalizations', {
    deal_id: deal,
    period_label: 'FY1901',
    adjustment_category: 'other',
    adjustment_amount: '12.34',
  });

const noted = async () => {
  const records = await service.sql<{ user_id: string }>(
    `select user_id from audit_records where action = 'report.download' order by id`,
  );
  const names = Object.entries(service.demo.people);
  return records.map(({ user_id }) => names.find(([, person]) => person.user_id === user_id)?.[0]);
};

describe('the report queue', () => {
  test('alternates between people, whatever the order of requests, and skips aborted requests', async () => {
    const before = (await noted()).length;
    const first = await held('seller');
    const given: string[] = [];
    for (const [name, count] of [
      ['seller', 1],
      ['buyer', 2],
    ] as const)
      for (const file of await inQueue(name, count))
        void file.then(
          () => given.push(name),
          () => {},
        );
    await hold();
    first.leave();
    /** Lets task `at` continue, and waits until `count` files have arrived. */
    const next = async (at: number, count: number) => {
      await begun(at);
      // Prevents any report from being served from the cache; the second one is therefore written twice.
      if (at === 2) await changeAll(service);
      await goOn(at);
      await vi.waitFor(() => expect(given).toHaveLength(count), inTime);
    };
    await next(1, 1);
    await next(2, 1);
    await next(3, 2);
    await next(4, 3);
    expect(given).toEqual(['buyer', 'seller', 'buyer']);
    expect((await noted()).slice(before)).toEqual(given);
  });

  test('drops aborted requests: their reports are neither written nor audited', async () => {
    const before = (await noted()).length;
    const first = await held('broker');
    const left = new AbortController();
    await inQueue('seller', 2, left.signal);
    left.abort();
    first.leave();
    expect((await ask('buyer')).status).toBe(200);
    expect((await noted()).slice(before)).toEqual(['buyer']);
  });

  test("when full, drops one of a person's two requests for a new person, with Retry-After", async () => {
    const first = await held('broker');
    const left = new AbortController();
    const waiting = await inQueue('broker', 1, left.signal);
    for (const name of ['admin', 'seller', 'buyer']) waiting.push(...(await inQueue(name, 2, left.signal)));
    const late = ask('other_buyer');
    const told = await Promise.race(
      waiting.map((file, at) => file.then(({ status, headers }) => ({ at, status, headers }))),
    );
    expect([told.status, Number(told.headers.get('retry-after')) > 0]).toEqual([503, true]);
    const others = waiting.filter((_, at) => at !== told.at);
    expect(await Promise.race([...others, Promise.resolve('waiting')])).toBe('waiting');
    left.abort();
    first.leave();
    expect((await late).status).toBe(200);
  });

  test('limits one brokerage to eight places, and drops one of them for another brokerage', async () => {
    /**
     * Signs in `count` people who are on deals of this deal's brokerage alone; returns each with one of these deals.
     */
    const signedIn = async (of: string, count: number) => {
      const found = await service.sql<{ user_id: string; deal_id: string }>(
        `select distinct on (p.user_id) p.user_id, p.deal_id from participants p join users u on u.id = p.user_id
         where p.brokerage_id = (select organization_id from deals where id = $1) and p.status = 'active'
           and not exists (select 1 from participants o where o.user_id = u.id and o.brokerage_id <> p.brokerage_id)
         limit $2`,
        [of, count],
      );
      expect(found).toHaveLength(count);
      return Promise.all(
        found.map(async ({ user_id, deal_id }) => ({ of: deal_id, person: await signInAs(service, user_id) })),
      );
    };
    const [[other], nine] = await Promise.all([signedIn(service.demo.deals.of_other_brokerage, 1), signedIn(deal, 9)]);
    const left = new AbortController();
    const asked = (one: typeof other, signal?: AbortSignal) =>
      download(service, one!.person, one!.of, 'xlsx', 'GET', signal);
    let refused = 0;
    const countsRefused = (one: typeof other) =>
      asked(one, left.signal).then(
        ({ status }) => void (refused += Number(status === 503)),
        () => {},
      );
    await hold();
    const all = nine.map(countsRefused);
    await begun(0);
    await holdNoMore();
    // The queue is full once one of nine is refused.
    await vi.waitFor(() => expect(refused).toBe(1), inTime);
    const given = asked(other);
    await Promise.race([given, vi.waitFor(() => expect(refused).toBe(2), inTime)]);
    left.abort();
    await Promise.all(all);
    expect([(await given).status, refused]).toEqual([200, 2]);
  });

  test('drops a request after 25 seconds, with Retry-After', async () => {
    const first = await held('broker');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const waiting = await inQueue('seller', 2);
    vi.advanceTimersByTime(25_000);
    vi.useRealTimers();
    for (const { status, headers } of await Promise.all(waiting))
      expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
    await first.letGo();
    expect((await first.file).status).toBe(200);
  });
});

describe('a cached report', () => {
  /** Requests the report again; `anew` is whether it was written again. */
  async function again(name: string, format: Format = 'xlsx') {
    const before = await tasks();
    const { status, bytes, headers } = await ask(name, undefined, format);
    return { status, bytes, headers, anew: (await tasks()) > before };
  }
  const given = { status: 200, anew: false };
  const writtenAnew = { status: 200, anew: true };

  test('is served again to the same person in the same format, and audited each time', async () => {
    const before = (await noted()).length;
    const first = await ask('broker', undefined, 'pdf');
    expect(await again('broker')).toMatchObject(writtenAnew);
    const second = await again('broker', 'pdf');
    expect(second).toMatchObject(given);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    expect(second.headers.get('content-disposition')).toBe(first.headers.get('content-disposition'));
    expect((await noted()).slice(before)).toEqual(['broker', 'broker', 'broker']);
  });

  test('is not served to people who see a figure that has changed', async () => {
    for (const name of ['broker', 'other_buyer']) expect((await ask(name, undefined, 'pdf')).status).toBe(200);
    const payload = { currency: 'USD', purchase_price: '7654399' };
    expect((await people['buyer']!.ask(`/deals/${deal}/offers`, { payload })).status).toBe(201);
    expect(await again('other_buyer', 'pdf')).toMatchObject(given);
    const { bytes, ...written } = await again('broker', 'pdf');
    expect(written).toMatchObject(writtenAnew);
    expect((await printedOf(bytes)).text).toContain('7,654,399');
    const id = await adjustment();
    expect(await again('broker', 'pdf')).toMatchObject(writtenAnew);
    expect(await again('other_buyer', 'pdf')).toMatchObject(given);
    await service.sql('delete from normalizations where id = $1', [id]);
    const last = await again('broker', 'pdf');
    expect([last.anew, last.bytes.equals(bytes)]).toEqual([false, true]);
  });

  test('is not served after an offer has expired, or on another day', async () => {
    const today = service.clock.now().toISOString();
    const goTo = async (time: string) => {
      service.clock.set(new Date(time));
      await signIn();
    };
    await goTo('2031-03-04T10:00:00Z');
    await service.sql(
      `update offers set payload = payload || '{"expires_at": "2031-03-04T10:10:00Z"}'::jsonb where deal_id = $1 and is_current`,
      [deal],
    );
    expect((await ask('broker')).status).toBe(200);
    service.clock.advance(5 * 60_000);
    expect(await again('broker')).toMatchObject(given);
    service.clock.advance(10 * 60_000);
    const expired = await again('broker');
    expect(expired).toMatchObject(writtenAnew);
    expect(expired.headers.get('content-disposition')).toContain('2031-03-04');
    await goTo('2031-03-05T00:05:00Z');
    const nextDay = await again('broker');
    expect(nextDay).toMatchObject(writtenAnew);
    expect(nextDay.headers.get('content-disposition')).toContain('2031-03-05');
    await goTo(today);
  });

  test('is not served to another person, even with the same name and the same access', async () => {
    const names = await service.sql<{ id: string; name: string }>('select id, name from users');
    await service.sql(`update users set name = 'Same Name'`);
    const file = await ask('broker', undefined, 'pdf');
    const { text } = await printedOf(file.bytes);
    const own = await again('other_buyer', 'pdf');
    expect(own).toMatchObject(writtenAnew);
    expect(await again('outsider', 'pdf')).toMatchObject({ status: 404, anew: false });
    expect(own.bytes.equals(file.bytes)).toBe(false);
    expect(text).toMatch(/EBITDA [0-9]/);
    expect((await printedOf(own.bytes)).text).not.toMatch(/EBITDA [0-9]/);
    for (const { id, name } of names) await service.sql('update users set name = $2 where id = $1', [id, name]);
    // All that a report contains about the admin is the name.
    expect((await ask('admin')).status).toBe(200);
    const { user_id } = service.demo.people.admin;
    await service.sql(`update users set name = 'Another Name' where id = $1`, [user_id]);
    expect(await again('admin')).toMatchObject(writtenAnew);
    await service.sql('update users set name = $2 where id = $1', [
      user_id,
      names.find(({ id }) => id === user_id)?.name,
    ]);
    expect(await again('admin')).toMatchObject(given);
    // Another admin with the same name, who sees the same.
    const outsider = service.demo.people.outsider.user_id;
    await service.sql(
      `insert into members (brokerage_id, user_id, role, status)
       select brokerage_id, $2, role, status from members where user_id = $1`,
      [user_id, outsider],
    );
    await service.sql('update users set name = (select name from users where id = $1) where id = $2', [
      user_id,
      outsider,
    ]);
    expect((await ask('admin')).status).toBe(200);
    expect(await again('outsider')).toMatchObject(writtenAnew);
    await service.sql('delete from members where user_id = $1', [outsider]);
    await service.sql('update users set name = $2 where id = $1', [
      outsider,
      names.find(({ id }) => id === outsider)?.name,
    ]);
  });

  test('is not served to a person who has lost access to some of its figures', async () => {
    const file = await ask('buyer');
    const againEqual = async () => {
      const { anew, bytes } = await again('buyer');
      return [anew, bytes.equals(file.bytes)];
    };
    expect(await againEqual()).toEqual([false, true]);
    const of = [deal, service.demo.people.buyer.user_id];
    const where =
      'deal_id = $1 and participant_id in (select id from participants where deal_id = $1 and user_id = $2)';
    const [member] = await service.sql<{ participant_id: string; role: string }>(
      `delete from qoe_workspace_members where ${where} returning participant_id, role`,
      of,
    );
    expect(await again('buyer')).toMatchObject(writtenAnew);
    await service.sql('insert into qoe_workspace_members (deal_id, participant_id, role) values ($1, $2, $3)', [
      deal,
      member!.participant_id,
      member!.role,
    ]);
    expect(await againEqual()).toEqual([false, true]);
  });

  test('is dropped when the deal has eight newer ones', async () => {
    // Prices that no other test uses.
    const price = (value: number) =>
      service.sql('update deals set asking_price = $1 where id = $2', [value * 100_000_000, deal]);
    for (let value = 1; value <= 9; value += 1) {
      await price(value);
      expect((await ask('broker')).status).toBe(200);
    }
    await price(2);
    expect(await again('broker')).toMatchObject(given);
    await price(1);
    expect(await again('broker')).toMatchObject(writtenAnew);
  });
});

describe('the process that writes reports', () => {
  beforeEach(endWriters);

  test('is reused for the next report, and ended after 15 seconds without one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    expect((await ask('broker')).status).toBe(200);
    const first = await writers();
    expect(first).toHaveLength(1);
    await changeAll(service);
    expect((await ask('broker')).status).toBe(200);
    expect(await writers()).toEqual(first);
    vi.advanceTimersByTime(15_000);
    vi.useRealTimers();
    await noWriters();
  });

  test('is replaced after twenty reports', async () => {
    // The draft has few data, so its report is written quickly.
    const written = async () => (await download(service, people['broker']!, service.demo.deals.draft, 'xlsx')).status;
    expect(await written()).toBe(200);
    const first = await writers();
    for (let more = 1; more <= 20; more += 1) {
      await changeAll(service);
      expect(await written()).toBe(200);
    }
    const second = await writers();
    expect([first.length, second.length]).toEqual([1, 1]);
    expect(second).not.toEqual(first);
  });

  test('is killed after 30 seconds without a response: its request gets 503, the next a new process', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { file } = await held('broker');
    const hanging = await writers();
    expect(hanging).toHaveLength(1);
    vi.advanceTimersByTime(30_000);
    vi.useRealTimers();
    const { status, headers } = await file;
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
    await noWriters();
    expect((await ask('broker')).status).toBe(200);
  });

  test('is replaced when it is killed, and its request gets 503', async () => {
    expect((await ask('broker')).status).toBe(200);
    for (const pid of await writers()) process.kill(pid, 'SIGKILL');
    await noWriters();
    await changeAll(service);
    const { file } = await held('broker');
    for (const pid of await writers()) process.kill(pid, 'SIGKILL');
    expect((await file).status).toBe(503);
    expect((await ask('broker')).status).toBe(200);
  });

  test('keeps the reports of simultaneous requests apart', async () => {
    const names = ['broker', 'buyer', 'other_buyer', 'seller'];
    const files = await Promise.all(names.map((name) => ask(name, undefined, 'pdf')));
    for (const [at, name] of names.entries()) {
      const { text } = await printedOf(files[at]!.bytes);
      const [person] = await service.sql<{ name: string }>('select name from users where id = $1', [
        Object.entries(service.demo.people).find(([one]) => one === name)?.[1].user_id,
      ]);
      expect(text).toContain(`Prepared for ${person!.name}`);
      if (name === 'other_buyer') expect(text).not.toMatch(/EBITDA [0-9]|Customers/);
    }
  });
});

describe('a report whose data change while it is written', () => {
  const ofBuyer = () => service.demo.people.buyer.user_id;
  const asBroker = async (at: string, body: unknown, method: string) => {
    const { status } = await people['broker']!.ask(`/deals/${deal}${at}`, body, method);
    expect([at, status]).toEqual([at, 204]);
  };
  const one = async (sql: string, ...values: unknown[]) => (await service.sql<{ id: string }>(sql, values))[0]!.id;

  test('is served if only a record was added', async () => {
    const { file, letGo } = await held('buyer');
    const id = await adjustment();
    await letGo();
    expect((await file).status).toBe(200);
    await service.sql('delete from normalizations where id = $1', [id]);
  });

  /** Returns the text of a document that must have been served. */
  const told = async (file: Promise<File>) => {
    const { status, bytes } = await file;
    expect(status).toBe(200);
    return (await printedOf(bytes)).text;
  };

  test('is written again with the revised offer', async () => {
    const before = await noted();
    const { file, letGo } = await held('broker', 'pdf');
    const payload = { currency: 'USD', purchase_price: '7654321' };
    expect((await people['buyer']!.ask(`/deals/${deal}/offers`, { payload })).status).toBe(201);
    await letGo();
    expect(await told(file)).toContain('7,654,321');
    expect(await noted()).toEqual([...before, 'broker']);
  });

  test('is written at most three times, then the request gets 503 with Retry-After', async () => {
    const before = await noted();
    await hold();
    const file = ask('seller');
    for (const at of [0, 1, 2]) {
      await begun(at);
      await service.sql('update deals set title = title || $1 where id = $2', [' again', deal]);
      await goOn(at);
    }
    const { status, headers } = await file;
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect(await noted()).toEqual(before);
    await service.sql(`update deals set title = replace(title, ' again', '') where id = $1`, [deal]);
  });

  test('is served without an answer to a contradiction whose release was withdrawn', async () => {
    const id = await adjustment();
    const computed = async () => (await people['broker']!.ask(`/deals/${deal}/qoe/computed`)).body.contradictions;
    const [contradiction] = (await computed()).items;
    const at = `/qoe/contradictions/${contradiction.key}`;
    await asBroker(`${at}/answer`, { status: 'explained', why: 'A slip.', figures: contradiction.figures }, 'PUT');
    const { answered_at } = (await computed()).explained.items[0].answer;
    await asBroker(`${at}/release`, { answered_at }, 'PUT');
    const { file, letGo } = await held('buyer', 'pdf');
    await asBroker(`${at}/release`, undefined, 'DELETE');
    await letGo();
    expect(await told(file)).not.toContain('A slip.');
    await asBroker(`${at}/answer`, undefined, 'DELETE');
    await service.sql('delete from normalizations where id = $1', [id]);
  });

  test('is written again without QoE figures for a person removed from the QoE workspace', async () => {
    const { file, letGo } = await held('buyer', 'pdf');
    const participant = await one('select id from participants where deal_id = $1 and user_id = $2', deal, ofBuyer());
    await asBroker(`/qoe/members/${participant}`, undefined, 'DELETE');
    await letGo();
    const text = await told(file);
    expect(text).toContain('Your offer');
    expect(text).not.toMatch(/EBITDA [0-9]|SDE|Customers|What was uploaded, and by whom/);
  });

  test('is not served to a person removed from the deal', async () => {
    const before = await noted();
    const { file, letGo } = await held('buyer');
    await service.sql(`update participants set status = 'removed' where deal_id = $1 and user_id = $2`, [
      deal,
      ofBuyer(),
    ]);
    await letGo();
    expect((await file).status).toBe(404);
    // Even though the report written for them is in the cache.
    expect((await ask('buyer')).status).toBe(404);
    expect(await noted()).toEqual(before);
  });
});
