import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { postgresStore, redisStore, type LimitStore } from '../../server/http/limit-stores.ts';
import { keepSeconds, openLimits, type RateLimits } from '../../server/http/limits.ts';
import { createLog } from '../../server/lib/log.ts';
import { openRedis } from '../../server/redis/connection.ts';
import { openService, type TestService } from '../harness.ts';
import { openTestRedis, withoutRedis, type TestRedis } from '../redis.ts';

const ceilings = { ...readConfig({}).rateLimits, tools: 10, rest_ip: 10 };
const log = createLog('silent', { write: () => {} });

let service: TestService;
let redis: TestRedis | undefined;
const opened: RateLimits[] = [];
beforeAll(async () => {
  service = await openService();
  if (withoutRedis === null) redis = await openTestRedis();
});
afterAll(async () => {
  await Promise.all(opened.map((limits) => limits.close()));
  await service.close();
  await redis?.close();
});

type Kind = 'memory' | 'postgres' | 'redis';

async function storeOf(kind: Kind, database = 'one'): Promise<LimitStore | undefined> {
  // Long enough that a busy machine does not make the store fail.
  const waitMillis = 30_000;
  if (kind === 'postgres') return postgresStore(service.connections.server, true, keepSeconds, waitMillis);
  return kind === 'redis' ? redisStore(await openRedis(redis!.url), database, keepSeconds, waitMillis) : undefined;
}

function openOn(store: LimitStore | undefined, logged = log): RateLimits {
  const limits = openLimits({ ceilings, clock: service.clock.now, log: logged, ...(store && { store }) });
  opened.push(limits);
  return limits;
}

/** Opens limits that count in a store of this kind. */
const open = async (kind: Kind): Promise<RateLimits> => openOn(await storeOf(kind));

let subjects = 0;
const someone = () => `subject ${(subjects += 1)}`;
const startMinute = () => service.clock.startMinute();

const shared = ['postgres', 'redis'] as const;

for (const kind of ['memory', ...shared] as const) {
  const there = kind === 'redis' ? test.skipIf(withoutRedis !== null) : test;
  there(`${kind}: counts down, refuses at the limit, and opens again with the next window`, async () => {
    startMinute();
    const limits = await open(kind);
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

  there(`${kind}: of 100 at once exactly the limit pass`, async () => {
    startMinute();
    const limits = await open(kind);
    const key = someone();
    const answers = await Promise.all(Array.from({ length: 100 }, () => limits.take('tools', key)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(new Set(answers.filter(({ allowed }) => allowed).map(({ remaining }) => remaining)).size).toBe(10);
  });

  there(`${kind}: kinds and keys are counted apart, an IPv6 /64 as one address`, async () => {
    startMinute();
    const limits = await open(kind);
    const key = someone();
    for (let count = 0; count < 10; count += 1) await limits.take('tools', key);
    expect((await limits.take('tools', key)).allowed).toBe(false);
    expect((await limits.take('tools', someone())).remaining).toBe(9);
    expect((await limits.take('rest_ip', key)).remaining).toBe(9);
    const block = `2001:db8:${kind.length}`;
    expect((await limits.take('rest_ip', `${block}::1`)).remaining).toBe(9);
    expect((await limits.take('rest_ip', `${block}:0:ffff::9`)).remaining).toBe(8);
    expect((await limits.take('rest_ip', `${block}:1::1`)).remaining).toBe(9);
  });
}

test.skipIf(withoutRedis !== null)('redis: several Dealkeep databases on one Redis have separate counts', async () => {
  startMinute();
  const [one, another] = [openOn(await storeOf('redis')), openOn(await storeOf('redis', 'another'))];
  const key = someone();
  for (let count = 0; count < 10; count += 1) await one.take('tools', key);
  expect((await one.take('tools', key)).allowed).toBe(false);
  expect((await another.take('tools', key)).remaining).toBe(9);
});

for (const kind of shared) {
  const there = kind === 'redis' ? test.skipIf(withoutRedis !== null) : test;

  there(`135. ${kind}: two nodes on one store let exactly the limit pass together`, async () => {
    startMinute();
    const [one, two] = [await open(kind), await open(kind)];
    for (const ceiling of [10, 1_000]) {
      const key = someone();
      const ask = (nth: number) => (nth % 2 ? one : two).take('tools', key, ceiling);
      const answers = [];
      for (let round = 0; round < 11; round += 1)
        answers.push(...(await Promise.all(Array.from({ length: ceiling / 10 }, (_, nth) => ask(nth + round)))));
      const passed = answers.filter(({ allowed }) => allowed);
      expect(passed).toHaveLength(ceiling);
      // All remaining counts differ: each request has a position of its own.
      expect(new Set(passed.map(({ remaining }) => remaining)).size).toBe(ceiling);
    }
  });

  there(`${kind}: a node whose clock is minutes off takes nothing away of what others count`, async () => {
    // The other nodes have the store's time, within half a minute, and a clock that stands still, so that no window
    // ends meanwhile.
    const time = Math.floor(Date.now() / 60_000) * 60_000 + 30_000;
    const at = async (offMillis: number) => {
      const store = await storeOf(kind);
      const clock = () => new Date(time + offMillis);
      const limits = openLimits({ ceilings, clock, log, ...(store && { store }) });
      opened.push(limits);
      return limits;
    };
    const [one, two] = [await at(0), await at(0)];
    const key = someone();
    for (let round = 0; round < 10; round += 1) expect((await one.take('tools', key, 10)).allowed).toBe(true);
    for (const minutes of [-4, -1, 1, 2, 4]) {
      const off = await at(minutes * 60_000);
      // The node deletes expired counts after its first count, and has done so when the second returns.
      for (let round = 0; round < 3; round += 1) await off.take('tools', someone(), 10);
      const late = await off.take('tools', key, 10);
      expect([minutes, late.allowed]).toEqual([minutes, true]);
    }
    expect((await two.take('tools', key, 10)).allowed).toBe(false);
  });

  there(`${kind}: a caller who leaves one node for the other loses little, and never gains`, async () => {
    startMinute();
    const [one, two] = [await open(kind), await open(kind)];
    const key = someone();
    for (let round = 0; round < 300; round += 1) expect((await one.take('tools', key, 600)).allowed).toBe(true);
    let passed = 0;
    while ((await two.take('tools', key, 600)).allowed) passed += 1;
    expect(passed).toBeLessThanOrEqual(300);
    expect(passed).toBeGreaterThanOrEqual(300 - 600 / 16);
  });

  there(`${kind}: the next lot is fetched before somebody waits for it, and none of a lone node is lost`, async () => {
    startMinute();
    const store = (await storeOf(kind))!;
    const seen = { isTaking: false, isAhead: false };
    let total = 0;
    const add: LimitStore['add'] = async (additions) => {
      seen.isAhead ||= !seen.isTaking;
      const totals = await store.add(additions);
      total = totals[0] ?? 0;
      return totals;
    };
    const limits = openOn({ ...store, add });
    const key = someone();
    const take = async () => {
      seen.isTaking = true;
      const { allowed } = await limits.take('tools', key, 1_000);
      seen.isTaking = false;
      return allowed;
    };
    let passed = 0;
    while (passed < 100 && (await take())) passed += 1;
    // One by one, until a block is half used: the next one is fetched a tenth of a second later.
    while (!seen.isAhead && passed < 300 && (await take())) {
      passed += 1;
      await pause(150);
      await nextTurn();
      await nextTurn();
    }
    expect(seen.isAhead).toBe(true);
    while (await take()) passed += 1;
    expect([passed, total]).toEqual([1_000, 1_000]);
  });

  there(`${kind}: who sends much costs few questions to the store, and who is over the limit none`, async () => {
    startMinute();
    const store = (await storeOf(kind))!;
    let trips = 0;
    const add: LimitStore['add'] = (additions) => {
      trips += 1;
      return store.add(additions);
    };
    const limits = openOn({ ...store, add });
    const [key, other] = [someone(), someone()];
    for (let round = 0; round < 250; round += 1)
      await Promise.all(Array.from({ length: 16 }, () => limits.take('tools', key, 1_000_000)));
    // About twenty, unless the machine repeatedly stalls for a fifth of a second.
    expect(trips).toBeLessThan(200);

    for (let round = 0; round < 11; round += 1) await limits.take('tools', other, 10);
    const before = trips;
    for (let round = 0; round < 50; round += 1) {
      expect((await limits.take('tools', other, 10)).allowed).toBe(false);
      expect((await limits.peek('tools', other, 10)).allowed).toBe(false);
    }
    expect(trips).toBe(before);
  });
}

/** A proxy to the database whose connections can be cut and restored. */
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

test('138. a node counts for itself while the store is unreachable, logs it once, and recovers', async () => {
  startMinute();
  const { host = '', port = 0, ...login } = service.connections.server;
  const gate = await openGate(path.join(host, `.s.PGSQL.${port}`));
  const lines: string[] = [];
  const store = postgresStore({ ...login, host: '127.0.0.1', port: gate.port }, true, keepSeconds);
  const limits = openOn(store, createLog('info', { write: (line) => void lines.push(line) }));
  const key = someone();
  expect((await limits.take('tools', key)).remaining).toBe(9);
  expect(lines).toEqual([]);

  gate.cut();
  const alone = await Promise.all(Array.from({ length: 30 }, () => limits.take('tools', key)));
  expect(alone.filter(({ allowed }) => allowed)).toHaveLength(10);
  expect(lines.filter((line) => line.includes('store is unavailable'))).toHaveLength(1);

  gate.mend();
  await expect.poll(async () => (await limits.take('tools', key, 1_000)) && lines.length).toBe(2);
  expect(lines[1]).toContain('store is available again');
  expect((await (await open('postgres')).peek('tools', key, 1_000)).remaining).toBeLessThan(999);
  await gate.close();
});

test.skipIf(withoutRedis !== null)(
  '138. a node counts for itself while Redis is unreachable, logs it once without the password, and recovers',
  async () => {
    startMinute();
    const lines: string[] = [];
    const limits = openOn(await storeOf('redis'), createLog('info', { write: (line) => void lines.push(line) }));
    await redis!.stop();
    const key = someone();
    for (let round = 0; round < 3; round += 1) {
      const alone = await Promise.all(Array.from({ length: 400 }, () => limits.take('tools', `${key} ${round}`)));
      expect(alone.filter(({ allowed }) => allowed)).toHaveLength(10);
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('store is unavailable');
    await redis!.start();
    await expect.poll(async () => (await limits.take('tools', key, 1_000_000)) && lines.length).toBe(2);
    expect(lines[1]).toContain('store is available again');
    expect(lines.join('')).not.toContain('secret-of-redis');
  },
);
