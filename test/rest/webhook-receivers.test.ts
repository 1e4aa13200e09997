/** What a webhook does when its receiver, or our own nodes, do not do well. */

import { describe, expect, test } from 'vitest';
import { hour, webhookScene } from './webhook-scene.ts';

const scene = webhookScene();
const { received, webhook, contact, contacts, change, deliver, log } = scene;

describe('a receiver that fails', () => {
  test('before and after our nodes were away for four days is tried eight times until the event is abandoned', async () => {
    const { id } = await webhook();
    scene.answering = (_request, response) => response.writeHead(503).end();
    await contact('Kept');
    await deliver();
    scene.service.clock.advance(96 * hour);
    await deliver();
    expect((await log(id)).data).toMatchObject([{ state: 'waiting', attempts: 2 }]);
    // The next attempt comes half a minute later, as after any second one.
    await deliver();
    expect(received).toHaveLength(2);
    for (let nth = 3; nth < 8; nth += 1) {
      scene.service.clock.advance(3 * hour);
      await deliver();
      expect((await log(id)).data).toMatchObject([{ state: 'waiting', attempts: nth }]);
    }
    expect((await scene.rest('GET', `/webhooks/${id}`)).body).toMatchObject({ state: 'on' });
    scene.service.clock.advance(3 * hour);
    await deliver();
    expect((await log(id)).data).toMatchObject([{ state: 'failed', attempts: 8 }]);
    expect((await scene.rest('GET', `/webhooks/${id}`)).body).toMatchObject({ state: 'off' });
  });
});

describe('a receiver that is down again', () => {
  test('is asked for few of what waits to be retried, with rests of seconds, after which it gets a new event', async () => {
    const { id } = await webhook();
    const answeredBy = (isTaken: (nth: number) => boolean) => {
      received.length = 0;
      scene.answering = (_request, response) => response.writeHead(isTaken(received.length) ? 204 : 503).end();
    };
    answeredBy((nth) => nth % 2 === 0);
    await contacts(100);
    await deliver();
    expect((await log(id, '?state=waiting')).data).toHaveLength(50);
    scene.service.clock.advance(11 * 60_000);
    answeredBy((nth) => nth === 1);
    await deliver();
    expect(received.length).toBeLessThan(12);
    answeredBy(() => false);
    for (let nth = 0; nth < 5; nth += 1) {
      received.length = 0;
      scene.service.clock.advance(30_000);
      await deliver();
      expect([1, 2, 3, 4]).toContain(received.length);
    }
    const made = await contact('Made');
    scene.answering = ({ event }, response) => response.writeHead(event.objectId === made ? 204 : 503).end();
    // One node may claim what waits before another has queued the new event.
    for (let nth = 0; nth < 2; nth += 1) {
      scene.service.clock.advance(30_000);
      await deliver();
    }
    expect((await log(id)).data[0]).toMatchObject({ state: 'delivered', attempts: 1 });
  });
});

describe('a receiver that refuses contacts, of which one more is made every five minutes', () => {
  /** Whether what `then` changes, after so many refused contacts, is accepted within so many minutes. */
  async function refusing(count: number, then: () => Promise<string>, minutes: number): Promise<boolean> {
    await webhook();
    const refuses = ({ event }: (typeof received)[number]) =>
      event.type === 'contact.created' && event.data?.displayName === 'Refused';
    scene.answering = (one, response) => response.writeHead(refuses(one) ? 422 : 204).end();
    for (let nth = 0; nth < count; nth += 1) await contact('Refused');
    await deliver();
    const id = await then();
    received.length = 0;
    for (let passed = 0; passed <= minutes; passed += 5) {
      await contact('Refused');
      await deliver();
      if (received.some((one) => one.event.objectId === id && !refuses(one))) return true;
      scene.service.clock.advance(5 * 60_000);
    }
    return false;
  }

  test('gets one that it accepts, after those made before', async () => {
    expect(await refusing(12, () => contact('Accepted'), 60)).toBe(true);
  });

  test('gets an event of another type after the next rest', async () => {
    const known = await contact('Known');
    expect(await refusing(40, () => change(known, '1').then(() => known), 10)).toBe(true);
  });
});

describe('a receiver that accepts an event', () => {
  test.each([
    ['breaks off', 'Content-Length: 10\r\n\r\nabc'],
    ['has a chunk of no length', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['is longer than announced', 'Content-Length: 2\r\n\r\nabcdef'],
  ])('does not get it again when the body of its response %s', async (_, rest) => {
    const { id } = await webhook();
    scene.answering = (_request, response) => void response.socket!.end(`HTTP/1.1 200 OK\r\n${rest}`);
    await contact('Accepted');
    await deliver();
    expect((await log(id)).data).toMatchObject([{ state: 'delivered', attempts: 1, answer: { status: 200 } }]);
  });
});
