/**
 * Delivery of mails from the event to a real mail server: each is sent once, retried when refused, never lost, and not
 * sent when it is no longer needed.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { openDelivery, startDelivery, type Delivery } from '../../server/mail/delivery.ts';
import { queueNotificationMails } from '../../server/domain/notifications/events.ts';
import { createLog } from '../../server/lib/log.ts';
import { createMailer } from '../../server/mail/transport.ts';
import { openServices, type Services } from '../../server/services.ts';
import { openAccount, openBrokerage, Visitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { run } from '../runtime/program.ts';
import { aPng } from '../pictures.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { timeInWords } from '../../server/http/days.ts';
import { openMailServer, Refusal, type MailServer } from './mail-server.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

let mailServer: MailServer;
let service: TestService;
let admin: SignedIn;
let brokerage = '';
/** Two nodes that deliver. */
const nodes: Delivery[] = [];
const opened: Services[] = [];
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  mailServer = await openMailServer();
  service = await openService({
    config: {
      smtpUrl: mailServer.url,
      mailFrom: 'Dealkeep <deals@brokers.example>',
    },
  });
  for (let node = 0; node < 2; node += 1) {
    const services = await openNode();
    opened.push(services);
    nodes.push(openDelivery(services));
  }
  const made = await openBrokerage(service);
  brokerage = made.id;
  admin = await signInAs(service, made.admin.id);
});
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
  await service?.close();
  await mailServer?.close();
});
beforeEach(async () => {
  // The next day, when all counters are empty.
  service.clock.advance(day);
  admin = await signInAs(
    service,
    (await service.sql<{ id: string }>(`select user_id as id from members limit 1`))[0]!.id,
  );
  await service.sql('delete from vault.outbox');
  mailServer.received.length = 0;
  Object.assign(mailServer, { onSignIn: () => {}, onSender: () => {}, onRecipient: () => {}, onMail: () => {} });
});

/** Opens the services of a node, closed after the tests; `smtpUrl` replaces the mail server of the other nodes. */
async function openNode(smtpUrl?: string, baseUrl = service.config.baseUrl): Promise<Services> {
  const { config, log, clock } = service.services;
  const { services, close } = await openServices(
    { ...config, baseUrl, ...(smtpUrl === undefined ? {} : { smtpUrl }) },
    service.connections.server,
    { log, clock, waitMillis: 30_000 },
  );
  closers.push(close);
  return services;
}

let count = 0;
/** Invites a person by mail; returns their address. */
async function invite(name = 'Gus Guest', local = `guest${(count += 1)}`): Promise<string> {
  const email = `${local}@example.com`;
  const answer = await admin.ask(`/brokerages/${brokerage}/members`, { email, name, role: 'staff' });
  expect(answer).toMatchObject({ status: 201, body: { mailed: true } });
  return email;
}

const deliver = () => nodes[0]!.deliverDue();
const outbox = () =>
  service.sql<{
    state: string;
    attempts: number;
    last_error: string | null;
    secret: string | null;
    facts: object;
    in: number;
  }>(
    `select case when sent_at is not null then 'sent' when given_up_at is not null then 'given up' else 'waiting' end as state,
       attempts, last_error, secret, facts, extract(epoch from next_attempt_at - app.now())::int as in
     from vault.outbox order by created_at, id`,
  );

describe('a mail', () => {
  test("is sent once, as text and HTML, with its row's id as Message-ID, and its contents are not kept", async () => {
    const email = await invite();
    await deliver();
    await deliver();
    expect(mailServer.received).toHaveLength(1);
    const [{ id } = { id: '' }] = await service.sql<{ id: string }>('select id from vault.outbox');
    const { raw, messageId, from, to } = mailServer.received[0]!;
    expect({ messageId, from, to }).toEqual({
      messageId: `${id}@brokers.example`,
      from: 'deals@brokers.example',
      to: [email],
    });
    expect(raw).toMatch(/^content-type: multipart\/alternative;/im);
    expect(raw).toMatch(/^auto-submitted: auto-generated$/im);
    expect(raw).toMatch(/^subject: Ada Admin invites you$/im);
    expect(raw).toContain('Ada Admin invites you to Harbor Brokers.');
    expect(raw).toContain('<meta name="color-scheme" content="light dark" />');
    const links = raw.match(/http:\/\/127\.0\.0\.1:\d+\/accept-invitation#token=[\w-]{43}/g);
    expect(links).toHaveLength(2);
    expect(new Set(links).size).toBe(1);
    expect(await outbox()).toMatchObject([{ state: 'sent', attempts: 1, secret: null, facts: {}, last_error: null }]);
    expect(service.log.join('')).not.toContain(links![0]!.split('=')[1]);
  });

  test('is retried at growing intervals while the rejection is temporary, and sent once it is accepted', async () => {
    let answers = 0;
    mailServer.onRecipient = () => {
      answers += 1;
      throw new Refusal(451, 'Greylisted, try again later');
    };
    await invite();
    const waits: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      await deliver();
      await deliver();
      const [mail] = await outbox();
      waits.push(Math.round(mail!.in / 60));
      expect(mail).toMatchObject({ state: 'waiting', attempts: round + 1 });
      service.clock.advance(mail!.in * 1_000 + 1_000);
    }
    expect(waits).toEqual([1, 5, 15, 60, 180, 360]);
    expect(answers).toBe(6);
    expect((await outbox())[0]!.last_error).toBe(
      'The mail server refused the address: 451 Greylisted, try again later',
    );
    mailServer.onRecipient = () => {};
    await deliver();
    expect(mailServer.received).toHaveLength(1);
    expect(await outbox()).toMatchObject([{ state: 'sent', attempts: 7, last_error: null }]);
  });

  test('is given up after three days, and the token of its link is deleted', async () => {
    mailServer.onMail = () => {
      throw new Refusal(452, 'Out of room');
    };
    await invite();
    for (let round = 0; round < 24; round += 1) {
      await deliver();
      const [mail] = await outbox();
      if (mail!.state === 'given up') break;
      service.clock.advance(mail!.in * 1_000 + 1_000);
    }
    expect(await outbox()).toMatchObject([{ state: 'given up', attempts: 18, secret: null }]);
    const texts = mailServer.received.length;
    service.clock.advance(day);
    await deliver();
    expect(mailServer.received).toHaveLength(texts);
    expect(new Set(mailServer.received.map(({ messageId }) => messageId)).size).toBe(1);
  });

  test('is given up at once after a permanent rejection, and a link quoted in it is not kept', async () => {
    mailServer.onMail = ({ raw }) => {
      throw new Refusal(554, `5.6.0 Blocked: ${/http:\S+token=\S+/.exec(raw)?.[0]}`);
    };
    await invite();
    await deliver();
    expect(await outbox()).toMatchObject([
      {
        state: 'given up',
        attempts: 1,
        secret: null,
        last_error: 'The mail server refused the e-mail: 554 5.6.0 Blocked: …',
      },
    ]);
    const token = /token=([\w-]{43})/.exec(mailServer.received[0]!.raw)![1]!;
    expect(service.log.join('')).not.toContain(token);
  });

  test.each([
    [
      (to: string) => `5.1.1 <${to}>: Recipient address rejected: User unknown`,
      '5.1.1 <…>: Recipient address rejected: User unknown',
    ],
    [(to: string) => `5.1.1 No such user: ${to.split('@')[0]}`, '5.1.1 No such user: …'],
    [(to: string) => `${to.toUpperCase()}... unknown; see https://help.example/${to}`, '… unknown; see …'],
  ])('is logged without the address that the mail server repeats %#', async (told, logged) => {
    mailServer.onRecipient = (address) => {
      throw new Refusal(550, told(address));
    };
    const email = await invite();
    await deliver();
    const last_error = `The mail server refused the address: 550 ${logged}`;
    expect(await outbox()).toMatchObject([{ last_error }]);
    expect(service.log.join('')).toContain(JSON.stringify(last_error).slice(1, -1));
    expect(service.log.join('').toLowerCase()).not.toContain(email.split('@')[0]);
  });

  test.each([
    ['cannot be reached', 'smtp://127.0.0.1:1', 'The mail server cannot be reached, or ended the connection'],
    ['does not accept the password', '', 'The mail server does not accept the user and password of SMTP_URL: 535 No'],
  ])('waits at most five minutes however long the mail server %s, and over a weekend', async (_, url, trouble) => {
    mailServer.onSignIn = () => {
      throw new Refusal(535, 'No');
    };
    const node = openDelivery(await openNode(url || mailServer.url.replace('//', '//deals:wrong@')));
    await invite();
    const waits: number[] = [];
    for (let hours = 0; hours < 60; hours += 6) {
      await node.deliverDue();
      const [mail] = await outbox();
      expect(mail).toMatchObject({ state: 'waiting', last_error: trouble });
      waits.push(Math.round(mail!.in / 60));
      service.clock.advance(6 * hour);
    }
    expect(waits).toEqual([1, ...Array.from({ length: 9 }, () => 5)]);
    // The outage counts nothing towards the intervals of the mail itself.
    mailServer.onRecipient = () => {
      throw new Refusal(451, 'Later');
    };
    await deliver();
    expect((await outbox()).map((mail) => Math.round(mail.in / 60))).toEqual([1]);
  });

  test.each([
    ['421 to MAIL FROM', 'onSender', 421, 5],
    ['421 to RCPT TO', 'onRecipient', 421, 5],
    ['421 in answer to the mail', 'onMail', 421, 360],
    ['450 to MAIL FROM', 'onSender', 450, 5],
    ['a closed connection to RCPT TO', 'onRecipient', null, 5],
    // The mail server may have accepted the mail.
    ['a closed connection in answer to the mail', 'onMail', null, 360],
  ] as const)('is tried again at intervals that fit %s', async (_, hook, code, minutes) => {
    mailServer[hook] = () => {
      if (code !== null) throw new Refusal(code, 'Not now');
      mailServer.hangUp();
    };
    await invite();
    let waits = 0;
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await deliver();
      const [mail] = await outbox();
      expect(mail).toMatchObject({ state: 'waiting', attempts: attempt });
      waits = Math.round(mail!.in / 60);
      service.clock.advance(mail!.in * 1_000 + 1_000);
    }
    expect(waits).toBe(minutes);
  });

  test('is not tried with all others while the mail server cannot be used', async () => {
    const node = openDelivery(await openNode('smtp://127.0.0.1:1'));
    for (let n = 0; n < 12; n += 1) await invite();
    await node.deliverDue();
    const tried = (await outbox()).filter(({ attempts }) => attempts > 0).length;
    expect(tried).toBeGreaterThan(0);
    expect(tried).toBeLessThan(9);
    await deliver();
    expect(mailServer.received).toHaveLength(12 - tried);
  });

  describe('waits for a corrected configuration, whatever the code of the rejection:', () => {
    /** Asserts that two mails wait while the server refuses them, however long, and are sent once it no longer does. */
    async function areSentAfterRepair(deliverThem: () => Promise<void>, refusal: string, repair: () => void) {
      const people = [await invite(), await invite()];
      for (const attempts of [1, 2]) {
        await deliverThem();
        const mails = await outbox();
        expect(mails).toMatchObject(people.map(() => ({ state: 'waiting', attempts, last_error: refusal })));
        expect(mails.every(({ secret }) => secret !== null)).toBe(true);
        service.clock.advance(Math.max(...mails.map((mail) => mail.in)) * 1_000 + 1_000);
      }
      expect(mailServer.received).toEqual([]);
      repair();
      await deliverThem();
      expect(mailServer.received.flatMap(({ to }) => to).toSorted()).toEqual(people.toSorted());
      expect((await outbox()).map(({ state }) => state)).toEqual(['sent', 'sent']);
    }

    test('wrong SMTP password', async () => {
      const node = openDelivery(await openNode(mailServer.url.replace('//', '//deals:the%20password@')));
      const asked: string[][] = [];
      mailServer.onSignIn = (...given) => {
        asked.push(given);
        throw new Refusal(535, 'Authentication failed');
      };
      await areSentAfterRepair(
        () => node.deliverDue(),
        'The mail server does not accept the user and password of SMTP_URL: 535 Authentication failed',
        () => (mailServer.onSignIn = () => {}),
      );
      expect(new Set(asked.map((given) => given.join(' ')))).toEqual(new Set(['deals the password']));
    });

    test('no encryption, and no user, password or mail is sent before', async () => {
      const elsewhere = mailServer.url.replace('//127.0.0.1', '//deals:password@0.0.0.0');
      const strict = openDelivery(await openNode(elsewhere));
      const lenient = openDelivery(await openNode(`${elsewhere}?requireTLS=false`));
      let asked = 0;
      mailServer.onSignIn = () => void (asked += 1);
      let node = strict;
      await areSentAfterRepair(
        () => node.deliverDue(),
        'The mail server offers no encryption (STARTTLS): use one that does, or smtps:// in SMTP_URL, or add ?requireTLS=false to it if the network in between is private: 500 Error: command not recognized',
        () => {
          expect(asked).toBe(0);
          node = lenient;
        },
      );
      expect(asked).toBeGreaterThan(0);
    });

    test('rejected sender address', async () => {
      mailServer.onSender = (address) => {
        throw new Refusal(550, `Not allowed to send as ${address}`);
      };
      await areSentAfterRepair(
        deliver,
        'The mail server refused the e-mail: 550 Not allowed to send as deals@brokers.example',
        () => (mailServer.onSender = () => {}),
      );
    });

    test.each([
      [553, '5.7.1 Sender address rejected: not owned by user deals'],
      [554, '5.7.1 Relay access denied'],
      [530, '5.7.0 Authentication required'],
      [530, 'Authentication required'],
      [550, '5.4.5 Daily user sending limit exceeded'],
      [554, 'Message rejected: Email address is not verified.'],
      [554, '5.2.252 SendAsDenied'],
      [550, '5.7.26 Unauthenticated email is not accepted due to the DMARC policy of the domain'],
      [550, '5.1.8 Bad sender domain'],
      [553, '5.1.0 Sender not known'],
      [550, 'deals@brokers.example may not send from here'],
      [550, 'Relaying denied'],
    ])('refused after the sender was accepted: %i %s', async (code, words) => {
      let isRefused = true;
      const refuse = () => {
        if (isRefused) throw new Refusal(code, words);
      };
      mailServer.onRecipient = refuse;
      await areSentAfterRepair(deliver, `The mail server refused the e-mail: ${code} ${words}`, () => {
        isRefused = false;
      });
      await service.sql('delete from vault.outbox');
      isRefused = true;
      Object.assign(mailServer, { onRecipient: () => {}, onMail: refuse });
      await invite();
      await deliver();
      expect(await outbox()).toMatchObject([{ state: 'waiting', attempts: 1 }]);
    });
  });

  test.each([
    [550, '5.1.1 No such user'],
    [550, '5.1.10 Recipient not found'],
    [550, '5.2.1 Mailbox disabled'],
    [552, '5.2.2 Mailbox full'],
    [550, 'No such user'],
    [551, 'User not local'],
    [553, 'Mailbox name not allowed'],
  ])('is given up at once when its recipient is to blame: %i %s', async (code, words) => {
    mailServer.onRecipient = () => {
      throw new Refusal(code, words);
    };
    await invite();
    await deliver();
    const last_error = `The mail server refused the address: ${code} ${words}`;
    expect(await outbox()).toMatchObject([{ state: 'given up', attempts: 1, last_error }]);
  });

  test('is sent encrypted to a mail server that offers it', async () => {
    const encrypting = await openMailServer({ encrypts: true });
    closers.push(() => encrypting.close());
    const url = `${encrypting.url.replace('127.0.0.1', '0.0.0.0')}?tls.rejectUnauthorized=false`;
    const node = openDelivery(await openNode(url));
    const email = await invite();
    await node.deliverDue();
    expect(encrypting.received).toMatchObject([{ to: [email], secure: true }]);
  });

  test.each([
    ['https://deals.brokers.example', '', 'deals.brokers.example'],
    ['https://deals.brokers.example', '?name=mail.brokers.example', 'mail.brokers.example'],
  ])('of %s%s is introduced by the name %s', async (baseUrl, query, name) => {
    const node = openDelivery(await openNode(`${mailServer.url}${query}`, baseUrl));
    await invite();
    await node.deliverDue();
    expect(mailServer.received).toMatchObject([{ client: name }]);
  });

  test('with a replaced link is not sent, and the mail with the new link is', async () => {
    const email = await invite();
    const [invited] = await service.sql('select person_id from members where invited_email = $1', [email]);
    const again = await admin.ask(`/brokerages/${brokerage}/members/${invited?.['person_id']}/invitation`, {});
    expect(again).toMatchObject({ status: 200, body: { mailed: true } });
    await deliver();
    expect(mailServer.received).toHaveLength(1);
    // The replaced mail is not reported as given up.
    expect(await outbox()).toMatchObject([{ state: 'sent' }]);
    const [, token] = /token=([\w-]{43})/.exec(mailServer.received[0]!.raw)!;
    const followed = await new Visitor(service.origin).json('/api/auth/invitation', { token });
    expect(followed).toMatchObject({ status: 200, body: { email } });
  });

  test('is sent despite hundreds of earlier mails with invalid links, which are deleted', async () => {
    await invite();
    await service.sql(
      `insert into vault.outbox (kind, recipient, urgent, rank, facts, link, next_attempt_at, turn_at)
       select kind, recipient, urgent, rank, facts, sha256(convert_to('dead ' || n, 'UTF8')), next_attempt_at - interval '1 minute', turn_at - interval '1 minute'
       from vault.outbox, generate_series(1, 250) n`,
    );
    await deliver();
    expect(mailServer.received).toHaveLength(1);
    expect(await outbox()).toMatchObject([{ state: 'sent', attempts: 1 }]);
  });

  test('about the deletion of a brokerage is sent while it is the case, to those who are its admins still', async () => {
    const others = [await openAccount(service), await openAccount(service)];
    for (const { id } of others)
      await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [brokerage, id]);
    const deletion = async (method: string, body?: object) =>
      expect((await admin.ask(`/brokerages/${brokerage}/deletion`, body, method)).status).toBe(200);
    mailServer.onRecipient = () => {
      throw new Refusal(451, 'Later');
    };
    await deletion('POST', { confirmation: 'harbor-0' });
    await deliver();
    await deletion('DELETE');
    mailServer.onRecipient = () => {};
    service.clock.advance(6 * minute);
    await deliver();
    const subjects = () => mailServer.received.map(({ raw }) => /^subject: (.+?)(?: on .+)?$/im.exec(raw)![1]);
    expect(subjects()).toEqual(others.concat(others[0]!).map(() => 'Harbor Brokers will not be deleted'));

    mailServer.received.length = 0;
    await deletion('POST', { confirmation: 'harbor-0' });
    await service.sql(`update users set suspended_at = app.now() where id = $1`, [others[0]!.id]);
    await service.sql(`update members set status = 'removed' where user_id = $1`, [others[1]!.id]);
    await deliver();
    expect(subjects()).toEqual(['Harbor Brokers will be deleted']);
    await deletion('DELETE');
    await service.sql(`delete from members where user_id = $1`, [others[0]!.id]);
  });

  test('to an address that looks like several is sent to none of its parts', async () => {
    await service.sql(
      `select app.queue_mail('password_reset', $1, null, null, null, true, '{"name": "Ann"}', null, null)`,
      ['"all@evil.example,b"@example.com'],
    );
    await deliver();
    // This mail server does not accept such addresses.
    expect(await outbox()).toMatchObject([
      { state: 'given up', last_error: 'The mail server refused the address: 501 Error: Bad recipient address syntax' },
    ]);
    expect(mailServer.received).toEqual([]);
  });

  test('is not sent to another address than the one that was entered', async () => {
    await service.sql(
      `select app.queue_mail('password_reset', $1, null, null, null, true, '{"name": "Ann"}', null, null)`,
      ['"ann>smith"@example.com'],
    );
    const asked: string[] = [];
    mailServer.onRecipient = (address) => void asked.push(address);
    await deliver();
    const last_error = 'No e-mail can be sent to an address that contains < or >';
    expect(await outbox()).toMatchObject([{ state: 'given up', attempts: 1, last_error }]);
    expect(asked).toEqual([]);
  });

  test('in the name of a brokerage embeds its logo, and other mails have no logo', async () => {
    const logo = aPng(480, 120);
    const upload = (method: string, body?: Buffer) =>
      fetch(`${service.origin}/api/web/brokerages/${brokerage}/logo`, {
        method,
        headers: admin.headers,
        ...(body && { body: new Uint8Array(body) }),
      });
    const textOf = (raw: string) => raw.slice(raw.indexOf('Hello'), raw.indexOf('-- \n')).replace(/token=\S+/, '');
    const sent = async () => {
      mailServer.received.length = 0;
      await invite('Lea Logo', 'lea');
      await service.sql(
        `select app.queue_mail('password_reset', 'ann@example.com', null, null, null, true, '{"name": "Ann"}', null, null)`,
      );
      await deliver();
      const of = (to: string) => mailServer.received.find((mail) => mail.to.includes(to))!.raw;
      const [invitation, reset] = [of('lea@example.com'), of('ann@example.com')];
      expect(reset).not.toMatch(/<img|image\/|content-id/i);
      await service.sql(`delete from members where invited_email = 'lea@example.com'`);
      await service.sql('delete from vault.outbox');
      return invitation;
    };
    const plain = await sent();
    expect(plain).not.toMatch(/<img|image\/|content-id/i);
    expect((await upload('POST', logo)).status).toBe(200);
    try {
      const branded = await sent();
      expect(textOf(branded)).toBe(textOf(plain));
      expect(branded).toMatch(/^content-type: multipart\/related;/im);
      expect(branded).toMatch(/^content-type: image\/png; name=logo\.png$/im);
      expect(branded).toMatch(/^content-disposition: inline; filename=logo\.png$/im);
      expect(branded).toMatch(/^content-id: <logo@dealkeep>$/im);
      expect(branded.replaceAll(/\s/g, '')).toContain(logo.toString('base64').replace(/=+$/, ''));
      // The mail loads nothing from the network, and shows the logo above the name.
      expect(branded.match(/ src="[^"]*"/g)).toEqual([' src="cid:logo@dealkeep"']);
      expect(branded).toMatch(/<img\s+src="cid:logo@dealkeep"\s+alt=""\s+width="240"\s+height="60"/);
      expect(branded.indexOf('<img')).toBeLessThan(
        branded.lastIndexOf('Harbor Brokers', branded.indexOf('Hello,', branded.indexOf('<img'))),
      );
    } finally {
      expect((await upload('DELETE')).status).toBe(200);
    }
    expect(await sent()).not.toMatch(/<img|image\/|content-id/i);
  });

  test('has one recipient and one subject, whatever the names in it contain', async () => {
    const evil = 'Eve\r\nBcc: all@evil.example\r\n\r\n<script>alert(1)</script>';
    const address = 'plain@example.com';
    await service.sql(`select app.queue_mail('invitation', $1, null, $2, null, true, $3, null, null)`, [
      address,
      brokerage,
      { name: evil, by: evil, brokerage: 'Harbor\n\nBrokers', deal: evil },
    ]);
    await deliver();
    expect(await outbox()).toMatchObject([{ state: 'sent', last_error: null }]);
    const [{ raw, to } = { raw: '', to: [] }] = mailServer.received;
    expect(to).toEqual([address]);
    const head = raw.slice(0, raw.indexOf('\n\n'));
    expect(head).not.toMatch(/^bcc:/im);
    expect(head.match(/^subject:/gim)).toHaveLength(1);
    expect(raw).not.toMatch(/^bcc:/im);
    const markup = raw.slice(raw.indexOf('<!doctype html>'));
    expect(markup).not.toContain('<script');
    expect(markup).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });
});

describe('a mail with names that look like something else', () => {
  const lure = 'Your mailbox is full. Renew it at https://evil.example/renew or WWW.evil.example';

  /** Returns the mail that these facts are sent as. */
  async function sent(kind: string, facts: object) {
    await service.sql(`select app.queue_mail($1, 'plain@example.com', null, $2, null, true, $3, null, null)`, [
      kind,
      brokerage,
      facts,
    ]);
    await deliver();
    const { raw } = mailServer.received.at(-1)!;
    const at = raw.indexOf('\n\n');
    return { head: raw.slice(0, at), body: raw.slice(at) };
  }

  test('has no links but ours, and looks as it was written', async () => {
    const facts = { name: lure, by: lure, brokerage: 'evil.example', deal: 'Sale of evil。example by J.P. Smith' };
    const { body } = await sent('invitation', facts);
    expect(body).not.toMatch(/:\/\/evil|www\.|[.。]example|J\.P/i);
    const shown = body.replaceAll('\u200c', '');
    for (const text of [lure, 'the deal Sale of evil。example by J.P. Smith of evil.example'])
      expect(shown.split(text).length).toBeGreaterThan(2);
    expect(body.match(/http:\/\/127\.0\.0\.1:\d+\/accept-invitation#token=/g)).toHaveLength(2);
  });

  test('does not greet an unproven mailbox by a name that somebody else typed', async () => {
    for (const kind of ['invitation', 'address_change']) {
      const { body } = await sent(kind, { name: 'Gus Guest', by: 'Ada Admin', brokerage: 'Harbor', deal: null });
      expect(body).toContain('Hello,\n');
      expect(body).not.toContain('Gus Guest');
    }
  });

  test('names addresses as they are', async () => {
    const { body } = await sent('address_changed', { name: 'a.b', new_email: 'ann.new@mail.example' });
    expect(body.split('ann.new@mail.example')).toHaveLength(3);
    expect(body).toContain('Hello a.\u200cb,');
  });

  test('has a subject that nothing is decoded in, and no marks of direction', async () => {
    const { head, body } = await sent('invitation', {
      name: '',
      by: '=?utf-8?Q?=E2=80=AEmoc.live_=0D=0AX?=',
      brokerage: 'Harbor\u200f\u200e\u061c Brokers',
      deal: null,
    });
    // Were the name sent as it is, decoding it would have made this of it.
    expect(head).not.toContain('\u202e');
    expect(head).toContain('=\u200c?utf-8?Q?=E2=80=');
    expect(body).toContain('Harbor Brokers');
  });
});

describe('a mail that is late', () => {
  /** Returns the text of the mail, sent at the second attempt, and the time at which it was caused. */
  async function sentLate(cause: () => Promise<unknown>) {
    let attempts = 0;
    mailServer.onRecipient = () => {
      attempts += 1;
      if (attempts === 1) throw new Refusal(451, 'Try again later');
    };
    await cause();
    const [{ at: caused } = { at: new Date(0) }] = await service.sql<{ at: Date }>(
      'select created_at as at from vault.outbox order by created_at desc limit 1',
    );
    await deliver();
    service.clock.advance(2 * minute);
    await deliver();
    return { raw: mailServer.received.at(-1)!.raw, caused };
  }
  const later = (time: Date, millis: number) => timeInWords(new Date(time.getTime() + millis).toISOString());

  test('says until when its link works, and an invitation has the address of whoever invites', async () => {
    const { raw, caused } = await sentLate(() => invite());
    expect(raw).toContain(`The link works once, until ${later(caused, 14 * day)}.\n`);
    expect(raw).toContain('If you do not expect this invitation, ignore this e-mail.');
    const [inviter] = await service.sql<{ email: string }>(
      'select email from users where id = (select user_id from members where status = $1 limit 1)',
      ['active'],
    );
    expect(raw).toContain(`\nReply-To: ${inviter!.email}\n`);
  });

  test('is not sent by then if whoever invites has left the brokerage', async () => {
    const { id } = await openAccount(service);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [brokerage, id]);
    const inviter = await signInAs(service, id);
    const invited = { email: 'invited-by-a-former-member@example.com', name: 'Ira', role: 'staff' };
    expect(await inviter.ask(`/brokerages/${brokerage}/members`, invited)).toMatchObject({ status: 201 });
    const { status } = await admin.ask(`/brokerages/${brokerage}/members/${id}`, undefined, 'DELETE');
    expect(status).toBe(200);
    mailServer.received.length = 0;
    await deliver();
    expect(mailServer.received.map(({ to }) => to)).not.toContainEqual([invited.email]);
  });

  test('says when the security of the account was changed, and whom everybody can ask for help', async () => {
    const queue = (kind: string, facts: object) =>
      service.sql(`select app.queue_mail($1, 'ann@example.com', null, null, null, true, $2, null, null)`, [
        kind,
        facts,
      ]);
    const added = await sentLate(() => queue('security_change', { name: 'Ann', what: 'passkey_added' }));
    expect(added.raw).toContain(`A passkey was added to your account. This was on ${later(added.caused, 0)}.`);
    expect(added.raw).not.toContain('Reply-To');
    const moved = await sentLate(() => queue('address_changed', { name: 'Ann', new_email: 'b@example.com' }));
    expect(moved.raw).toContain(`no longer with this address. This was on ${later(moved.caused, 0)}.`);
    expect(moved.raw).toContain('ask the admin of your brokerage, or the broker of your deal, for help');
  });
});

describe('the order of mails', () => {
  /** Writes mails in the name of a brokerage, at once. */
  const write = (of: string | null, to: string, number: number, urgent = false) =>
    service.sql(
      `select app.queue_mail('security_change', $2 || n || '@example.com', null, $1, null, $4, '{"name": "Ann"}', null, null)
       from generate_series(1, $3) n`,
      [of, to, number, urgent],
    );
  /** Delivers one mail after the other; returns the recipients. */
  async function inOrder(): Promise<string[]> {
    mailServer.received.length = 0;
    await openDelivery(opened[0]!, 1).deliverDue();
    return mailServer.received.map(({ to }) => to[0]!.split('@')[0]!);
  }

  test('puts what somebody waits for first, and daily mails last', async () => {
    const [{ id, email } = { id: '', email: '' }] = await service.sql<{ id: string; email: string }>(
      'select u.id, u.email from users u join members m on m.user_id = u.id where m.brokerage_id = $1 limit 1',
      [brokerage],
    );
    await service.sql(
      `insert into vault.notifications (event_id, user_id, kind, at, mail, mail_due_at)
       values (app.uuid_v7(), $1, 'new_device', app.now(), 'daily', app.now())`,
      [id],
    );
    await service.database.run(queueNotificationMails(200));
    service.clock.advance(2_000);
    await write(brokerage, 'news', 1);
    await write(null, 'link', 1, true);
    expect(await inOrder()).toEqual(['link1', 'news1', email.split('@')[0]]);
  });

  test('puts the mails of others between the many of one brokerage, however long these have waited', async () => {
    const other = (await openBrokerage(service)).id;
    await write(brokerage, 'many', 60);
    service.clock.advance(1_500);
    await write(other, 'few', 2);
    const order = await inOrder();
    expect(order).toHaveLength(62);
    expect(order.slice(0, 2)).toEqual(['many1', 'many2']);
    expect(order.indexOf('few2')).toBeLessThan(40);
    // Also after mails that were not accepted at first.
    mailServer.onRecipient = () => {
      throw new Refusal(451, 'Later');
    };
    await write(brokerage, 'many', 5);
    expect(await inOrder()).toEqual([]);
    mailServer.onRecipient = () => {};
    service.clock.advance(minute);
    await write(brokerage, 'more', 60);
    await write(null, 'news', 1);
    const later = await inOrder();
    expect(later).toHaveLength(66);
    expect(later.indexOf('news1')).toBeLessThan(46);
  });
});

describe('nodes that deliver mails', () => {
  test('are notified by the transaction that writes a mail, and deliver until they are stopped', async () => {
    const woken = Promise.withResolvers<void>();
    const unfollow = opened[0]!.changes.onQueued(woken.resolve);
    const stop = startDelivery(opened[1]!);
    await invite();
    await woken.promise;
    unfollow();
    await expect.poll(async () => (await outbox()).map(({ state }) => state)).toEqual(['sent']);
    await stop();
    await invite();
    expect((await outbox()).map(({ state }) => state)).toEqual(['sent', 'waiting']);
  });

  test('deliver each mail once, also when they work at the same time', async () => {
    for (let round = 0; round < 15; round += 1) await invite();
    await Promise.all([...nodes, ...nodes].map((node) => node.deliverDue()));
    expect(mailServer.received).toHaveLength(15);
    expect(new Set(mailServer.received.map(({ messageId }) => messageId)).size).toBe(15);
  });

  test('keep answering requests while the mail server does not respond', async () => {
    const taken = Promise.withResolvers<void>();
    mailServer.onRecipient = () => taken.promise;
    await invite();
    const delivering = deliver();
    await invite();
    await invite();
    expect((await outbox()).map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting']);
    taken.resolve();
    await delivering;
    await deliver();
    expect((await outbox()).map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
  });

  test('deliver other mails while the mail server takes long to accept one, and wait for it when they stop', async () => {
    const [reached, accepted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = await invite();
    mailServer.onMail = ({ to }) => {
      if (to[0] !== slow) return;
      reached.resolve();
      return accepted.promise;
    };
    const stop = startDelivery(opened[1]!);
    await reached.promise;
    await invite();
    await expect.poll(async () => (await outbox()).map(({ state }) => state)).toEqual(['waiting', 'sent']);
    const stopped = stop();
    accepted.resolve();
    await stopped;
    expect((await outbox()).map(({ state }) => state)).toEqual(['sent', 'sent']);
  });

  test('resend the mail that a killed node was sending, with the same Message-ID, and no other mail', async () => {
    const reached = Promise.withResolvers<void>();
    mailServer.onMail = () => {
      reached.resolve();
      return new Promise(() => {});
    };
    await invite();
    const given = { connection: service.connections.server, smtpUrl: mailServer.url, now: service.clock.now() };
    const node = spawn(process.execPath, [path.join(import.meta.dirname, 'node.ts'), JSON.stringify(given)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await Promise.race([reached.promise, once(node, 'exit')]);
    node.kill('SIGKILL');
    await once(node, 'exit');
    mailServer.onMail = () => {};
    expect(mailServer.received).toHaveLength(1);

    // Other nodes must assume that the killed node may still be handing the mail over.
    await invite();
    await deliver();
    expect((await outbox()).map(({ state }) => state)).toEqual(['waiting', 'sent']);
    service.clock.advance(5 * minute + 1_000);
    await deliver();
    await deliver();
    expect((await outbox()).map(({ state }) => state)).toEqual(['sent', 'sent']);
    const [first, , again] = mailServer.received.map(({ messageId, to }) => [messageId.split('@')[0], to]);
    expect(again).toEqual(first);
    expect(mailServer.received).toHaveLength(3);
  });
});

test('the mail server may take minutes to accept a mail that it has received, but not to ask for it', async () => {
  const mailer = createMailer(service.config, service.services.log);
  const mail = { messageId: 'some-id@example.com', to: 'a@example.com', subject: 'A', text: 'A', html: 'A' };
  const [asked, received] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer = Promise.withResolvers<void>();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  onTestFinished(() => {
    vi.useRealTimers();
    mailer.close();
  });
  mailServer.onMail = () => {
    received.resolve();
    return answer.promise;
  };
  const accepted = mailer.send(mail);
  await received.promise;
  // Twice the limit for asking, and less than the limit for the answer.
  vi.advanceTimersByTime(2 * minute);
  answer.resolve();
  await accepted;

  const message = 'The mail server did not accept the e-mail in time';
  const again = Promise.withResolvers<void>();
  mailServer.onMail = () => {
    again.resolve();
    return new Promise(() => {});
  };
  const unanswered = expect(mailer.send(mail)).rejects.toMatchObject({ message, final: false, isOutage: false });
  await again.promise;
  vi.advanceTimersByTime(5 * minute);
  await unanswered;

  mailServer.onRecipient = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  const refused = expect(mailer.send(mail)).rejects.toMatchObject({ message, final: false, isOutage: true });
  await asked.promise;
  vi.advanceTimersByTime(minute);
  await refused;
});

test('without SMTP, mails are written to files that only the service can read, named in the log', async () => {
  const lines: string[] = [];
  const config = { ...service.config, smtpUrl: undefined };
  const mailer = createMailer(config, createLog('info', { write: (line) => void lines.push(line) }));
  const link = 'https://deals.example.com/reset/new#token=secret';
  const mail = { messageId: 'some-id@example.com', to: 'a@example.com', subject: 'A', text: link, html: link };
  await mailer.send(mail);
  await mailer.send(mail);
  mailer.close();
  const directory = path.join(config.dataDir, 'mail');
  expect(await readdir(directory)).toEqual(['some-id.eml', 'some-id.txt']);
  const file = path.join(directory, 'some-id.txt');
  expect(await readFile(file, 'utf8')).toBe(`To: a@example.com\nSubject: A\n\n${link}`);
  expect((await stat(file)).mode & 0o077).toBe(0);
  expect(lines.join('')).toContain(file);
  expect(lines.join('')).not.toContain('secret');

  // A disk that takes no file takes none of any mail.
  const nowhere = createMailer({ ...config, dataDir: file }, createLog('info', { write: () => {} }));
  await expect(nowhere.send(mail)).rejects.toMatchObject({ final: false, isOutage: true });
  await expect(nowhere.send({ ...mail, to: '"a<b"@example.com' })).rejects.toMatchObject({
    final: true,
    isOutage: false,
  });
  nowhere.close();
});

describe('an undelivered mail', () => {
  const refuse = () => {
    throw new Refusal(550, 'No such user');
  };

  test('is listed without its body for the admins of its brokerage, who can resend it with a new link', async () => {
    mailServer.onRecipient = refuse;
    const email = await invite();
    const [{ digest } = { digest: null }] = await service.sql<{ digest: Buffer }>(
      'select digest from vault.invitations order by created_at desc limit 1',
    );
    await deliver();
    const mails = `/brokerages/${brokerage}/mails`;
    const { body } = await admin.ask(mails);
    expect(body.items).toEqual([
      {
        id: expect.any(String),
        kind: 'invitation',
        recipient: email,
        created_at: expect.any(String),
        given_up: true,
        attempts: 1,
        next_attempt_at: expect.any(String),
        last_error: 'The mail server refused the address: 550 No such user',
      },
    ]);
    const members = async () =>
      (await admin.ask(`/brokerages/${brokerage}/members`)).body.items as { email: string; mail_trouble: string }[];
    expect((await members()).find((one) => one.email === email)?.mail_trouble).toBe('undelivered');

    const again = `${mails}/${body.items[0].id}/resend`;
    const others = await openAccount(service);
    for (const role of ['broker', null]) {
      const other = role === null ? await openAccount(service) : others;
      if (role)
        await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, $3)`, [
          brokerage,
          other.id,
          role,
        ]);
      const person = await signInAs(service, other.id);
      const status = role === null ? 404 : 403;
      expect([(await person.ask(mails)).status, (await person.ask(again, {})).status]).toEqual([status, status]);
    }

    mailServer.onRecipient = () => {};
    expect(await admin.ask(again, {})).toEqual({ status: 200, body: { resent: true } });
    await deliver();
    expect(mailServer.received).toHaveLength(1);
    // The replaced mail is not reported as given up.
    expect(await outbox()).toMatchObject([{ state: 'sent' }]);
    const [, token] = /token=([\w-]{43})/.exec(mailServer.received[0]!.raw)!;
    expect((await new Visitor(service.origin).json('/api/auth/invitation', { token })).body).toMatchObject({ email });
    expect(await service.sql('select from vault.invitations where digest = $1', [digest])).toEqual([]);
    expect((await admin.ask(mails)).body.items).toEqual([]);
    expect((await admin.ask(again, {})).status).toBe(404);
    expect((await members()).find((one) => one.email === email)?.mail_trouble).toBeNull();
    expect((await service.sql(`select details from audit_records where action = 'mail.resend'`)).length).toBe(1);
  });

  test('that waits is resent with a link that lasts as long as a new one', async () => {
    mailServer.onRecipient = () => {
      throw new Refusal(451, 'Later');
    };
    await invite();
    await deliver();
    const days = async () =>
      (
        await service.sql<{ left: number }>(
          `select round(extract(epoch from i.expires_at - app.now()) / 86400)::int as left
           from vault.outbox o left join vault.invitations i on i.digest = o.link`,
        )
      ).map(({ left }) => left);
    service.clock.advance(2 * day + hour);
    expect(await days()).toEqual([12]);
    const mails = `/brokerages/${brokerage}/mails`;
    admin = await signInAs(
      service,
      (await service.sql<{ id: string }>(`select user_id as id from members limit 1`))[0]!.id,
    );
    const { items } = (await admin.ask(mails)).body;
    expect(items).toMatchObject([{ given_up: false }]);
    expect((await admin.ask(`${mails}/${items[0].id}/resend`, {})).status).toBe(200);
    expect(await days()).toEqual([14]);
    mailServer.onRecipient = () => {};
    await deliver();
    const [, token] = /token=([\w-]{43})/.exec(mailServer.received.at(-1)!.raw)!;
    expect((await new Visitor(service.origin).json('/api/auth/invitation', { token })).status).toBe(200);
  });

  test('is no longer listed after its invitation was withdrawn', async () => {
    mailServer.onRecipient = refuse;
    const email = await invite();
    await deliver();
    const { items } = (await admin.ask(`/brokerages/${brokerage}/members`)).body;
    const { user_id } = items.find((one: { email: string }) => one.email === email);
    expect((await admin.ask(`/brokerages/${brokerage}/mails`)).body.items).toHaveLength(1);
    await admin.ask(`/brokerages/${brokerage}/members/${user_id}`, undefined, 'DELETE');
    expect((await admin.ask(`/brokerages/${brokerage}/mails`)).body.items).toEqual([]);
  });

  test('is listed and resent from the command line, which lists at most 1,000 waiting mails', async () => {
    // The command uses the system clock.
    service.clock.set(new Date());
    mailServer.onRecipient = refuse;
    const email = await invite();
    await deliver();
    const { owner, server } = service.connections;
    const env = { DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner) };
    const dealkeep = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(['mail', ...words, '--json'], env);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout) as unknown;
    };
    const listed = (await dealkeep('list')) as { id: string }[];
    expect(listed).toMatchObject([{ recipient: email, state: 'given up', kind: 'invitation', brokerage: 'harbor-0' }]);
    const [{ id } = { id: '' }] = listed;
    expect(await dealkeep('resend', id)).toEqual({ resent: id });
    mailServer.onRecipient = () => {};
    await deliver();
    expect(mailServer.received.map(({ to }) => to)).toEqual([[email]]);

    // The oldest waiting mails, as the alert about them says, and a note that there are more.
    await service.sql(
      `insert into vault.outbox (kind, recipient, urgent, facts, created_at, next_attempt_at)
       select 'security_change', n || '@wait.example', false, '{}', app.now() - n * interval '1 s', app.now() + interval '9 hours' from generate_series(1, 1001) n`,
    );
    const { stdout } = await run(['mail', 'list'], env);
    const lines = stdout.trimEnd().split('\n');
    expect([lines.length, lines[0], lines.at(-2), lines.at(-1)]).toEqual([
      1001,
      expect.stringContaining('  1001@wait.example  '),
      expect.stringContaining('  2@wait.example  '),
      'Only the oldest 1000 of the waiting e-mails are listed.',
    ]);
  });
});

test('sent mails are deleted after 30 days, and given-up mails after 90', async () => {
  await invite();
  await deliver();
  mailServer.onRecipient = () => {
    throw new Refusal(550, 'No such user');
  };
  await invite();
  await deliver();
  const left = async (days: number) => {
    service.clock.advance(days * day);
    await service.sql('select app.purge_mails()');
    return (await outbox()).map(({ state }) => state);
  };
  expect(await left(29)).toEqual(['sent', 'given up']);
  expect(await left(2)).toEqual(['given up']);
  expect(await left(60)).toEqual([]);
});
