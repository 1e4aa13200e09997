import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../server/config.ts';
import { openLimits, type RateLimits } from '../../server/http/limits.ts';
import { createLog } from '../../server/log.ts';
import { openService, type TestService } from '../harness.ts';

const ceilings = { ...readConfig({}).rateLimits, tools: 10, rest_ip: 10 };
const log = createLog('silent', { write: () => {} });

let service: TestService;
const opened: RateLimits[] = [];
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  await Promise.all(opened.map((limits) => limits.close()));
  await service.close();
});

function open(kind: 'memory' | 'postgres'): RateLimits {
  const store = kind === 'postgres' ? { store: service.connections.server } : {};
  const limits = openLimits({ ceilings, clock: service.clock.now, log, ...store });
  opened.push(limits);
  return limits;
}

let subjects = 0;
const someone = () => `subject ${(subjects += 1)}`;
/** A minute starts now, so that no test crosses into the next by chance. */
const startMinute = () => service.clock.set(new Date(Math.ceil(service.clock.now().getTime() / 60_000) * 60_000));

for (const kind of ['memory', 'postgres'] as const) {
  test(`${kind}: counts down, refuses at the limit, and opens again with the next window`, async () => {
    startMinute();
    const limits = open(kind);
    const key = someone();
    const first = await limits.take('tools', key, 3);
    expect(first).toMatchObject({ allowed: true, limit: 3, remaining: 2 });
    expect(first.resetAt % 60).toBe(0);
    expect(await limits.take('tools', key, 3)).toMatchObject({ allowed: true, remaining: 1 });
    expect(await limits.peek('tools', key, 3)).toMatchObject({ allowed: true, remaining: 1 });
    expect(await limits.take('tools', key, 3)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limits.peek('tools', key, 3)).toMatchObject({ allowed: false, remaining: 0 });
    const refused = await limits.take('tools', key, 3);
    expect(refused).toMatchObject({ allowed: false, remaining: 0, resetAt: first.resetAt });
    expect(refused.retryAfter).toBeGreaterThan(55);
    expect(refused.retryAfter).toBeLessThanOrEqual(60);
    service.clock.advance(refused.retryAfter * 1000);
    expect(await limits.take('tools', key, 3)).toMatchObject({
      allowed: true,
      remaining: 2,
      resetAt: first.resetAt + 60,
    });
  });

  test(`${kind}: of 100 at once exactly the limit pass`, async () => {
    startMinute();
    const limits = open(kind);
    const key = someone();
    const answers = await Promise.all(Array.from({ length: 100 }, () => limits.take('tools', key)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(new Set(answers.filter(({ allowed }) => allowed).map(({ remaining }) => remaining)).size).toBe(10);
  });

  test(`${kind}: kinds and keys are counted apart, an IPv6 /64 as one address`, async () => {
    startMinute();
    const limits = open(kind);
    const key = someone();
    for (let count = 0; count < 10; count += 1) await limits.take('tools', key);
    expect((await limits.take('tools', key)).allowed).toBe(false);
    expect((await limits.take('tools', someone())).remaining).toBe(9);
    expect((await limits.take('rest_ip', key)).remaining).toBe(9);
    const block = `2001:db8:${kind === 'memory' ? 1 : 2}`;
    expect((await limits.take('rest_ip', `${block}::1`)).remaining).toBe(9);
    expect((await limits.take('rest_ip', `${block}:0:ffff::9`)).remaining).toBe(8);
    expect((await limits.take('rest_ip', `${block}:1::1`)).remaining).toBe(9);
  });
}

test('135. two nodes on one store let exactly the limit pass together', async () => {
  startMinute();
  const [one, two] = [open('postgres'), open('postgres')];
  const key = someone();
  const answers = await Promise.all(Array.from({ length: 100 }, (_, nth) => (nth % 2 ? one : two).take('tools', key)));
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10);
});

/** A way to the database that can be cut and mended. */
async function openGate(target: string): Promise<{ port: number; cut(): void; mend(): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let passing = true;
  const server: Server = createServer((socket) => {
    if (!passing) return socket.destroy();
    const onward = connect(target);
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => {}).on('close', () => sockets.delete(end));
    }
    socket.pipe(onward).pipe(socket);
    return socket;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const cut = () => {
    passing = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    mend: () => void (passing = true),
    close: () => {
      cut();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

test('138. with the store away the node counts for itself, says so once, and comes back by itself', async () => {
  startMinute();
  const { host = '', port = 0, ...login } = service.connections.server;
  const gate = await openGate(path.join(host, `.s.PGSQL.${port}`));
  const lines: string[] = [];
  const limits = openLimits({
    ceilings,
    clock: service.clock.now,
    log: createLog('info', { write: (line) => void lines.push(line) }),
    store: { ...login, host: '127.0.0.1', port: gate.port },
  });
  opened.push(limits);
  const key = someone();
  expect((await limits.take('tools', key)).remaining).toBe(9);
  expect(lines).toEqual([]);

  gate.cut();
  const alone = await Promise.all(Array.from({ length: 30 }, () => limits.take('tools', key)));
  expect(alone.filter(({ allowed }) => allowed)).toHaveLength(10);
  expect(lines.filter((line) => line.includes('store is away'))).toHaveLength(1);

  gate.mend();
  await expect.poll(async () => (await limits.take('tools', key, 1_000)) && lines.length, { timeout: 10_000 }).toBe(2);
  expect(lines[1]).toContain('store is back');
  expect((await open('postgres').peek('tools', key, 1_000)).remaining).toBeLessThan(999);
  await gate.close();
});
