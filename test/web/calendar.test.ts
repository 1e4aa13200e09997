/**
 * Deadlines as a calendar subscription: by a secret link, with the deadlines that its person sees, in the format of RFC
 * 5545.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NotWritable } from '../../server/database/errors.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { enterWithCalendarLink } from '../../server/domain/notifications/calendar.ts';
import { chooseNotification } from '../../server/domain/notifications/notifications.ts';
import { calendar, folded, textValue } from '../../server/web/icalendar.ts';
import { openScene, trail, type WebScene } from './scene.ts';

const day = 86_400_000;

let web: WebScene;
let deadline: Date;
beforeAll(async () => {
  web = await openScene();
  const { service, scene } = web;
  // A deadline of each kind for everybody who may see one.
  await service.sql(`update ndas set expires_at = $1 where status = 'active'`, [later(40)]);
  await service.sql(
    `update offers set payload = payload || jsonb_build_object('expires_at', $1::text) where is_current`,
    [later(20).toISOString()],
  );
  await does('broker', `/deals/${scene.deal}/conditions`, {
    name: 'Consent of the landlord',
    owner_user_id: scene.people['exclusive buyer'],
    deadline: '2099-01-01',
  });
  deadline = later(16);
  await service.sql(`update closing_conditions set deadline = $1 where name = 'Consent of the landlord'`, [
    deadline.toISOString().slice(0, 10),
  ]);
});
afterAll(() => web?.close());

const later = (days: number) => new Date(Math.floor(web.service.clock.now().getTime() / 1000) * 1000 + days * day);

async function does(who: string, path: string, body: unknown = {}, method = 'POST') {
  const { status, body: answer } = await (await web.as(who)).ask(path, body, method);
  expect(status, `${who}: ${method} ${path}: ${JSON.stringify(answer)}`).toBeLessThan(300);
  return answer;
}

const linkOf = async (who: string): Promise<string> => (await does(who, '/notifications/calendar')).url;

/** The entries of a calendar: each property's value by its name and parameters. */
function entriesIn(text: string): Record<string, string>[] {
  const lines = text.replaceAll('\r\n ', '').split('\r\n');
  return lines
    .join('\n')
    .split('BEGIN:VEVENT\n')
    .slice(1)
    .map((entry) =>
      Object.fromEntries(
        entry
          .split('\nEND:VEVENT')[0]!
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
      ),
    );
}

/** The fields used here of offers, NDAs and conditions in the responses to the pages. */
interface Listed {
  id: string;
  status: string;
  is_current: boolean;
  accepted_at: string | null;
  declined_at: string | null;
  payload: { expires_at: string };
  expires_at: string;
  deadline: string | null;
}

describe('the calendar', () => {
  test('contains for each person exactly the deadlines on their pages', async () => {
    const { scene } = web;
    const now = web.service.clock.now().getTime();
    const seen = new Map<string, number>();
    for (const who of Object.keys(scene.people)) {
      const person = await web.as(who);
      const me = scene.people[who];
      const expected: string[] = [];
      for (const { id: deal } of (await person.ask('/deals?limit=200')).body.items) {
        const { participants = [] } = (await person.ask(`/deals/${deal}`)).body;
        if (
          !participants.some(
            (one: { user_id: string; status: string }) => one.user_id === me && one.status === 'active',
          )
        )
          continue;
        const list = async (path: string): Promise<Listed[]> =>
          (await person.ask(`/deals/${deal}/${path}`)).body.items ?? [];
        for (const offer of await list('offers'))
          if (
            offer.is_current &&
            !offer.accepted_at &&
            !offer.declined_at &&
            Date.parse(offer.payload.expires_at) > now
          )
            expected.push(offer.id);
        for (const nda of await list('ndas'))
          if (nda.status === 'active' && Date.parse(nda.expires_at) > now) expected.push(nda.id);
        for (const condition of await list('conditions'))
          if (['open', 'in_progress'].includes(condition.status) && condition.deadline) expected.push(condition.id);
        const { exclusivity_expires_at: until } = (await person.ask(`/deals/${deal}`)).body.deal;
        if (until && Date.parse(until) > now) expected.push(`exclusivity of ${deal}`);
      }
      const answer = await fetch(await linkOf(who));
      expect(answer.status, who).toBe(200);
      const found = entriesIn(await answer.text()).map(({ UID = '', SUMMARY = '', URL: url = '' }) =>
        SUMMARY.includes('xclusivity') ? `exclusivity of ${url.split('/').at(-1)}` : UID,
      );
      expect(found.toSorted(), who).toEqual(expected.toSorted());
      seen.set(who, found.length);
    }
    expect(seen.get('broker')).toBeGreaterThan(4);
    expect(seen.get('exclusive buyer')).toBeGreaterThan(2);
    expect(seen.get('other buyer')).toBeGreaterThan(0);
    expect(seen.get('outsider')).toBe(0);
  });

  test('names the deal and the task, but no person, text or amount', async () => {
    const text = await (await fetch(await linkOf('exclusive buyer'))).text();
    const entries = entriesIn(text);
    expect(entries.map(({ SUMMARY }) => SUMMARY)).toEqual(
      expect.arrayContaining([
        'A closing condition assigned to you is due: Corner bakery',
        'Your exclusivity ends: Corner bakery',
        'Your NDA ends: Corner bakery',
      ]),
    );
    const ofAnother = entriesIn(await (await fetch(await linkOf('other buyer'))).text());
    expect(ofAnother.map(({ SUMMARY }) => SUMMARY)).toContain('Your offer expires: Corner bakery');
    expect(text).not.toMatch(/landlord|Keep it to yourself|exclusive buyer|USD|price/i);
    const condition = entries.find(({ SUMMARY }) => SUMMARY?.startsWith('A closing condition'))!;
    const dateOf = (time: Date) => time.toISOString().slice(0, 10).replaceAll('-', '');
    const on = dateOf(deadline);
    const next = dateOf(new Date(deadline.getTime() + day));
    expect(condition).toMatchObject({
      'DTSTART;VALUE=DATE': on,
      'DTEND;VALUE=DATE': next,
      SEQUENCE: expect.any(String),
    });
    expect(condition['URL']).toBe(`${web.service.config.baseUrl}/deals/${web.scene.deal}/closing`);
  });

  test('keeps the UID of a moved deadline and increases its SEQUENCE', async () => {
    const { clock } = web.service;
    const link = await linkOf('broker');
    const exclusivity = async () =>
      entriesIn(await (await fetch(link)).text()).find(({ SUMMARY }) => SUMMARY?.startsWith('The exclusivity ends'))!;
    const before = await exclusivity();
    clock.advance(90_000);
    await does('broker', `/deals/${web.scene.deal}/exclusivity`, { expires_at: later(50).toISOString() }, 'PATCH');
    const after = await exclusivity();
    expect(after['UID']).toBe(before['UID']);
    expect(after['DTSTART']).not.toBe(before['DTSTART']);
    expect(Number(after['SEQUENCE'])).toBeGreaterThan(Number(before['SEQUENCE']));
    expect(after['LAST-MODIFIED']! > before['LAST-MODIFIED']!).toBe(true);
  });

  test('is 304 until something in it changes, with Cache-Control: no-cache', async () => {
    const link = await linkOf('seller');
    const first = await fetch(link);
    expect(first.headers.get('content-type')).toBe('text/calendar; charset=utf-8');
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const etag = first.headers.get('etag')!;
    expect((await fetch(link, { headers: { 'if-none-match': etag } })).status).toBe(304);
    // As a proxy weakens it that compresses responses.
    expect((await fetch(link, { headers: { 'if-none-match': `W/${etag}` } })).status).toBe(304);
    await does('broker', `/deals/${web.scene.deal}/conditions`, {
      name: 'Another',
      deadline: later(9).toISOString().slice(0, 10),
    });
    const again = await fetch(link, { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(200);
    expect(again.headers.get('etag')).not.toBe(etag);
  });
});

describe('the calendar link', () => {
  const answerOf = async (link: string) => {
    const answer = await fetch(link);
    return { status: answer.status, text: await answer.text() };
  };

  test('is one per person, ends when it is renewed or removed, and is never logged', async () => {
    const first = await linkOf('viewer');
    expect((await answerOf(first)).status).toBe(200);
    const second = await linkOf('viewer');
    const gone = await answerOf(first);
    expect(gone.status).toBe(404);
    expect((await answerOf(second)).status).toBe(200);
    const { body } = await (await web.as('viewer')).ask('/notifications/calendar');
    expect(Object.keys(body)).toEqual(['made_at']);
    expect(body.made_at).not.toBeNull();
    await does('viewer', '/notifications/calendar', {}, 'DELETE');
    expect(await answerOf(second)).toEqual(gone);
    expect((await (await web.as('viewer')).ask('/notifications/calendar')).body).toEqual({ made_at: null });
    // Links that were never issued get the same response.
    for (const other of [`${second}A`, second.slice(0, -1), second.split('?')[0]!])
      expect(await answerOf(other), other).toEqual(gone);
    const token = new URL(second).searchParams.get('token')!;
    expect(token).toMatch(/^[\w-]{43}$/);
    await expect.poll(() => web.service.log.join('')).toContain('/calendar.ics');
    expect(web.service.log.join('')).not.toContain(token);
    expect(await trail(web.service, 'calendar_link.make')).toContainEqual(
      expect.objectContaining({ user_id: web.scene.people['viewer'], outcome: 'done' }),
    );
    expect(await trail(web.service, 'calendar_link.remove')).toHaveLength(1);
  });

  test('ends with the suspension of its person, even after a restore', async () => {
    const link = await linkOf('new buyer');
    expect((await answerOf(link)).status).toBe(200);
    const suspend = (at: string) =>
      web.service.sql(`update users set suspended_at = ${at} where id = $1`, [web.scene.people['new buyer']]);
    await suspend('app.now()');
    expect((await answerOf(link)).status).toBe(404);
    await suspend('null');
    expect((await answerOf(link)).status).toBe(404);
  });

  test('gives no write access', async () => {
    const link = await linkOf('seller');
    const digest = tokenDigest(new URL(link).searchParams.get('token')!);
    await expect(
      web.service.database.together(enterWithCalendarLink(digest), chooseNotification('nda_sent', 'off')),
    ).rejects.toBeInstanceOf(NotWritable);
  });

  test('has a rate limit', async () => {
    const link = await linkOf('colleague');
    const codes: number[] = [];
    for (let i = 0; i < 32; i += 1) codes.push((await fetch(link)).status);
    expect(codes.slice(0, 30).every((code) => code === 200 || code === 429)).toBe(true);
    expect(codes).toContain(200);
    // The minute of the limit may end between two requests.
    if (!codes.includes(429)) for (let i = 0; i < 40; i += 1) codes.push((await fetch(link)).status);
    expect(codes).toContain(429);
  });
});

describe('the calendar in the format of RFC 5545', () => {
  test('has lines of at most 75 octets, folded without splitting a character', () => {
    const line = `SUMMARY:${'Bäckerei 🥐 '.repeat(30)}`;
    const text = folded(line);
    for (const part of text.split('\r\n')) {
      expect(Buffer.byteLength(part)).toBeLessThanOrEqual(75);
      expect(Buffer.from(part, 'utf8').toString('utf8')).not.toContain('\uFFFD');
    }
    expect(text.replaceAll('\r\n ', '')).toBe(`${line}\r\n`);
    expect(folded('A'.repeat(75))).toBe(`${'A'.repeat(75)}\r\n`);
    expect(folded('A'.repeat(76))).toBe(`${'A'.repeat(75)}\r\n A\r\n`);
  });

  test('escapes separators and line breaks in text', () => {
    expect(textValue('A; B, C\\D\r\nE\nF\u0007')).toBe(String.raw`A\; B\, C\\D\nE\nF`);
    const title = 'Harbor\r\nEND:VCALENDAR';
    const at = new Date('2026-11-22T10:00:00.123Z');
    const text = calendar('A, B', [
      { uid: 'u', at, summary: title, description: '', url: 'https://a.example', begunAt: at, changedAt: at },
    ]);
    expect(text.split('\r\n').filter((line) => line === 'END:VCALENDAR')).toHaveLength(1);
    expect(text).not.toMatch(/[^\r]\n/);
    expect(text).toContain('DTSTART:20261122T100000Z\r\n');
    expect(text).toContain(String.raw`NAME:A\, B`);
  });

  test('has at least one component, even without deadlines', () => {
    const text = calendar('Empty', []);
    expect(text).toMatch(/^BEGIN:VCALENDAR\r\nVERSION:2\.0\r\nPRODID:/);
    expect(text).toContain('BEGIN:VTIMEZONE\r\nTZID:UTC\r\n');
    expect(text).toMatch(/END:VTIMEZONE\r\nEND:VCALENDAR\r\n$/);
  });
});
