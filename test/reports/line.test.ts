/** Reports are written one after the other: whose turn is next, who gives up a place, and who may still see what was written. */

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { insert } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { download, printedOf, type File } from './files.ts';

let service: TestService;
let deal: string;
let directory: string;
const people: Record<string, SignedIn> = {};
const { execPath } = process;
/** Longer than a report takes, and shorter than one may. */
const inTime = 25_000;

beforeAll(async () => {
  service = await openService({ demo: true, config: { features: { financing: true, findings: true } } });
  deal = service.demo.deals.with_everything;
  for (const [name, { user_id }] of Object.entries(service.demo.people))
    people[name] = await signInAs(service, user_id);
});
afterAll(() => service?.close());

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-line-'));
  // In place of Node.js: says that it was started, the how many-th time, and is Node.js once it may.
  await writeFile(
    path.join(directory, 'held'),
    `#!/bin/sh
cd '${directory}' || exit 1
at=0
while ! mkdir "begun$at" 2>/dev/null; do at=$((at + 1)); done
while [ ! -e "go$at" ]; do sleep 0.02; done
exec '${execPath}' "$@"
`,
    { mode: 0o755 },
  );
});
afterEach(async () => {
  process.execPath = execPath;
  vi.useRealTimers();
  await rm(directory, { recursive: true, force: true });
});

type Format = 'pdf' | 'xlsx';

/** A workbook where what is told does not matter: it takes a third of the time, and waits in the same line. */
const ask = (name: string, signal?: AbortSignal, format: Format = 'xlsx'): Promise<File> =>
  download(service, people[name]!, deal, format, 'GET', signal);

const begun = (at: number) =>
  vi.waitFor(() => expect(existsSync(path.join(directory, `begun${at}`))).toBe(true), inTime);
const goOn = (at: number) => writeFile(path.join(directory, `go${at}`), '');

/** Asks for a report, everything for it is read, and its writing is held up until it is let go, or left. */
async function held(name: string, format?: Format) {
  const gone = new AbortController();
  process.execPath = path.join(directory, 'held');
  const file = ask(name, gone.signal, format);
  file.catch(() => {});
  await begun(0);
  process.execPath = execPath;
  return { file, leave: () => gone.abort(), letGo: () => goOn(0) };
}

/** Asks for so many reports and one more, which is refused as the others have the places; the others. */
async function inLine(name: string, count: number, signal?: AbortSignal): Promise<Promise<File>[]> {
  const files = Array.from({ length: count + 1 }, () => ask(name, signal));
  const refused = await Promise.race(files.map((file, at) => file.then(({ status }) => ({ at, status }))));
  expect(refused.status).toBe(503);
  const others = files.filter((_, at) => at !== refused.at);
  for (const file of others) file.catch(() => {});
  return others;
}

const noted = async () => {
  const records = await service.sql<{ user_id: string }>(
    `select user_id from audit_records where action = 'report.download' order by id`,
  );
  const names = Object.entries(service.demo.people);
  return records.map(({ user_id }) => names.find(([, person]) => person.user_id === user_id)?.[0]);
};

const statuses = async (files: readonly Promise<File>[]) => (await Promise.all(files)).map(({ status }) => status);

describe('the line', () => {
  test('goes round between people, whoever came first, and on when the one whose turn it is has left', async () => {
    const before = (await noted()).length;
    const first = await held('seller');
    const waiting = [...(await inLine('seller', 1)), ...(await inLine('buyer', 2))];
    first.leave();
    expect(await statuses(waiting)).toEqual([200, 200, 200]);
    expect((await noted()).slice(before)).toEqual(['buyer', 'seller', 'buyer']);
  }, 60_000);

  test('has no place for who has left: nothing is written for them, and nothing noted', async () => {
    const before = (await noted()).length;
    const first = await held('broker');
    const left = new AbortController();
    await inLine('seller', 2, left.signal);
    left.abort();
    first.leave();
    expect((await ask('buyer')).status).toBe(200);
    expect((await noted()).slice(before)).toEqual(['buyer']);
  }, 60_000);

  test('is not filled by a few: who holds two places gives up one to who has none, and is told to come back', async () => {
    const first = await held('broker');
    const left = new AbortController();
    const waiting = await inLine('broker', 1, left.signal);
    for (const name of ['admin', 'seller', 'buyer']) waiting.push(...(await inLine(name, 2, left.signal)));
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
  }, 90_000);

  test('is not filled by the accounts of one brokerage: a ninth finds no place, and one gives up theirs to another brokerage', async () => {
    /** So many people with a deal of the brokerage that this one is of. */
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
    process.execPath = path.join(directory, 'held');
    const all = nine.map(countsRefused);
    await begun(0);
    process.execPath = execPath;
    // The line is full once one of nine is refused.
    await vi.waitFor(() => expect(refused).toBe(1), inTime);
    const given = asked(other);
    await Promise.race([given, vi.waitFor(() => expect(refused).toBe(2), inTime)]);
    left.abort();
    await Promise.all(all);
    expect([(await given).status, refused]).toEqual([200, 2]);
  }, 60_000);

  test('tells who has waited for twenty-five seconds to come back', async () => {
    const first = await held('broker');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const waiting = await inLine('seller', 2);
    vi.advanceTimersByTime(25_000);
    vi.useRealTimers();
    for (const { status, headers } of await Promise.all(waiting))
      expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
    await first.letGo();
    expect((await first.file).status).toBe(200);
  }, 60_000);
});

describe('what was written', () => {
  const ofBuyer = () => service.demo.people.buyer.user_id;
  const asBroker = async (at: string, body: unknown, method: string) => {
    const { status } = await people['broker']!.ask(`/deals/${deal}${at}`, body, method);
    expect([at, status]).toEqual([at, 204]);
  };
  const one = async (sql: string, ...values: unknown[]) => (await service.sql<{ id: string }>(sql, values))[0]!.id;

  test('is given where something was added meanwhile', async () => {
    const { file, letGo } = await held('buyer');
    const id = await insert(service, 'normalizations', {
      deal_id: deal,
      period_label: 'FY1901',
      adjustment_category: 'other',
      adjustment_amount: '12.34',
    });
    await letGo();
    expect((await file).status).toBe(200);
    await service.sql('delete from normalizations where id = $1', [id]);
  }, 60_000);

  /** What is printed in what was given. */
  const told = async (file: Promise<File>) => {
    const { status, bytes } = await file;
    expect(status).toBe(200);
    return (await printedOf(bytes)).text;
  };

  test('is written again where an offer was revised meanwhile, with what is offered now', async () => {
    const before = await noted();
    const { file, letGo } = await held('broker', 'pdf');
    const payload = { currency: 'USD', purchase_price: '7654321' };
    expect((await people['buyer']!.ask(`/deals/${deal}/offers`, { payload })).status).toBe(201);
    await letGo();
    expect(await told(file)).toContain('7,654,321');
    expect(await noted()).toEqual([...before, 'broker']);
  }, 60_000);

  test('is written three times at most: who asks while something changes each time is told to come back', async () => {
    const before = await noted();
    process.execPath = path.join(directory, 'held');
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
  }, 90_000);

  test('is not given to who may read another’s answer to a contradiction no more', async () => {
    const id = await insert(service, 'normalizations', {
      deal_id: deal,
      period_label: 'FY1901',
      adjustment_category: 'other',
      adjustment_amount: '12.34',
    });
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
  }, 60_000);

  test('is written again for who is in the QoE workspace no more, without anything of it', async () => {
    const { file, letGo } = await held('buyer', 'pdf');
    const participant = await one('select id from participants where deal_id = $1 and user_id = $2', deal, ofBuyer());
    await asBroker(`/qoe/members/${participant}`, undefined, 'DELETE');
    await letGo();
    const text = await told(file);
    expect(text).toContain('Your offer');
    expect(text).not.toMatch(/EBITDA [0-9]|SDE|Customers|What was uploaded, and by whom/);
  }, 60_000);

  test('is not given to who sees the deal no more', async () => {
    const before = await noted();
    const { file, letGo } = await held('buyer');
    await service.sql(`update participants set status = 'removed' where deal_id = $1 and user_id = $2`, [
      deal,
      ofBuyer(),
    ]);
    await letGo();
    expect((await file).status).toBe(404);
    expect(await noted()).toEqual(before);
  }, 60_000);
});
