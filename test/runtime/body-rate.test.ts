/** How long the body of a request may take: as long as it keeps arriving. */

import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen, type Listener } from '../../server/cli/listen.ts';

let listener: Listener;
const read: number[] = [];

beforeAll(async () => {
  listener = await listen('127.0.0.1', 0, { every: 600, least: 1000 });
  const app = new Hono();
  app.onError((_error, c) => c.text('broken off', 400));
  app.post('/read', async (c) => {
    let size = 0;
    for await (const part of c.req.raw.body ?? []) size += part.byteLength;
    read.push(size);
    return c.text(String(size));
  });
  app.post('/slow-reader', async (c) => {
    await wait(1_800);
    let size = 0;
    for await (const part of c.req.raw.body ?? []) size += part.byteLength;
    return c.text(String(size));
  });
  app.post('/answers-first', (c) => c.body(new ReadableStream({ start: (answer) => answer.enqueue('so far') })));
  app.post('/answers-at-once', (c) => c.text('so far'));
  app.get('/', (c) => c.text('hello'));
  listener.answerWith(app);
});
afterAll(() => listener?.close(1));

/** Opens a connection; `said` is all that was received until it closed. */
function open(): { socket: Socket; said: Promise<string> } {
  const socket = connect(listener.port, '127.0.0.1');
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  socket.on('data', (part) => (text += part.toString('latin1')));
  socket.on('error', () => {});
  socket.on('close', () => resolve(text));
  return { socket, said: promise };
}

const head = (length: number, path = '/read', method = 'POST') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;

/** Sends parts one after another until the connection is closed; returns how many were sent. */
async function trickle(socket: Socket, size: number, every: number, times: number): Promise<number> {
  let sent = 0;
  for (; sent < times && !socket.destroyed; sent += 1) {
    socket.write('x'.repeat(size));
    await wait(every);
  }
  return sent;
}

test('a body that keeps arriving may take much longer than the interval of the check', async () => {
  const { socket, said } = open();
  socket.write(head(40_000));
  await trickle(socket, 1000, 60, 40);
  expect(await said).toMatch(/^HTTP\/1\.1 200 [\s\S]*40000$/);
});

test.each(['POST', 'GET'])('a %s whose body trickles in has its connection closed', async (method) => {
  const { socket, said } = open();
  socket.write(head(40_000, method === 'GET' ? '/' : '/read', method));
  const sent = await trickle(socket, 1, 20, 400);
  const answer = await said;
  expect(sent).toBeLessThan(300);
  if (method === 'POST') expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(read).not.toContain(40_000 - 1);
});

test('a body that stops arriving gets a 408', async () => {
  const { socket, said } = open();
  socket.write(`${head(40_000)}${'x'.repeat(5000)}`);
  expect(await said).toMatch(/^HTTP\/1\.1 408 /);
});

test.each(['/answers-first', '/answers-at-once'])(
  'a body that stops arriving once %s has begun to answer ends the connection, without a second response',
  async (path) => {
    const { socket, said } = open();
    socket.write(`${head(40_000, path).replace('Connection: close\r\n', '')}${'x'.repeat(5000)}`);
    const answer = await said;
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*so far/);
    expect(answer).not.toContain('408');
  },
);

test('a body that waits for the server to read it is not late', async () => {
  const { socket, said } = open();
  const size = 4_000_000;
  socket.write(head(size, '/slow-reader'));
  socket.write('x'.repeat(size));
  expect(await said).toMatch(new RegExp(`^HTTP/1\\.1 200 [\\s\\S]*${size}$`));
});
