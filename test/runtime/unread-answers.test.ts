/** Responses that no client reads: a node buffers a limited amount of them. */

import { connect, type Socket } from 'node:net';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../server/cli/listen.ts';
import { openUnreadAnswers, usualUnreadLimits } from '../../server/http/unread-answers.ts';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

/** Requests a path, reads the beginning of the response, and then nothing more. */
async function askWithoutReading(origin: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /);
  socket.pause();
  return socket;
}

test('the largest unread responses are ended when too much data is buffered; responses being read continue', async () => {
  const { services } = service;
  const size = 24_000_000;
  const shared = new Uint8Array(size);
  const app = new Hono()
    .get('/large', (c) => c.body(shared))
    .get('/small', (c) => c.body(shared.subarray(0, size / 4)));
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(1));
  const lookAfterAnswers = openUnreadAnswers(
    { ...usualUnreadLimits, mostBytes: 2 * size, leastMillis: 100 },
    services.log,
  );
  listener.answerWith(app, { load: services.load, lookAfterAnswers });
  const origin = `http://127.0.0.1:${listener.port}`;
  const ended = () => service.log.filter((line) => line.includes('too much was waiting to be sent')).length;

  const small = await askWithoutReading(origin, '/small');
  const large = await Promise.all([1, 2, 3].map(() => askWithoutReading(origin, '/large')));
  await expect.poll(ended).toBe(2);
  // No more responses are ended than necessary, no smaller ones, and none that is read.
  expect((await (await fetch(`${origin}/small`)).arrayBuffer()).byteLength).toBe(size / 4);
  expect(ended()).toBe(2);
  let taken = 0;
  small.on('data', (part) => (taken += part.length)).resume();
  await expect.poll(() => taken).toBeGreaterThan(size / 4 - 1_000_000);
  for (const socket of large) socket.resume();
});

test('the script of the API reference is in memory once, however many clients request it without reading it', async () => {
  const asked = '/api/v1/docs/reader.js';
  await (await fetch(`${service.origin}${asked}`)).arrayBuffer();
  const before = process.memoryUsage().arrayBuffers;
  for (let nth = 0; nth < 30; nth += 1) await askWithoutReading(service.origin, asked);
  // Each of the 30 responses has 4.4 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40_000_000);
});
