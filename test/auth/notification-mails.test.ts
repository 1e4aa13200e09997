/**
 * Notification mails: several notifications of a deal in one mail, the daily mail at its reader's local time, and
 * unsubscribing from a kind.
 */

import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  queueNotificationMails,
  createNotifications,
  queueReminders,
} from '../../server/domain/notifications/events.ts';
import { openDatabase } from '../../server/database/database.ts';
import { timeInWords } from '../../server/http/days.ts';
import type { Mail } from '../../server/mail/transport.ts';
import { startNotifier } from '../../server/background/notifier.ts';
import { addClient, addPerson, connect, redeem } from '../oauth/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { newPassword, openAccount, signedInVisitor, Visitor } from './scene.ts';
import { aPdf, upload } from '../web/uploads.ts';

const secretText = 'Is the lease of Mill Lane assignable?';
const minute = 60_000;

let web: WebScene;
beforeAll(async () => {
  web = await openScene();
});
afterAll(() => web?.close());

/**
 * Creates all notifications and delivers the due mails; returns the mails since the last call, by the name in their
 * address.
 */
async function mails(): Promise<Record<string, Mail[]>> {
  while ((await web.service.database.run(createNotifications(100))) > 0);
  await web.service.database.run(queueNotificationMails(200));
  const before = web.service.mails.length;
  await web.service.deliver();
  const by: Record<string, Mail[]> = {};
  for (const mail of web.service.mails.slice(before)) (by[mail.to.replace('@example.test', '')] ??= []).push(mail);
  return by;
}

async function does(who: string, path: string, body: unknown = {}, method = 'POST') {
  const person = await signInAs(web.service, web.scene.people[who]!);
  const { status, body: answer } = await person.ask(path, body, method);
  expect(status, `${who}: ${method} ${path}: ${JSON.stringify(answer)}`).toBeLessThan(300);
  return answer;
}

const ask = () =>
  does('exclusive buyer', `/deals/${web.scene.deal}/questions`, { category: 'legal', question_text: secretText });

const whole = (mail: Mail): string => JSON.stringify(mail);

describe('immediate mails', () => {
  test('name the deal and the action, and quote nothing that was written', async () => {
    await ask();
    const sent = await mails();
    expect(Object.keys(sent).toSorted()).toEqual(['broker', 'broker-s-advisor', 'exclusive-buyer-s-advisor']);
    const [mail] = sent['broker']!;
    expect(mail).toMatchObject({ subject: 'Corner bakery: A question was asked' });
    expect(mail!.text).toContain(`/deals/${web.scene.deal}/questions`);
    expect(mail!.text).toContain('Scene Brokers');
    for (const one of Object.values(sent).flat()) expect(whole(one)).not.toMatch(/lease|Mill Lane|assignable/);
  });

  test('of one deal within five minutes are combined', async () => {
    for (let i = 0; i < 3; i += 1) await ask();
    await does('other buyer', `/deals/${web.scene.deal}/offers`, {
      payload: { currency: 'USD', purchase_price: '123457' },
    });
    // The first mail was sent less than five minutes ago.
    expect((await mails())['broker']).toBeUndefined();
    web.service.clock.advance(6 * minute);
    const sent = await mails();
    expect(sent['broker']).toHaveLength(1);
    expect(sent['broker']![0]).toMatchObject({ subject: 'Updates on Corner bakery' });
    expect(sent['broker']![0]!.text).toContain('3 questions were asked.');
    expect(sent['broker']![0]!.text).toContain('An offer was revised.');
    for (const one of Object.values(sent).flat()) expect(whole(one)).not.toMatch(/123457|123,457|lease/);
    expect(await mails()).toEqual({});
  });

  test('say to buyers what is theirs, and to others what happened', async () => {
    web.service.clock.advance(10 * minute);
    const { id } = await does('broker', `/deals/${web.scene.deal}/ndas`, {
      participant_id: web.scene.participants['new buyer'],
      terms: 'Keep it to yourself.',
    });
    const sent = await mails();
    expect(sent['new-buyer']![0]).toMatchObject({ subject: 'Corner bakery: You were sent an NDA to sign' });
    expect(sent['new-buyer']![0]!.text).toContain('Read and sign it');
    expect(sent['seller']![0]).toMatchObject({ subject: 'Corner bakery: An NDA was sent' });
    await does('broker', `/ndas/${id}/revoke`);
  });

  test('are not sent for notifications that were read or are no longer accessible', async () => {
    web.service.clock.advance(10 * minute);
    await ask();
    while ((await web.service.database.run(createNotifications(100))) > 0);
    await web.service.database.run(queueNotificationMails(200));
    // The mails are already in the outbox when the broker reads the notifications and the buyer's advisor is removed.
    await does('broker', '/notifications/read', {});
    const part = web.scene.participants["exclusive buyer's advisor"]!;
    await does('broker', `/deals/${web.scene.deal}/participants/${part}`, {}, 'DELETE');
    const before = web.service.mails.length;
    await web.service.deliver();
    const to = web.service.mails.slice(before).map((one) => one.to);
    expect(to).toEqual(['broker-s-advisor@example.test']);
    // The other mails do not remain unsent, and so are not reported as given up.
    expect(await web.service.sql('select from vault.outbox where sent_at is null')).toEqual([]);
    web.service.clock.advance(10 * minute);
    await mails();
  });
});

describe('the daily mail', () => {
  const addDocument = async (name: string) => {
    const seller = await signInAs(web.service, web.scene.people['seller']!);
    const query = { filename: name, confidentiality: 'public' } as const;
    expect((await upload(web.service, seller, web.scene.deal, aPdf(), query)).status).toBe(201);
  };

  test('leaves out subjects that were completed, decided or postponed meanwhile', async () => {
    const { service, scene } = web;
    const { deal, idle, people, participants, records } = scene;
    const day = 24 * 60 * minute;
    const from = service.clock.now();
    const at = (days: number) => new Date(from.getTime() + days * day).toISOString();
    const daily = async (who: string, ...kinds: string[]) => {
      for (const kind of kinds) await does(who, `/notifications/choices/${kind}`, { delivery: 'daily' }, 'PUT');
    };
    await daily('new buyer', 'nda_reminder');
    await daily('seller', 'question_reminder');
    await daily('exclusive buyer', 'condition_reminder');
    const deadlines = ['offer_expiring', 'nda_ending', 'exclusivity_ending', 'condition_due', 'condition_overdue'];
    await daily('broker', ...deadlines);

    // At most two of each kind, one of which is dealt with before the mail is sent.
    const nda = (of: string, participant_id: string) =>
      does('broker', `/deals/${of}/ndas`, { participant_id, terms: 'Keep it to yourself.' });
    const signed = await nda(deal, participants['new buyer']!);
    const unsigned = await nda(idle, scene.idleBuyer);
    await service.sql(`update public.ndas set expires_at = $1 where deal_id = $2 and status = 'active'`, [at(9), deal]);
    const asked = await ask();
    await does('broker', `/questions/${asked.id}/release`);
    const condition = (name: string, deadline: string | null, owner_user_id: string | null = null) =>
      does('broker', `/deals/${deal}/conditions`, { name, deadline, owner_user_id });
    const [met, , due, , late] = [
      await condition('Consent of the bank', null, people['exclusive buyer']!),
      await condition('Consent of the landlord', null, people['exclusive buyer']!),
      await condition('Licenses', at(4).slice(0, 10)),
      await condition('Insurance', at(4).slice(0, 10)),
      await condition('Inventory', at(1).slice(0, 10)),
      await condition('Payroll', at(1).slice(0, 10)),
    ];
    const offer = (who: string, on: string, expires_at?: string) =>
      does(who, `/deals/${on}/offers`, { payload: { currency: 'USD', purchase_price: '100', expires_at } });
    await offer('new buyer', deal, at(4.9));
    await offer('other buyer', deal, at(4.9));
    const agreed = await offer('other buyer', idle, at(4.9));
    await does('broker', `/deals/${deal}/exclusivity`, { expires_at: at(9) }, 'PATCH');
    await mails();

    service.clock.set(new Date(at(3)));
    await service.database.run(queueReminders());
    for (const [subject, subject_id] of [
      ['ndas', signed.id],
      ['questions', asked.id],
      ['questions', scene.unanswered],
      ['closing_conditions', met.id],
    ])
      await does('broker', `/deals/${deal}/reminders`, { subject, subject_id });
    await does('broker', `/deals/${idle}/reminders`, { subject: 'ndas', subject_id: unsigned.id });
    while ((await service.database.run(createNotifications(100))) > 0);

    await does('new buyer', `/ndas/${signed.id}/sign`, { signed_name: 'new buyer' });
    await does('broker', `/ndas/${records["ndas/the other buyer's"]}/revoke`);
    await does('seller', `/questions/${asked.id}/answer`, { answer_text: 'Yes.' });
    for (const { id } of [met, due]) await does('broker', `/conditions/${id}`, { status: 'satisfied' }, 'PATCH');
    await does('broker', `/conditions/${late.id}`, { deadline: at(60).slice(0, 10) }, 'PATCH');
    await offer('new buyer', deal);
    await does('broker', `/offers/${agreed.id}/accept`, { expires_at: at(60) });
    await does('broker', `/deals/${deal}/exclusivity`, { expires_at: at(60) }, 'PATCH');

    service.clock.advance(day);
    const sent = await mails();
    const told = (who: string) => {
      const mail = sent[who]?.find(({ subject }) => subject.startsWith('Daily summary'));
      return (mail?.text.match(/^- .+(remind|expire|end|due).+$/gm) ?? []).toSorted();
    };
    expect(told('new-buyer')).toEqual(['- A broker reminds you of an NDA that is waiting for your signature.']);
    expect(told('seller')).toEqual(['- A broker reminds you of a question that is waiting for your answer.']);
    expect(told('exclusive-buyer')).toEqual([]);
    expect(told('broker')).toEqual([
      '- A closing condition is due within 3 days.',
      '- A closing condition is overdue.',
      '- An NDA ends within a week.',
      '- An offer expires within two days.',
    ]);
    await service.sql(`update public.ndas set expires_at = null where status = 'active'`);
  });

  test('is sent once a day at the reader’s local hour, also across clock changes', async () => {
    // In New York the clocks go forward on 14 March 2027 and back on 7 November 2027.
    const { clock } = web.service;
    clock.stand(new Date('2027-03-12T17:00:00Z'));
    const viewer = await signInAs(web.service, web.scene.people['viewer']!);
    const settings = { time_zone: 'America/New_York', digest_hour: 8 };
    expect((await viewer.ask('/notifications/settings', settings, 'PUT')).status).toBe(204);
    const received: string[] = [];
    const pass = async (hours: number) => {
      for (let hour = 0; hour < hours; hour += 1) {
        clock.advance(60 * minute);
        if (hour % 6 === 0) await addDocument('Secret plan.pdf');
        const sent = (await mails())['viewer'] ?? [];
        for (const one of sent) {
          received.push(clock.now().toISOString());
          expect(one.subject).toBe('Daily summary: Corner bakery');
          expect(whole(one)).not.toContain('Secret plan');
        }
      }
    };
    await pass(72);
    expect(received).toEqual(['2027-03-13T13:00:00.000Z', '2027-03-14T12:00:00.000Z', '2027-03-15T12:00:00.000Z']);
    received.length = 0;
    clock.stand(new Date('2027-11-06T17:00:00Z'));
    await mails();
    await pass(48);
    expect(received).toEqual(['2027-11-07T13:00:00.000Z', '2027-11-08T13:00:00.000Z']);
  });

  test('is sent once if a clock change skips or repeats its hour', async () => {
    const next = async (hour: number, since: string) => {
      const [row] = await web.service.sql<{ at: Date }>(`select app.next_hour('America/New_York', $1, $2) as at`, [
        hour,
        since,
      ]);
      return new Date(row!.at).toISOString();
    };
    // In New York, 02:00 on 14 March 2027 does not exist, and 01:00 on 7 November 2027 occurs twice.
    expect(await next(2, '2027-03-14T05:00:00Z')).toBe('2027-03-14T07:00:00.000Z');
    expect(await next(2, '2027-03-14T07:00:00Z')).toBe('2027-03-15T06:00:00.000Z');
    const first = await next(1, '2027-11-07T04:30:00Z');
    expect(['2027-11-07T05:00:00.000Z', '2027-11-07T06:00:00.000Z']).toContain(first);
    expect(await next(1, first)).toBe('2027-11-08T06:00:00.000Z');
  });
});

describe('limits of notification mails', () => {
  const news = (deal: string, reader: string, actor: string | null, count: number) =>
    web.service.sql(
      `insert into vault.notifications (event_id, user_id, kind, deal_id, actor_id, at, mail, mail_due_at)
       select app.uuid_v7(), $2, 'question_asked', $1, $3, app.now(), 'at_once', app.now() from generate_series(1, $4)`,
      [deal, reader, actor, count],
    );
  const waiting = (reader: string) =>
    web.service.sql<{ due: string }>(
      `select to_char(mail_due_at at time zone 'UTC', 'HH24:MI') as due from vault.notifications where user_id = $1 and mail_due_at is not null`,
      [reader],
    );
  const written = async (reader: string) => {
    await web.service.database.run(queueNotificationMails(200));
    return (
      await web.service.sql('select from vault.outbox where recipient_id = $1 and created_at >= app.now()', [reader])
    ).length;
  };
  // Later notifications must not be combined with those sent here.
  afterAll(() => web.service.clock.advance(10 * minute));
  let day = 20;
  const begin = async () => {
    web.service.clock.stand(new Date(`2028-01-${(day += 1)}T10:05:00Z`));
    await web.service.sql('update vault.notifications set mail_due_at = null');
  };

  test('allow thirty mails an hour per reader, and postpone the rest to the next hour', async () => {
    await begin();
    const reader = web.scene.people['broker']!;
    for (let count = 0; count < 30; count += 1) {
      await news(web.scene.deal, reader, web.scene.people['seller']!, 1);
      expect(await written(reader)).toBe(1);
      web.service.clock.advance(minute);
    }
    await news(web.scene.deal, reader, web.scene.people['seller']!, 3);
    expect(await written(reader)).toBe(0);
    expect((await waiting(reader)).map(({ due }) => due)).toEqual(['11:00', '11:00', '11:00']);
    // Notifications of all deals are put off in one pass.
    const deals = await web.service.sql<{ id: string }>('select id from deals order by id limit 3');
    expect(deals.length).toBeGreaterThan(1);
    for (const { id } of deals) await news(id, reader, web.scene.people['seller']!, 2);
    await web.service.database.run(queueNotificationMails(1));
    expect(new Set((await waiting(reader)).map(({ due }) => due))).toEqual(new Set(['11:00']));
    await web.service.sql(`update vault.notifications set mail_due_at = null where user_id = $1 and deal_id <> $2`, [
      reader,
      web.scene.deal,
    ]);
    // Notifications about the security of their account are not delayed.
    await web.service.sql(
      `insert into vault.notifications (event_id, user_id, kind, at, mail, mail_due_at)
       values (app.uuid_v7(), $1, 'new_device', app.now(), 'at_once', app.now())`,
      [reader],
    );
    expect(await written(reader)).toBe(1);
    web.service.clock.stand(new Date(`2028-01-${day}T11:00:00Z`));
    // The three come in one mail.
    expect(await written(reader)).toBe(1);
    expect(await waiting(reader)).toEqual([]);
  });

  test('allow 300 mails an hour caused by one user, without delaying those of other users', async () => {
    await begin();
    const [reader, loud, other] = [
      web.scene.people['broker']!,
      web.scene.people['seller']!,
      web.scene.people['viewer']!,
    ];
    await web.service.sql(
      `insert into vault.mail_counts (subject, since, sent) values ('hour news by ' || $1::uuid, date_trunc('hour', app.now(), 'UTC'), 299)`,
      [loud],
    );
    await news(web.scene.deal, reader, loud, 1);
    expect(await written(reader)).toBe(1);
    web.service.clock.advance(minute);
    await news(web.scene.deal, reader, loud, 1);
    expect(await written(reader)).toBe(0);
    expect((await waiting(reader)).map(({ due }) => due)).toEqual(['11:00']);
    await news(web.scene.deal, reader, other, 1);
    expect(await written(reader)).toBe(1);
    // A deadline is nobody's action, and so is not limited.
    web.service.clock.advance(minute);
    await news(web.scene.deal, reader, null, 1);
    expect(await written(reader)).toBe(1);
    web.service.clock.stand(new Date(`2028-01-${day}T11:00:00Z`));
    expect(await written(reader)).toBe(1);
    await web.service.sql('delete from vault.outbox');
  });

  test('do not deadlock two nodes that write mails at the same time', async () => {
    await begin();
    const { deal, people } = web.scene;
    const [one, other] = [people['exclusive buyer']!, people['other buyer']!];
    const nodes = [new pg.Client(web.service.connections.server), new pg.Client(web.service.connections.server)];
    const write = async (node: number) => {
      const { text, values } = queueNotificationMails(200);
      return (await nodes[node]!.query(text, [...values])).rows[0].written;
    };
    try {
      for (const node of nodes) {
        await node.connect();
        await node.query(`select set_config('dealkeep.now', $1, false)`, [web.service.clock.now().toISOString()]);
        await node.query('begin');
      }
      // Each node would have counted the news of one person when it comes to the news of the other, and the two would
      // deadlock.
      await news(deal, people['broker']!, one, 1);
      expect(await write(0)).toBe(1);
      await news(deal, people['seller']!, other, 1);
      const found = await write(1);
      await news(deal, people['viewer']!, other, 1);
      const first = write(0);
      await news(deal, people['colleague']!, one, 1);
      await Promise.all([first, write(1)]);
      expect(found).toBe(0);
      for (const node of nodes) await node.query('commit');
    } finally {
      for (const node of nodes) await node.end();
    }
    await web.service.database.run(queueNotificationMails(200));
    expect(await web.service.sql(`select from vault.outbox where kind = 'notifications'`)).toHaveLength(4);
    await web.service.sql('delete from vault.outbox');
  });
});

describe('more due mails than one batch holds', () => {
  const due = (reader: string, deal: string | null, kind: string, count: number) =>
    web.service.sql(
      `insert into vault.notifications (event_id, user_id, kind, deal_id, actor_id, at, mail, mail_due_at)
       select app.uuid_v7(), $2, $3, $1, $4, app.now(), 'at_once', app.now() from generate_series(1, $5::int)`,
      [deal, reader, kind, deal === null ? null : web.scene.people['seller'], count],
    );
  const mailed = () =>
    web.service.sql<{ to: string; count: number }>(
      `select recipient_id as to, jsonb_array_length(facts -> 'notifications') as count from vault.outbox order by id`,
    );
  /** Writes all mails as the worker does, which stops at a batch that is not full; returns the number of batches. */
  async function writeAll() {
    let asked = 1;
    while ((await web.service.database.run(queueNotificationMails(20))) >= 20) asked += 1;
    return asked;
  }
  let day = 0;
  const clear = async () => {
    await web.service.sql('update vault.notifications set mail_due_at = null');
    await web.service.sql('delete from vault.outbox');
  };
  beforeEach(async () => {
    web.service.clock.stand(new Date(`2028-02-0${(day += 1)}T10:05:00Z`));
    await clear();
  });
  afterAll(async () => {
    await clear();
    web.service.clock.advance(10 * minute);
  });

  test('do not delay the mail of another reader', async () => {
    const [many, one] = [web.scene.people['broker']!, web.scene.people['viewer']!];
    await due(many, web.scene.deal, 'question_asked', 2_300);
    web.service.clock.advance(1_000);
    await due(one, web.scene.deal, 'question_asked', 1);
    await writeAll();
    const bySize = async () => (await mailed()).toSorted((a, b) => a.count - b.count);
    expect(await bySize()).toEqual([
      { to: one, count: 1 },
      { to: many, count: 1_000 },
    ]);
    // What the mail has no room for comes in the next hour, not in mails of the same minute that say the same.
    web.service.clock.advance(60 * minute);
    await writeAll();
    expect((await bySize()).map(({ count }) => count)).toEqual([1, 1_000, 1_000]);
  });

  test('about an account are all mailed at once', async () => {
    const reader = web.scene.people['viewer']!;
    await due(reader, null, 'new_device', 1_200);
    await writeAll();
    expect(await mailed()).toEqual([
      { to: reader, count: 1_000 },
      { to: reader, count: 200 },
    ]);
  });

  test('of a day come in one mail, and what it has no room for in that of the next day', async () => {
    const reader = web.scene.people['broker']!;
    await due(reader, web.scene.deal, 'question_asked', 1_700);
    await web.service.sql(`update vault.notifications set mail = 'daily' where mail_due_at is not null`);
    const summaries = async () => {
      await writeAll();
      const sizes = (await mailed()).map(({ count }) => count);
      const before = web.service.mails.length;
      await web.service.deliver();
      await web.service.sql('delete from vault.outbox');
      return [sizes, web.service.mails.slice(before).map(({ text }) => /\d+ questions? \w+ asked/.exec(text)?.[0])];
    };
    expect(await summaries()).toEqual([[1_000], ['1000 questions were asked']]);
    expect(await summaries()).toEqual([[], []]);
    web.service.clock.advance(24 * 60 * minute);
    expect(await summaries()).toEqual([[700], ['700 questions were asked']]);
  });

  test('are postponed together to the next hour by a limit', async () => {
    const reader = web.scene.people['broker']!;
    await web.service.sql(
      `insert into vault.mail_counts (subject, since, sent) values ('hour news to ' || $1::uuid, date_trunc('hour', app.now(), 'UTC'), 30)`,
      [reader],
    );
    await due(reader, web.scene.deal, 'question_asked', 6_000);
    expect(await writeAll()).toBeLessThan(5);
    expect(await mailed()).toEqual([]);
    expect(
      await web.service.sql(
        `select count(*)::int as rows, to_char(mail_due_at at time zone 'UTC', 'HH24:MI') as due
         from vault.notifications where user_id = $1 and mail_due_at is not null group by 2`,
        [reader],
      ),
    ).toEqual([{ rows: 6_000, due: '11:00' }]);
  });

  test('are written with account-security mails first', async () => {
    const [many, one] = [web.scene.people['broker']!, web.scene.people['viewer']!];
    await due(many, web.scene.deal, 'question_asked', 2_300);
    await due(many, web.scene.idle, 'question_asked', 1);
    web.service.clock.advance(1_000);
    await due(one, null, 'new_device', 1);
    await web.service.database.run(queueNotificationMails(1));
    expect(await mailed()).toEqual([{ to: one, count: 1 }]);
  });
});

describe('unsubscribing from a kind of notification', () => {
  test('works with one click and without a session, but not by opening the link', async () => {
    await does('broker', '/notifications/read', {});
    await ask();
    const [mail] = (await mails())['broker']!;
    expect(mail!.headers).toMatchObject({ 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' });
    const link = /^<(.+)>$/.exec(mail!.headers!['List-Unsubscribe']!)![1]!;
    const chosen = async () => {
      const { kinds } = (await (await signInAs(web.service, web.scene.people['broker']!)).ask('/notifications/choices'))
        .body;
      return kinds.find(({ kind }: { kind: string }) => kind === 'question_asked').delivery;
    };
    const looked = await fetch(link, { headers: { accept: 'text/html' } });
    expect(looked.status).toBe(200);
    expect(await looked.text()).toContain('Stop these e-mails');
    expect(await chosen()).toBe('at_once');

    const clicked = await fetch(link, {
      method: 'POST',
      body: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(clicked.status).toBe(200);
    expect(await chosen()).toBe('app');
    web.service.clock.advance(10 * minute);
    await ask();
    const sent = await mails();
    expect(sent['broker']).toBeUndefined();
    expect(sent['broker-s-advisor']).toHaveLength(1);

    for (const forged of [
      link.replace('question_asked', 'nda_sent'),
      link.slice(0, -1),
      `${link}0`,
      link.split('?')[0]!,
    ]) {
      const { status } = await fetch(forged, { method: 'POST' });
      expect([404, 200]).toContain(status);
      expect(status, forged).toBe(404);
    }
    // The token does not appear in the log.
    expect(web.service.log.join('')).not.toContain(new URL(link).searchParams.get('token'));
  });
});

describe('account-security notifications', () => {
  /** Adds a notification for the viewer, whose mail is due. */
  const tell = (kind: string, deal: string | null, mail: string) =>
    web.service.sql(
      `insert into vault.notifications (event_id, user_id, kind, deal_id, at, mail, mail_due_at)
       values (app.uuid_v7(), $1, $2, $3, app.now(), $4, app.now())`,
      [web.scene.people['viewer'], kind, deal, mail],
    );
  const kindsOf = async (userId: string) => {
    while ((await web.service.database.run(createNotifications(100))) > 0);
    const rows = await web.service.sql<{ kind: string }>(
      'select kind from vault.notifications where user_id = $1 order by at, id',
      [userId],
    );
    return rows.map(({ kind }) => kind);
  };

  test('report a sign-in from a new browser to a user who has signed in elsewhere', async () => {
    const account = await openAccount(web.service);
    const first = await signedInVisitor(web.service, account);
    expect(await kindsOf(account.id)).toEqual([]);
    await first.signIn(account);
    expect(await kindsOf(account.id)).toEqual([]);
    const elsewhere = new Visitor(web.service.origin, { 'user-agent': 'Elsewhere' });
    await elsewhere.signIn(account);
    expect(await kindsOf(account.id)).toEqual(['new_device']);
    await elsewhere.signIn(account);
    expect(await kindsOf(account.id)).toEqual(['new_device']);
    // Nobody signs in by it, and the browser stays known.
    const chosen = { ...account, password: newPassword() };
    await elsewhere.change('/api/auth/password', { current_password: account.password, password: chosen.password });
    await elsewhere.signIn(chosen);
    expect(await kindsOf(account.id)).toEqual(['new_device']);
    await web.service.database.run(queueNotificationMails(200));
    await web.service.deliver();
    const mail = web.service.mails.at(-1)!;
    expect(mail).toMatchObject({ to: account.email, subject: 'Someone signed in to your account from a new device' });
    expect(mail.text).toContain('/settings/security');
    const [{ at } = { at: new Date(0) }] = await web.service.sql<{ at: Date }>(
      'select at from vault.notifications where user_id = $1',
      [account.id],
    );
    const time = timeInWords(at.toISOString());
    expect(mail.text).toContain(`Someone signed in to your account from a new device. This was on ${time}.`);

    // Mails about the security of an account are never delayed, not even for further notifications within five minutes.
    web.service.clock.advance(minute);
    await new Visitor(web.service.origin, { 'user-agent': 'A third' }).signIn(chosen);
    const name = account.email.replace('@example.test', '');
    expect((await mails())[name]).toMatchObject([{ subject: 'Someone signed in to your account from a new device' }]);
  });

  test('give times in the time zone of their reader', async () => {
    await mails();
    for (const [time_zone, name, offset] of [
      ['Asia/Kolkata', /^GMT\+5:30$/, '+0530'],
      ['America/Phoenix', /^MST$/, '-0700'],
      ['Africa/Algiers', /^GMT\+1$|^CET$/, '+0100'],
      ['UTC', /^UTC$/, '+0000'],
    ] as const) {
      await does('viewer', '/notifications/settings', { time_zone, digest_hour: 8 }, 'PUT');
      await tell('new_device', null, 'at_once');
      const [last] = await web.service.sql<{ at: Date }>(
        `select max(at) as at from vault.notifications where user_id = $1 and kind = 'new_device'`,
        [web.scene.people['viewer']],
      );
      const [mail] = (await mails())['viewer']!;
      const [, day = '', time = '', zone] = /This was on (.+) at (\d\d:\d\d) (\S+)\.$/m.exec(mail!.text) ?? [];
      expect(zone).toMatch(name);
      expect(Date.parse(`${day} ${time} ${offset}`)).toBe(Math.floor(last!.at.getTime() / minute) * minute);
    }
  });

  test('add instructions to their mail, whatever else it contains', async () => {
    const warning = 'set a new password at once';
    await mails();
    await tell('document_added', web.scene.deal, 'daily');
    expect((await mails())['viewer']![0]!.text).not.toContain(warning);
    await tell('document_added', web.scene.deal, 'daily');
    await tell('new_device', null, 'daily');
    expect((await mails())['viewer']![0]!.text).toContain(warning);
    await tell('removed', null, 'at_once');
    expect((await mails())['viewer']![0]!.text).not.toContain(warning);
    await tell('removed', null, 'at_once');
    await tell('assistant_connected', null, 'at_once');
    const [mail] = (await mails())['viewer']!;
    expect(mail!.text).toContain(`${warning} (“Forgot password?” where you sign in)`);
    // Also where the mail program goes from right to left.
    expect(mail!.html).toMatch(/<table[^>]* dir="ltr"/);
  });

  test('are mailed also when somebody in the account reads them first, or chooses fewer mails', async () => {
    const queued = async (mail: string) => {
      await tell('new_device', null, mail);
      await tell('question_asked', web.scene.deal, mail);
      await web.service.database.run(queueNotificationMails(200));
    };
    const time = async () => {
      const [last] = await web.service.sql<{ at: Date }>(
        `select max(at) as at from vault.notifications where user_id = $1 and kind = 'new_device'`,
        [web.scene.people['viewer']],
      );
      return timeInWords(last!.at.toISOString());
    };
    await mails();
    await queued('at_once');
    await does('viewer', '/notifications/read', {});
    await does('viewer', '/notifications/choices/new_device', { delivery: 'app' }, 'PUT');
    const atOnce = (await mails())['viewer']!;
    expect(atOnce).toMatchObject([{ subject: 'Someone signed in to your account from a new device' }]);
    expect(atOnce[0]!.text).toContain(`from a new device. This was on ${await time()}.`);
    await does('viewer', '/notifications/choices/new_device', { delivery: 'daily' }, 'PUT');
    await tell('new_device', null, 'daily');
    await tell('document_added', web.scene.deal, 'daily');
    await does('viewer', '/notifications/read', {});
    const daily = (await mails())['viewer']!;
    expect(daily).toMatchObject([{ subject: 'Daily summary: your account' }]);
    expect(daily[0]!.text).toContain(`from a new device. This was on ${await time()}.`);
    await does('viewer', '/notifications/choices/new_device', { delivery: 'at_once' }, 'PUT');
  });

  test('go to the address at the time, and what else was in the mail to the present one', async () => {
    const { service, scene } = web;
    const moveTo = (email: string) =>
      service.sql('update users set email = $2 where id = $1', [scene.people['viewer'], email]);
    await mails();
    await tell('new_device', null, 'daily');
    await tell('document_added', scene.deal, 'daily');
    await service.database.run(queueNotificationMails(200));
    await moveTo('elsewhere@example.test');
    const sent = await mails();
    expect(
      Object.fromEntries(Object.entries(sent).map(([to, all]) => [to, all.map(({ subject }) => subject)])),
    ).toEqual({
      viewer: ['Daily summary: your account'],
      elsewhere: ['Daily summary: Corner bakery'],
    });
    // Nobody at the former address unsubscribes the account.
    expect(whole(sent['elsewhere']![0]!)).toContain('/unsubscribe?');
    expect(sent['elsewhere']![0]!.headers).toHaveProperty('List-Unsubscribe');
    expect(whole(sent['viewer']![0]!)).not.toContain('nsubscribe');
    expect(sent['viewer']![0]!.text).not.toContain('Stop daily e-mails');
    expect(await service.sql('select from vault.outbox where sent_at is null')).toEqual([]);
    await moveTo('viewer@example.test');
  });

  test('name a deal, the account, or both as the reason for the mail', async () => {
    const because = async () => {
      const { subject, text } = (await mails())['viewer']![0]!;
      return [subject, /because (.+)\./.exec(text)![1]];
    };
    web.service.clock.advance(10 * minute);
    await mails();
    await tell('removed', null, 'daily');
    expect(await because()).toEqual(['Daily summary: your account', 'it concerns your account']);
    await tell('document_added', web.scene.deal, 'daily');
    await tell('removed', null, 'daily');
    expect(await because()).toEqual([
      'Daily summary: Corner bakery and your account',
      'you take part in this deal, and it concerns your account',
    ]);
    // Admins hear of it on deals in which they take no part.
    await tell('outside_broker', web.scene.deal, 'daily');
    expect(await because()).toEqual(['Daily summary: Corner bakery', 'you are an admin of the brokerage']);
    await tell('outside_broker', web.scene.deal, 'daily');
    await tell('document_added', web.scene.idle, 'daily');
    expect(await because()).toEqual([
      'Daily summary: 2 deals',
      'you take part in one of these deals, and you are an admin of the brokerage of the other',
    ]);
    await tell('deals_received', null, 'daily');
    expect((await because())[1]).toBe('you now run deals of the brokerage');
    await tell('removed', null, 'at_once');
    const [mail] = (await mails())['viewer']!;
    expect(mail).toMatchObject({ subject: 'You no longer take part in a deal' });
    expect(mail!.text).toContain('Open Dealkeep');
    expect(mail!.text).not.toContain('View the people');
  });

  test('name the brokerages for which keys were created, and link to their keys', async () => {
    const { service, scene } = web;
    const [{ id: coast } = { id: '' }] = await service.sql<{ id: string }>(
      `insert into brokerages (slug, name) values ('coast-keys', 'Coast Brokers') returning id`,
    );
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
      coast,
      scene.people['admin'],
    ]);
    const create = (brokerage: string) =>
      does('admin', `/brokerages/${brokerage}/keys`, { name: 'Site', environment: 'live', scopes: ['contacts:read'] });
    await mails();
    await create(coast);
    const [one] = (await mails())['admin']!;
    expect(one).toMatchObject({ subject: 'An API key was created for Coast Brokers' });
    expect(one!.text).toContain(`${service.config.baseUrl}/settings/keys?brokerage=${coast}`);
    const { items } = (await (await signInAs(service, scene.people['admin']!)).ask('/notifications')).body;
    expect(items[0]).toMatchObject({ summary: 'An API key was created for Coast Brokers.', brokerage_id: coast });
    await create(coast);
    await create(scene.brokerage);
    const [both] = (await mails())['admin']!;
    expect(both).toMatchObject({ subject: '2 API keys were created for Coast Brokers and Scene Brokers' });
    expect(both!.text).not.toContain('?brokerage=');
  });

  test('report to the admins that keys or webhooks lost the person through whom they worked, where they lose something', async () => {
    const { service, scene } = web;
    const admin = await signInAs(service, scene.people['admin']!);
    const create = async (scope: string): Promise<string> =>
      (
        await does('admin', `/brokerages/${scene.brokerage}/keys`, {
          name: 'Site',
          environment: 'live',
          scopes: [scope],
        })
      ).key.id;
    const [deals, contacts] = [await create('deals:read'), await create('contacts:read')];
    const rotate = (who: SignedIn, key: string, overlap_seconds = 0) =>
      who.ask(`/keys/${key}/rotate`, { overlap_seconds });
    const at = (id: string) => `/brokerages/${scene.brokerage}/members/${id}`;
    const become = (id: string, role: string) => admin.ask(at(id), { role }, 'PATCH');
    const told = async () => ((await mails())['admin'] ?? []).map(({ subject }) => subject);
    const keyStopped =
      'An API key of Scene Brokers stopped or can do less: the person through whom it works lost the right to it';
    const webhookStopped =
      'A webhook of Scene Brokers was turned off: the person through whom it worked lost the right to it';
    /** An admin, through whom keys or a webhook work. */
    const added = async (name: string, take: (who: SignedIn) => Promise<{ status: number }>) => {
      const [{ id } = { id: '' }] = await service.sql<{ id: string }>(
        `with u as (insert into users (email, name) values ($2 || '@example.test', 'Gone') returning id)
         insert into members (brokerage_id, user_id, role) select $1, u.id, 'admin' from u returning user_id as id`,
        [scene.brokerage, name],
      );
      expect((await take(await signInAs(service, id))).status, name).toBeLessThan(300);
      await mails();
      return id;
    };
    const takes = {
      deals: (who: SignedIn) => rotate(who, deals),
      contacts: (who: SignedIn) => rotate(who, contacts),
      // Of somebody else's key, which goes on.
      webhook: (who: SignedIn) =>
        who.ask(`/keys/${deals}/webhooks`, { url: 'https://hooks.example.com/here', types: null }),
    };
    const ends: Record<string, (id: string) => Promise<unknown>> = {
      demoted: (id) => become(id, 'broker'),
      removed: (id) => admin.ask(at(id), {}, 'DELETE'),
      suspended: (id) => service.sql('update users set suspended_at = app.now() where id = $1', [id]),
      erased: (id) => service.sql(`select app.erase_person($1, 'operator', null)`, [id]),
    };
    for (const [how, end] of Object.entries(ends))
      for (const [what, take] of Object.entries(takes)) {
        const gone = await added(`${what}-${how}`, take);
        await end(gone);
        // Brokers have these scopes of contacts, too.
        const lost =
          what === 'webhook' ? [webhookStopped] : how === 'demoted' && what === 'contacts' ? [] : [keyStopped];
        expect(await told(), `${what} ${how}`).toEqual(lost);
        if (how === 'demoted' && what !== 'webhook') {
          // Neither does a key lose anything with what its broker becomes next.
          for (const role of ['staff', 'broker']) await become(gone, role);
          expect(await told(), what).toEqual([]);
        }
        await rotate(admin, deals);
        await rotate(admin, contacts);
      }
    const { items } = (await admin.ask('/notifications')).body;
    const listed = { brokerage_id: scene.brokerage, subject_name: 'Site' };
    for (const [kind, summary, place] of [
      ['api_key_stopped', `${keyStopped}.`, 'keys'],
      ['webhook_stopped', `${webhookStopped}.`, 'webhooks'],
    ])
      expect(items).toContainEqual(expect.objectContaining({ ...listed, kind, summary, place }));
    // Shown to somebody else since, although the former token still works.
    const before = await added('before', takes.deals);
    await rotate(admin, deals, 3600);
    await mails();
    await ends['removed']!(before);
    expect(await told()).toEqual([]);
    const both = await added('both', async (who) => {
      await takes.deals(who);
      return takes.webhook(who);
    });
    await ends['removed']!(both);
    const [mail] = (await mails())['admin']!;
    for (const text of [
      keyStopped,
      webhookStopped,
      'Rotate the key',
      'turn it on',
      `keys?brokerage=${scene.brokerage}`,
    ])
      expect(mail!.text).toContain(text);
  });

  test('report to a member that an admin ended their sessions, and of which brokerage', async () => {
    const { service, scene } = web;
    await mails();
    await does('admin', `/brokerages/${scene.brokerage}/members/${scene.people['broker']}/sessions/end`);
    const sent = await mails();
    expect(Object.keys(sent)).toEqual(['broker']);
    const [mail] = sent['broker']!;
    const said = 'An admin of Scene Brokers signed you out everywhere and disconnected your connected clients';
    expect(mail).toMatchObject({ subject: said });
    expect(mail!.text).toContain('ask an admin of that brokerage');
    expect(mail!.text).not.toContain('set a new password at once');
    expect(mail!.text).toContain(`${service.config.baseUrl}/settings/security`);
    const { items } = (await (await signInAs(service, scene.people['broker']!)).ask('/notifications')).body;
    expect(items[0]).toMatchObject({ kind: 'sessions_ended', summary: `${said}.`, place: 'security' });
  });

  test('name a connected assistant and its host, also when a replay ends it, once each', async () => {
    const person = await addPerson(web.service, 'Ada');
    await mails();
    const grant = await connect(web.service, person, await addClient(web.service, person, { name: 'My bank' }));
    expect(grant).toBeDefined();
    expect(await kindsOf(person.id)).toEqual(['assistant_connected']);
    // Without the characters that keep mail programs from making links of names.
    const sentTo = async () =>
      Object.values(await mails())
        .flat()
        .filter(({ to }) => to === person.email)
        .map(({ subject, text }) => ({ subject: subject.replaceAll('\u200c', ''), text }));
    // Anybody can give any name: the host tells whose it is.
    const said = 'An assistant was connected to your account: “My bank” of client.example';
    expect(await sentTo()).toMatchObject([{ subject: said }]);
    const summaries = async () =>
      (await (await signInAs(web.service, person.id)).ask('/notifications')).body.items.map(
        ({ summary }: { summary: string }) => summary,
      );
    expect(await summaries()).toEqual([`${said}.`]);
    // Its code is used a second time.
    await redeem(web.service, grant);
    const ended = 'An assistant was disconnected because the access may have been copied: “My bank” of client.example';
    const [mail, ...others] = await sentTo();
    expect(others).toEqual([]);
    expect(mail).toMatchObject({ subject: ended });
    expect(mail!.text).toContain('used a second time');
    expect(mail!.text).toContain('/settings/clients');
    expect(await summaries()).toEqual([`${ended}.`, `${said}.`]);
    // It tells once that it has ended.
    await redeem(web.service, grant);
    expect(await sentTo()).toEqual([]);
  });
});

describe('the notifier of a node', () => {
  const count = async (from: string) => Number((await web.service.sql(`select count(*) from ${from}`))[0]!['count']);
  const waiting = () => count('vault.events');
  const queued = () => count(`vault.outbox where kind = 'notifications' and sent_at is null`);

  /** Queues events of a document that everybody on the deal sees, and a daily mail that is due. */
  async function arrange(events: number) {
    await mails();
    const { service, scene } = web;
    await service.sql(
      `insert into vault.events (kind, deal_id, subject, subject_id, actor_id)
       select 'document_added', $1, 'documents', $2, $3 from generate_series(1, $4::int)`,
      [scene.deal, scene.records['documents/public'], scene.people['seller'], events],
    );
    await service.sql(
      `insert into vault.notifications (event_id, user_id, kind, deal_id, at, mail, mail_due_at)
       values (app.uuid_v7(), $1, 'document_added', $2, app.now(), 'daily', app.now())`,
      [scene.people['viewer'], scene.deal],
    );
  }

  test('writes due mails even while events cannot be processed', async () => {
    await arrange(1);
    await web.service.sql('revoke execute on function app.tell_events(integer) from dealkeep_server');
    const stop = startNotifier(web.service.services);
    try {
      await expect.poll(queued).toBe(1);
      expect(await waiting()).toBe(1);
    } finally {
      await stop();
      await web.service.sql('grant execute on function app.tell_events(integer) to dealkeep_server');
    }
  });

  test('processes account events first, then user actions, then deadlines', async () => {
    const { service, scene } = web;
    await mails();
    const inDays = (days: number) => new Date(service.clock.now().getTime() + days * 24 * 60 * minute);
    const deadline = inDays(5).toISOString().slice(0, 10);
    await does('broker', `/deals/${scene.deal}/conditions`, { name: 'Consent of the landlord', deadline });
    service.clock.set(inDays(4));
    await service.database.run(queueReminders());
    service.clock.advance(minute);
    await ask();
    service.clock.advance(minute);
    const account = await openAccount(service);
    await signedInVisitor(service, account);
    await new Visitor(service.origin, { 'user-agent': 'Elsewhere' }).signIn(account);
    const waitingKinds = async () =>
      (await service.sql<{ kind: string }>('select kind from vault.events order by at, id')).map(({ kind }) => kind);
    const kinds = await waitingKinds();
    expect(kinds).toContain('condition_due');
    expect(kinds.slice(-2)).toEqual(['question_asked', 'new_device']);
    await service.database.run(createNotifications(1));
    expect(await waitingKinds()).toEqual(kinds.slice(0, -1));
    await service.database.run(createNotifications(1));
    expect(await waitingKinds()).toEqual(kinds.slice(0, -2));
    await service.database.run(createNotifications(100));
    expect(await waitingKinds()).toEqual([]);
  });

  test('processes more events than one statement’s time limit allows, on a deal with many participants', async () => {
    await arrange(20);
    await web.service.sql(
      `with many as (insert into users (email, name) select i || '@many.test', 'Buyer ' || i from generate_series(1, 200) i returning id)
       insert into participants (deal_id, user_id, role, status) select $1, id, 'buyer', 'active' from many`,
      [web.scene.deal],
    );
    const { services, connections, clock } = web.service;
    const hurried = openDatabase({
      connection: connections.server,
      poolSize: 1,
      statementMillis: 400,
      clock: clock.now,
    });
    const stop = startNotifier({ ...services, database: hurried });
    try {
      await expect.poll(waiting).toBe(0);
      await expect.poll(queued).toBe(1);
    } finally {
      await stop();
      await hurried.close();
    }
    const told = `vault.notifications n join public.users u on u.id = n.user_id and u.email like '%@many.test'`;
    expect(await count(told)).toBe(20 * 200);
  });

  test('writes due mails while a backlog of events remains', async () => {
    await arrange(400);
    const stop = startNotifier(web.service.services);
    try {
      await expect.poll(queued).toBe(1);
      expect(await waiting()).toBeGreaterThan(0);
    } finally {
      await stop();
      await web.service.sql('delete from vault.events');
    }
  });
});
