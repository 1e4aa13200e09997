/**
 * How brokers answer contradictions in uploaded books, and which answers other roles read, on pages and through tools.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, openBrowser, openTestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addToken, caller as toolCaller, insert } from '../tools/scene.ts';
import { signInAs, type SignedIn } from './person.ts';

let service: TestService;
let deal: string;
const people: Record<string, SignedIn> = {};
/** The broker's name. */
let broker: string;
const as = (name: string): SignedIn => people[name]!;

interface Told {
  key: string;
  figures: string;
  sentence: string;
  kind: string;
  answer: {
    status: string;
    why: string;
    answered_by_name: string | null;
    answered_at: string;
    released_at: string | null;
    released_by_name: string | null;
    of_other_figures: boolean;
  } | null;
}
interface Contradictions {
  count: number;
  items: Told[];
  explained: { count: number; items: Told[] };
  all: boolean;
  may_answer: boolean;
}

const path = (rest: string) => `/deals/${deal}/qoe/${rest}`;
const read = async (name: string): Promise<Contradictions> =>
  (await as(name).ask(path('computed'))).body.contradictions;
/** The contradictions that a person sees, in order: each sentence with its answer. */
const told = async (name: string) => {
  const { items, explained } = await read(name);
  const brief = (one: Told) => [one.sentence, one.answer?.why ?? null];
  return { open: items.map(brief), explained: explained.items.map(brief) };
};
/** The contradiction caused by adjustments under a label without figures. */
const unmatched = async (name: string, label: string): Promise<Told> => {
  const { items, explained } = await read(name);
  const found = [...items, ...explained.items].find(({ sentence }) => sentence.includes(`“${label}”`));
  if (!found) throw new Error(`${name} is told of no ${label}.`);
  return found;
};
const adjust = (period_label: string, adjustment_amount: string) =>
  insert(service, 'normalizations', { deal_id: deal, period_label, adjustment_category: 'other', adjustment_amount });
const put = (name: string, key: string, what: 'answer' | 'release', body: object) =>
  as(name).ask(path(`contradictions/${key}/${what}`), body, 'PUT');
const remove = (name: string, key: string, what: 'answer' | 'release') =>
  as(name).ask(path(`contradictions/${key}/${what}`), undefined, 'DELETE');
const explain = ({ key, figures }: Told, why: string, status = 'explained', name = 'broker') =>
  put(name, key, 'answer', { status, why, figures });

beforeAll(async () => {
  service = await openService({ demo: true });
  deal = service.demo.deals.with_everything;
  for (const [name, { user_id }] of Object.entries(service.demo.people))
    people[name] = await signInAs(service, user_id);
  const [found] = await service.sql<{ name: string }>('select name from users where id = $1', [
    service.demo.people.broker.user_id,
  ]);
  broker = found!.name;
  for (const label of ['FY1997', 'FY1998', 'FY1999']) await adjust(label, '100.10');
});
afterAll(() => service?.close());

describe('an answer to a contradiction', () => {
  test('is given by brokers only, and is visible to the deal’s side alone until it is released', async () => {
    const one = await unmatched('broker', 'FY1998');
    expect(one.answer).toBeNull();
    expect(await read('broker')).toMatchObject({ all: true, may_answer: true, explained: { count: 0 } });
    expect(await read('seller')).toMatchObject({ all: true, may_answer: false, items: (await read('broker')).items });
    const nothing = { count: 0, items: [], explained: { count: 0, items: [] }, all: false, may_answer: false };
    for (const name of ['buyer', 'other_buyer']) expect(await read(name)).toEqual(nothing);

    expect((await explain(one, 'An add-back of the year before.')).status).toBe(204);
    const { answer } = await unmatched('broker', 'FY1998');
    expect(answer).toMatchObject({
      status: 'explained',
      why: 'An add-back of the year before.',
      answered_by_name: broker,
      released_at: null,
      released_by_name: null,
      of_other_figures: false,
    });
    expect(await told('seller')).toEqual(await told('broker'));
    expect((await told('seller')).explained).toEqual([[one.sentence, 'An add-back of the year before.']]);
    for (const name of ['buyer', 'other_buyer']) expect(await read(name)).toEqual(nothing);

    const given = { answered_at: answer!.answered_at };
    expect((await put('broker', one.key, 'release', given)).status).toBe(204);
    expect(await told('buyer')).toEqual({ open: [], explained: [[one.sentence, 'An add-back of the year before.']] });
    expect(await read('buyer')).toMatchObject({ all: false, may_answer: false });
    // Outside the workspace, nothing is shown.
    expect(await read('other_buyer')).toEqual(nothing);
    expect((await unmatched('seller', 'FY1998')).answer).toMatchObject({
      released_by_name: broker,
    });

    // Only that answer was released: buyers read another answer only once it is released, too.
    expect((await explain(one, 'It belongs to 2024.', 'to_correct')).status).toBe(204);
    expect(await read('buyer')).toEqual(nothing);
    expect((await told('seller')).explained).toEqual([]);
    expect((await put('broker', one.key, 'release', given)).status).toBe(409);
    const { answered_at } = (await unmatched('broker', 'FY1998')).answer!;
    expect((await put('broker', one.key, 'release', { answered_at })).status).toBe(204);
    expect(await told('buyer')).toEqual({ open: [[one.sentence, 'It belongs to 2024.']], explained: [] });
    expect((await remove('broker', one.key, 'release')).status).toBe(204);
    expect(await read('buyer')).toEqual(nothing);
    expect((await remove('broker', one.key, 'answer')).status).toBe(204);
    expect((await unmatched('broker', 'FY1998')).answer).toBeNull();
    expect((await remove('broker', one.key, 'answer')).status).toBe(404);

    const records = await service.sql<{ action: string; details: object }>(
      `select action, details from audit_records where action like 'qoe.contradiction.%' order by at, id`,
    );
    expect(records.map(({ action, details }) => [action.slice('qoe.contradiction.'.length), details])).toEqual([
      ['answer', { status: 'explained' }],
      ['release', {}],
      ['answer', { status: 'to_correct' }],
      ['release', {}],
      ['withdraw', {}],
      ['unanswer', {}],
    ]);
  });

  test.each(['seller', 'buyer', 'other_buyer', 'outsider'])(
    'is denied to the %s alike, whether the contradiction exists or not',
    async (name) => {
      const one = await unmatched('broker', 'FY1997');
      expect((await explain(one, 'Said.')).status).toBe(204);
      const { answered_at } = (await unmatched('broker', 'FY1997')).answer!;
      const tries = (key: string) => [
        put(name, key, 'answer', { status: 'explained', why: 'Mine.', figures: one.figures }),
        put(name, key, 'release', { answered_at }),
        remove(name, key, 'release'),
        remove(name, key, 'answer'),
      ];
      const [there, absent] = [await Promise.all(tries(one.key)), await Promise.all(tries('0'.repeat(32)))];
      expect(there).toEqual(absent);
      expect(there.map(({ status }) => status)).toEqual(Array(4).fill(name === 'outsider' ? 404 : 403));
      expect((await unmatched('broker', 'FY1997')).answer).toMatchObject({ why: 'Said.', released_at: null });
      expect((await remove('broker', one.key, 'answer')).status).toBe(204);
    },
  );

  test('applies to the figures it was given for, and is marked once they change', async () => {
    const one = await unmatched('broker', 'FY1999');
    expect((await explain(one, 'Was closed in May.')).status).toBe(204);
    const { answered_at } = (await unmatched('broker', 'FY1999')).answer!;
    expect((await put('broker', one.key, 'release', { answered_at })).status).toBe(204);
    // Rows of other periods do not affect the contradiction.
    const elsewhere = await adjust('FY1996', '5');
    expect(await unmatched('buyer', 'FY1999')).toMatchObject({ key: one.key, answer: { of_other_figures: false } });

    const more = await adjust('FY1999', '50');
    const changed = await unmatched('broker', 'FY1999');
    expect(changed).toMatchObject({ key: one.key, answer: { why: 'Was closed in May.', of_other_figures: true } });
    expect(changed.sentence).toContain('150.10');
    const { items, explained } = await read('broker');
    expect(items.map(({ key }) => key)).toContain(one.key);
    expect(explained.items).toEqual([]);
    // Nobody has released the new figures, and nobody can before they are answered.
    expect(await told('buyer')).toEqual({ open: [], explained: [] });
    expect((await put('broker', one.key, 'release', { answered_at })).status).toBe(409);
    // An answer to the figures shown before is rejected.
    expect(await explain(one, 'Still.')).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect((await explain(changed, 'Still.')).status).toBe(204);
    expect((await unmatched('broker', 'FY1999')).answer).toMatchObject({ of_other_figures: false, released_at: null });

    await service.sql('delete from normalizations where id = any ($1)', [[more, elsewhere]]);
    // A contradiction that no longer exists cannot be answered, but its answer can still be removed.
    await service.sql(`delete from normalizations where deal_id = $1 and period_label = 'FY1999'`, [deal]);
    await expect(unmatched('broker', 'FY1999')).rejects.toThrow();
    expect((await explain(one, 'Again.')).status).toBe(409);
    expect((await remove('broker', one.key, 'answer')).status).toBe(204);
    await adjust('FY1999', '100.10');
  });

  test('is not replaced or removed by a request that does not know its latest version', async () => {
    const { key, figures } = await unmatched('broker', 'FY1998');
    const give = (why: string, answered_at: string | null) =>
      put('broker', key, 'answer', { status: 'explained', why, figures, answered_at });
    const given = async () => (await unmatched('broker', 'FY1998')).answer;
    const refused = {
      status: 409,
      body: { error: { code: 'conflict', message: expect.stringContaining('The answer was changed') } },
    };
    const first = await Promise.all(['Booked late.', 'Booked twice.'].map((why) => give(why, null)));
    expect(first.map(({ status }) => status).toSorted()).toEqual([204, 409]);
    expect(await give('Unread.', null)).toMatchObject(refused);
    const { answered_at } = (await given())!;
    expect((await give('A typing error.', answered_at)).status).toBe(204);
    expect(await give('Unread.', answered_at)).toMatchObject(refused);
    const second = (await given())!;
    expect(second.why).toBe('A typing error.');
    const removed = (readAt: string) =>
      as('broker').ask(
        path(`contradictions/${key}/answer?answered_at=${encodeURIComponent(readAt)}`),
        undefined,
        'DELETE',
      );
    expect(await removed(answered_at)).toMatchObject(refused);
    expect((await given())!.why).toBe('A typing error.');
    expect((await removed(second.answered_at)).status).toBe(204);
    expect((await removed(second.answered_at)).status).toBe(404);
    expect(await give('Unread.', second.answered_at)).toMatchObject(refused);
    expect(await given()).toBeNull();
    // Pages loaded from an earlier release do not send which answer they have read.
    for (const why of ['Prepaid.', 'Prepaid in May.'])
      expect((await put('broker', key, 'answer', { status: 'explained', why, figures })).status).toBe(204);
    expect((await given())!.why).toBe('Prepaid in May.');
    expect((await remove('broker', key, 'answer')).status).toBe(204);
  });

  test('is released only for the figures seen, not for figures changed by a later upload or adjustment', async () => {
    const { sql } = service;
    const uploaded = async (rows: string[], type = 'profit_and_loss') => {
      const query = new URLSearchParams({ snapshot_type: type, filename: 'books.csv' });
      const { body, status } = await (async () => {
        const answer = await fetch(`${service.origin}/api/web${path(`snapshots?${query}`)}`, {
          method: 'POST',
          headers: { ...as('broker').headers, 'content-type': 'text/csv' },
          body: rows.join('\n'),
        });
        return { status: answer.status, body: (await answer.json()) as { id: string; status: string } };
      })();
      expect([status, body.status]).toEqual([201, 'completed']);
      return body.id;
    };
    const months = (...of: string[]) => ['month,revenue', ...of.map((month) => `${month},1000`)];
    const ofKind = async (name: string, kind: string) => {
      const { items, explained } = await read(name);
      return [...items, ...explained.items].filter((one) => one.kind === kind);
    };
    const releasedAll = async (kind: string) => {
      for (const one of await ofKind('broker', kind)) {
        expect((await explain(one, `Of ${kind}.`)).status).toBe(204);
        const [answered] = (await ofKind('broker', kind)).filter(({ key }) => key === one.key);
        const { answered_at } = answered!.answer!;
        expect((await put('broker', one.key, 'release', { answered_at })).status).toBe(204);
      }
      const sentences = (await ofKind('broker', kind)).map(({ sentence }) => sentence);
      expect(sentences.length).toBeGreaterThan(0);
      expect((await ofKind('buyer', kind)).map(({ sentence }) => sentence)).toEqual(sentences);
      return sentences;
    };
    /**
     * Asserts the effect of a change on a released contradiction: the broker sees it with the earlier answer, the buyer
     * does not see it.
     */
    const changes = async (kind: string, change: () => Promise<() => Promise<unknown>>) => {
      const before = await releasedAll(kind);
      const undo = await change();
      const now = (await ofKind('broker', kind)).filter(({ sentence }) => !before.includes(sentence));
      expect([kind, now.length]).toEqual([kind, 1]);
      expect(now[0]?.answer).toMatchObject({ why: `Of ${kind}.`, of_other_figures: true });
      const seen = (await ofKind('buyer', kind)).map(({ sentence }) => sentence);
      expect(seen.filter((sentence) => !before.includes(sentence))).toEqual([]);
      await undo();
      expect((await ofKind('buyer', kind)).map(({ sentence }) => sentence)).toEqual(before);
      for (const { key } of await ofKind('broker', kind)) await remove('broker', key, 'answer');
    };
    const gone = async (id: string) => {
      // The product cannot delete an upload: this restores the state before it.
      for (const table of ['pl_periods', 'customer_revenues'])
        await sql(`delete from ${table} where snapshot_id = $1`, [id]);
      await sql('delete from accounting_snapshots where id = $1', [id]);
    };

    // Missing months: a second gap that begins with the same month.
    const far = await uploaded(months('2019-01', '2019-04'));
    await changes('months_missing', async () => {
      const id = await uploaded(months('2019-03'));
      return () => gone(id);
    });
    await gone(far);

    // One-time costs in two years; the change adds another one.
    const added: string[] = [];
    const oneTime = async (period_label: string) => {
      const row = { deal_id: deal, period_label, adjustment_category: 'one_time', adjustment_amount: '10' };
      const id = await insert(service, 'normalizations', row);
      added.push(id);
      return id;
    };
    const { body } = await as('broker').ask(path('computed'));
    const years = body.earnings
      .filter(({ kind }: { kind: string }) => kind === 'calendar_year')
      .map(({ label }: { label: string }) => label);
    expect(years.length).toBeGreaterThan(1);
    await oneTime(years[0]);
    await oneTime(years[1]);
    await changes('one_time_again', async () => {
      const id = await oneTime(years[1]);
      return () => sql('delete from normalizations where id = $1', [id]);
    });

    // Two more adjustments that cancel each other out.
    await changes('period_unmatched', async () => {
      const ids = [await adjust('FY1997', '7'), await adjust('FY1997', '-7')];
      return () => sql('delete from normalizations where id = any ($1)', [ids]);
    });
    await sql('delete from normalizations where id = any ($1)', [added]);
  });

  test.each([
    ['no reason', { why: ' ' }],
    ['a reason without end', { why: 'x'.repeat(2001) }],
    ['an unknown status', { status: 'denied' }],
    ['figures that are none', { figures: 'x' }],
    ['more than is asked', { released_at: '2026-01-01T00:00:00Z' }],
  ])('is rejected with %s', async (_what, wrong) => {
    const { key, figures } = await unmatched('broker', 'FY1998');
    const answer = { status: 'explained', why: 'So.', figures, ...wrong };
    expect((await put('broker', key, 'answer', answer)).status).toBe(400);
    expect((await put('broker', 'x'.repeat(32), 'answer', { status: 'explained', why: 'So.', figures })).status).toBe(
      404,
    );
  });

  test('is rejected on a closed deal, like every other change', async () => {
    const one = await unmatched('broker', 'FY1998');
    expect((await explain(one, 'Before the end.')).status).toBe(204);
    const { answered_at } = (await unmatched('broker', 'FY1998')).answer!;
    const set = async (text: string, ...values: unknown[]) => {
      await service.sql('alter table deals disable trigger user');
      await service.sql(text, values);
      await service.sql('alter table deals enable trigger user');
    };
    const [{ state } = { state: '' }] = await service.sql<{ state: string }>('select state from deals where id = $1', [
      deal,
    ]);
    await set(`update deals set state = 'closed', closed_at = app.now() where id = $1`, deal);
    expect(await read('broker')).toMatchObject({ may_answer: false });
    for (const refused of [
      await explain(one, 'After the end.'),
      await put('broker', one.key, 'release', { answered_at }),
      await remove('broker', one.key, 'answer'),
    ])
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'deal_closed' } } });
    expect((await unmatched('broker', 'FY1998')).answer).toMatchObject({ why: 'Before the end.', released_at: null });
    await set('update deals set state = $2, closed_at = null where id = $1', deal, state);
    expect((await remove('broker', one.key, 'answer')).status).toBe(204);
  });

  test('is in the data export of its author', async () => {
    const one = await unmatched('broker', 'FY1998');
    await explain(one, 'For the export.');
    const [found] = await service.sql<{ answers: object[] }>(
      `select app.person_records($1, true) -> 'contradiction_answers' as answers`,
      [service.demo.people.broker.user_id],
    );
    expect(found?.answers).toMatchObject([{ why: 'For the export.', contradiction: one.key }]);
    await remove('broker', one.key, 'answer');
  });
});

test('assistants see the contradictions that their people may read, with the beginning of the answer', async () => {
  const summaries = async (name: 'broker' | 'seller' | 'buyer') => {
    const access = await addToken(service, service.demo.people[name].user_id);
    const { structuredContent } = await toolCaller(service, access)('svc_qoe_pl_periods', { deal_id: deal });
    return (structuredContent as { summary: { contradictions?: string[] } }).summary.contradictions ?? [];
  };
  // A summary names two contradictions of one kind, open ones first.
  await service.sql(`delete from normalizations where deal_id = $1 and period_label = 'FY1999'`, [deal]);
  const one = await unmatched('broker', 'FY1998');
  await explain(one, `The lease\nwas "prepaid”. ${'x'.repeat(1000)}`);
  const said = `${one.sentence} Explained: “The lease was prepaid. ${'x'.repeat(75)}…”`;
  for (const name of ['broker', 'seller'] as const) expect(await summaries(name)).toContain(said);
  expect(await summaries('buyer')).toEqual([]);
  const { answered_at } = (await unmatched('broker', 'FY1998')).answer!;
  await put('broker', one.key, 'release', { answered_at });
  expect(await summaries('buyer')).toEqual([said]);
  const more = await adjust('FY1998', '1');
  expect(await summaries('buyer')).toEqual([]);
  for (const name of ['broker', 'seller'] as const)
    expect((await summaries(name)).join(' ')).toContain(
      'Explained, before the figures changed: “The lease was prepaid.',
    );
  await service.sql('delete from normalizations where id = $1', [more]);
  await remove('broker', one.key, 'answer');
});

test("in the browser: a broker explains, releases and withdraws, and a buyer's open page follows", async () => {
  const browser = await openBrowser();
  try {
    const [testPage, theirs] = [
      await openTestPage(browser, service.origin, { cookie: as('broker').cookie }),
      await openTestPage(browser, service.origin, { cookie: as('buyer').cookie }),
    ];
    await theirs.go(`/deals/${deal}/qoe`);
    await theirs.page.getByText('Largest customer').waitFor();
    const heading = theirs.page.getByRole('heading', { name: /^(Open contradictions|Explained) \(/ });
    expect(await heading.count()).toBe(0);

    const { page } = testPage;
    await testPage.go(`/deals/${deal}/qoe`);
    const { count, items } = await read('broker');
    await page.getByRole('heading', { name: `Open contradictions (${count})` }).waitFor();
    await expectAccessible(page);
    const line = page.getByRole('listitem').filter({ hasText: '“FY1998”' });
    // With the keyboard alone.
    await line.getByRole('button', { name: 'Explain' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Explain these figures' }).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Why').focus();
    await page.keyboard.type('An add-back of the year before.');
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Explain', exact: true }).last().press('Enter');
    await page.getByRole('heading', { name: 'Explained (1)' }).waitFor();
    await page.getByRole('heading', { name: `Open contradictions (${count - 1})` }).waitFor();
    expect(items.length).toBe(count);
    await line.getByText(`Explained by ${broker}`).waitFor();

    await line.getByRole('button', { name: 'Release to buyers' }).click();
    const asked = page.getByRole('alertdialog', { name: 'Release this to buyers?' });
    await asked.getByText('An add-back of the year before.').waitFor();
    await expectAccessible(page);
    await asked.getByRole('button', { name: 'Release to buyers' }).click();
    await line.getByText('Buyers see this').waitFor();
    await expectAccessible(page);

    await theirs.page.getByRole('heading', { name: 'Explained (1)' }).waitFor();
    await theirs.page.getByText('An add-back of the year before.').waitFor();
    expect(
      await theirs.page.getByRole('button', { name: /^(Explain|Change|Withdraw|Release to buyers)$/ }).count(),
    ).toBe(0);
    await expectAccessible(theirs.page);

    await line.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Withdraw' }).click();
    await theirs.page.getByRole('heading', { name: 'Explained (1)' }).waitFor({ state: 'detached' });
    await line.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: `Open contradictions (${count})` }).waitFor();
    expect([...testPage.complaints, ...theirs.complaints]).toEqual([]);
  } finally {
    await browser.close();
  }
});

test("in the browser: a broker's text is kept, and is sent only after they have seen concurrent changes", async () => {
  const browser = await openBrowser();
  try {
    const testPage = await openTestPage(browser, service.origin, { cookie: as('broker').cookie });
    const { page } = testPage;
    await testPage.go(`/deals/${deal}/qoe`);
    const line = page.getByRole('listitem').filter({ hasText: '“FY1998”' });
    await line.getByRole('button', { name: 'Explain' }).click();
    await page.getByLabel('Why').fill('It was booked late.');
    await explain(await unmatched('broker', 'FY1998'), 'It is a typing error.');
    await page.getByText('Explained (1)').waitFor();
    expect(await page.getByLabel('Why').inputValue()).toBe('It was booked late.');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Explain', exact: true }).click();
    await dialog.getByText('The answer was changed meanwhile.').waitFor();
    await dialog.getByText(`Explained by ${broker}: It is a typing error.`).waitFor();
    expect(await page.getByLabel('Why').inputValue()).toBe('It was booked late.');
    const more = await adjust('FY1998', '1');
    await page.getByRole('list', { includeHidden: true }).getByText('101.10').waitFor({ state: 'attached' });
    expect(await dialog.getByText('101.10').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByText('The figures have changed meanwhile.').waitFor();
    await dialog.getByText('101.10').waitFor();
    await expectAccessible(page);
    expect((await unmatched('broker', 'FY1998')).answer).toMatchObject({ why: 'It is a typing error.' });
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await unmatched('broker', 'FY1998')).answer).toMatchObject({
      why: 'It was booked late.',
      of_other_figures: false,
    });

    await line.getByRole('button', { name: 'Remove' }).click();
    await explain(await unmatched('broker', 'FY1998'), 'It is a typing error of May.');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('alertdialog').getByText('The answer was changed meanwhile.').waitFor();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    await line.getByText('It is a typing error of May.').waitFor();

    // A contradiction that no longer exists needs no answer.
    await line.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Why').fill('It was booked very late.');
    await service.sql('delete from normalizations where id = $1', [more]);
    await service.sql(`delete from normalizations where deal_id = $1 and period_label = 'FY1998'`, [deal]);
    await dialog.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByText('There is nothing left to explain.').waitFor();
    expect(testPage.complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
