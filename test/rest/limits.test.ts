import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { openService, type TestService } from '../harness.ts';
import { openTestRedis, withoutRedis, type TestRedis } from '../redis.ts';
import { as, brokerage, type Brokerage } from './scene.ts';

const limits = (changes: Partial<ReturnType<typeof readConfig>['rateLimits']>) => ({
  rateLimits: { ...readConfig({}).rateLimits, ...changes },
});

/** Moves the clock to the start of a window, because a test that counts must not run into the next. */
function toWindowStart(service: TestService): void {
  const now = service.clock.now().getTime();
  service.clock.set(new Date(Math.ceil(now / 60_000) * 60_000 + 1_000));
}

describe('the rate limit of a key', () => {
  let service: TestService;
  let tenant: Brokerage;
  beforeAll(async () => {
    service = await openService({ config: limits({ rest_key: 25 }) });
    tenant = await brokerage(service);
  });
  afterAll(() => service.close());

  test('134. headers count down on every response; at 0 comes 429 with Retry-After until the next window', async () => {
    toWindowStart(service);
    const call = as(await tenant.key({ ceiling: 5 }), service.restUrl);
    const requests = [
      () => call('GET', '/contacts'),
      () => call('POST', '/contacts', { type: 'person', displayName: 'counted' }),
      () => call('POST', '/contacts', { type: 'nobody' }),
      () => call('GET', '/contacts/none'),
      () => call('GET', '/contacts?limit=0'),
    ];
    const statuses = [];
    for (const [index, request] of requests.entries()) {
      const { status, headers } = await request();
      statuses.push(status);
      expect(headers.get('x-ratelimit-limit')).toBe('5');
      expect(headers.get('x-ratelimit-remaining')).toBe(String(4 - index));
      const reset = Number(headers.get('x-ratelimit-reset'));
      expect(reset * 1000 - service.clock.now().getTime()).toBeGreaterThan(0);
      expect(reset * 1000 - service.clock.now().getTime()).toBeLessThanOrEqual(60_000);
      expect(headers.get('retry-after')).toBeNull();
    }
    expect(statuses).toEqual([200, 201, 400, 404, 400]);
    for (const request of requests) {
      const { status, headers, body } = await request();
      expect([status, body?.error.code, headers.get('x-ratelimit-remaining')]).toEqual([429, 'rate_limited', '0']);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
      expect(body).not.toHaveProperty('data');
    }
    const { headers } = await call('GET', '/contacts');
    service.clock.set(new Date(Number(headers.get('x-ratelimit-reset')) * 1000));
    expect((await call('GET', '/contacts')).status).toBe(200);
  });

  test('requests with an expired token do not count against the key', async () => {
    toWindowStart(service);
    const key = await tenant.key({ ceiling: 10 });
    const call = as(key, service.restUrl);
    expect((await call('GET', '/contacts')).headers.get('x-ratelimit-remaining')).toBe('9');
    await service.sql(
      `update vault.api_key_digests set valid_until = app.now() - interval '1 second' where key_id = $1`,
      [key.id],
    );
    for (let n = 0; n < 5; n += 1) {
      const { status, headers } = await call('GET', '/contacts');
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([401, null]);
    }
    await service.sql(`update vault.api_key_digests set valid_until = null where key_id = $1`, [key.id]);
    expect((await call('GET', '/contacts')).headers.get('x-ratelimit-remaining')).toBe('7');
  });

  test('nothing is written over the limit', async () => {
    toWindowStart(service);
    const call = as(await tenant.key({ ceiling: 3 }), service.restUrl);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => call('POST', '/contacts', { type: 'person', displayName: 'bounded' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(9);
    expect(await service.sql(`select count(*)::int as n from contacts where display_name = 'bounded'`)).toEqual([
      { n: 3 },
    ]);
  });

  test('135. of 100 concurrent requests at a limit of 10, exactly 10 pass', async () => {
    toWindowStart(service);
    const call = as(await tenant.key({ ceiling: 10 }), service.restUrl);
    const answers = await Promise.all(Array.from({ length: 100 }, () => call('GET', '/contacts')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
  });

  test('136. a key without a ceiling has the default limit, and keys are counted separately', async () => {
    toWindowStart(service);
    const one = as(await tenant.key({ ceiling: null }), service.restUrl);
    for (let n = 0; n < 25; n += 1) expect((await one('GET', '/contacts')).headers.get('x-ratelimit-limit')).toBe('25');
    expect((await one('GET', '/contacts')).status).toBe(429);
    expect((await as(await tenant.key({ ceiling: null }), service.restUrl)('GET', '/contacts')).status).toBe(200);
  });

  test('139. a request whose transaction fails counts too', async () => {
    toWindowStart(service);
    const call = as(await tenant.key({ ceiling: 4 }), service.restUrl);
    await service.sql('alter table contacts rename to contacts_away');
    const failed = [
      await call('POST', '/contacts', { type: 'person', displayName: 'x' }),
      await call('GET', '/contacts'),
      await call('GET', `/contacts/${crypto.randomUUID()}`),
    ];
    await service.sql('alter table contacts_away rename to contacts');
    expect(failed.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining')])).toEqual([
      [500, '3'],
      [500, '2'],
      [500, '1'],
    ]);
    expect((await call('GET', '/contacts')).headers.get('x-ratelimit-remaining')).toBe('0');
    expect((await call('GET', '/contacts')).status).toBe(429);
  });
});

describe('two nodes', () => {
  let service: TestService;
  let tenant: Brokerage;
  beforeAll(async () => {
    service = await openService({ nodes: 2 });
    tenant = await brokerage(service);
  });
  afterAll(() => service.close());

  test('135. of 100 concurrent requests to both at a limit of 10, exactly 10 pass', async () => {
    toWindowStart(service);
    const key = await tenant.key({ ceiling: 10 });
    const nodes = service.nodes.map((node) => as(key, node.restUrl));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => nodes[n % 2]!('GET', '/contacts')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
  });

  test('a request over the ceiling is rejected on either node without reading contacts', async () => {
    toWindowStart(service);
    const key = await tenant.key({ ceiling: 2 });
    const [first, second] = service.nodes.map((node) => as(key, node.restUrl));
    for (let n = 0; n < 2; n += 1) expect((await first!('GET', '/contacts')).status).toBe(200);
    const owner = new pg.Client(service.connections.owner);
    await owner.connect();
    try {
      // From here on, a request that reads contacts blocks and does not get 429.
      await owner.query('begin; lock table contacts in access exclusive mode');
      for (const node of [first!, second!]) {
        const answers = await Promise.all([
          node('GET', '/contacts'),
          node('GET', '/contacts?limit=0'),
          node('GET', `/contacts/${crypto.randomUUID()}`),
          node('POST', '/contacts', { type: 'person', displayName: 'x' }),
        ]);
        expect(answers.map(({ status }) => status)).toEqual([429, 429, 429, 429]);
      }
      // The first node has the key in its cache, so it does not even look it up.
      await owner.query('lock table api_keys in access exclusive mode');
      expect((await first!('GET', '/contacts')).status).toBe(429);
    } finally {
      await owner.end();
    }
  });

  test('138. requests succeed while the shared store is missing, and are counted together again afterwards', async () => {
    const key = await tenant.key({ ceiling: 50 });
    await service.sql('alter schema limits rename to limits_away');
    const during = await Promise.all(service.nodes.map((node) => as(key, node.restUrl)('GET', '/contacts')));
    expect(during.map(({ status }) => status)).toEqual([200, 200]);
    await service.sql('alter schema limits_away rename to limits');
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    toWindowStart(service);
    const remaining = [];
    for (const node of service.nodes)
      remaining.push((await as(key, node.restUrl)('GET', '/contacts')).headers.get('x-ratelimit-remaining'));
    expect(remaining).toEqual(['49', '48']);
  });
});

describe('two nodes that do not wait for the shared store', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openService({ nodes: 2, waitMillis: 1_000 });
  });
  afterAll(() => service.close());

  test('a key over its ceiling is rejected without querying the shared store', async () => {
    toWindowStart(service);
    const call = as(await (await brokerage(service)).key({ ceiling: 3 }), service.restUrl);
    for (let n = 0; n < 4; n += 1) await call('GET', '/contacts');
    const owner = new pg.Client(service.connections.owner);
    await owner.connect();
    try {
      // From here on, a query of the shared store gets no response, and would make the node count the key from the
      // start again.
      await owner.query('begin; lock table limits.counters in access exclusive mode');
      const statuses = [];
      for (let n = 0; n < 20; n += 1) statuses.push((await call('GET', '/contacts')).status);
      expect(new Set(statuses)).toEqual(new Set([429]));
    } finally {
      await owner.end();
    }
  });
});

describe.skipIf(withoutRedis !== null)('two nodes and Redis', () => {
  let redis: TestRedis;
  let service: TestService;
  beforeAll(async () => {
    redis = await openTestRedis();
    service = await openService({ nodes: 2, config: { rateLimitStore: 'redis', redisUrl: redis.url } });
  });
  afterAll(async () => {
    await service.close();
    await redis.close();
  });

  test('135. of 100 concurrent requests to both at a limit of 10, exactly 10 pass', async () => {
    toWindowStart(service);
    const key = await (await brokerage(service)).key({ ceiling: 10 });
    const nodes = service.nodes.map((node) => as(key, node.restUrl));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => nodes[n % 2]!('GET', '/contacts')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
  });
});

describe('the rate limit of an address', () => {
  let service: TestService;
  let tenant: Brokerage;
  let token: string;
  let other: string;
  beforeAll(async () => {
    const config = { ...limits({ rest_ip: 20, rest_auth_failure_ip: 6 }), trustedProxies: ['127.0.0.1'] };
    service = await openService({ config });
    tenant = await brokerage(service);
    token = (await tenant.key({ ceiling: 20 })).token;
    other = (await tenant.key({ ceiling: 20 })).token;
  });
  afterAll(() => service.close());

  /** A request as the trusted proxy forwards it from `address`. */
  const from = (address: string, bearer: string | null) =>
    as(bearer === null ? null : { token: bearer }, service.restUrl)('GET', '/contacts', undefined, {
      'X-Forwarded-For': address,
    });

  test('136. applies to all valid keys of the address together', async () => {
    toWindowStart(service);
    const statuses = [];
    for (let n = 0; n < 22; n += 1) statuses.push((await from('203.0.113.1', token)).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 429, 429]);
    const limited = await from('203.0.113.1', token);
    expect([limited.body?.error.code, limited.headers.get('x-ratelimit-limit')]).toEqual(['rate_limited', null]);
    expect(limited.headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
    expect((await from('203.0.113.1', other)).status).toBe(429);
    expect((await from('203.0.113.2', other)).status).toBe(200);
  });

  test('136. is tighter for missing and invalid keys, and then does not block a valid key', async () => {
    toWindowStart(service);
    const statuses = [];
    for (let n = 0; n < 9; n += 1)
      statuses.push((await from('203.0.113.3', n % 3 ? mintApiKey('live').token : n ? 'x' : null)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429, 429, 429]);
    expect((await from('203.0.113.3', token)).status).toBe(200);
  });

  test('136. is raised to the highest ceiling of the valid keys used from the address', async () => {
    toWindowStart(service);
    const best = (await tenant.key({ ceiling: 50 })).token;
    const send = async (address: string, bearer: string, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => from(address, bearer)));
      return answers.filter(({ status }) => status === 200).length;
    };
    expect(await send('203.0.113.5', best, 45)).toBe(45);
    // The limit applies to all keys of the address together, and to no other address.
    expect(await send('203.0.113.5', other, 10)).toBe(5);
    expect(await send('203.0.113.6', token, 20)).toBe(20);
    expect(await send('203.0.113.6', other, 1)).toBe(0);

    toWindowStart(service);
    expect(await send('203.0.113.7', token, 25)).toBe(20);
    expect(await send('203.0.113.7', mintApiKey('live').token, 3)).toBe(0);
    // A key that no node has seen yet is looked up although the address has used up its own limit.
    const late = await tenant.key({ ceiling: 30 });
    expect(await send('203.0.113.7', late.token, 12)).toBe(10);
    await service.sql('update vault.api_key_digests set valid_until = app.now() where key_id = $1', [late.id]);
    toWindowStart(service);
    expect(await send('203.0.113.7', late.token, 1)).toBe(0);
  });

  test('136. stops the lookup of unknown keys after too many failures from an address', async () => {
    toWindowStart(service);
    const lookUps = async () => {
      const metrics = await (await fetch(`${service.origin}/metrics`)).text();
      return Number(/^dealkeep_statements_total\{statement="enter_with_api_key"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
    };
    for (let n = 0; n < 20; n += 1) expect((await from('203.0.113.8', token)).status).toBe(200);
    const before = await lookUps();
    for (let n = 0; n < 12; n += 1) expect((await from('203.0.113.8', mintApiKey('live').token)).status).toBe(429);
    expect((await lookUps()) - before).toBe(6);
  });

  test('137. cannot be evaded by a forged entry in X-Forwarded-For', async () => {
    toWindowStart(service);
    const statuses = [];
    for (let n = 0; n < 22; n += 1) statuses.push((await from(`198.51.100.${n}, 203.0.113.4`, token)).status);
    expect(statuses.slice(-2)).toEqual([429, 429]);
  });

  test('137. counts the addresses of one IPv6 /64 together', async () => {
    toWindowStart(service);
    const statuses = [];
    for (let n = 0; n < 22; n += 1) statuses.push((await from(`2001:db8:1:2::${n}:1`, token)).status);
    expect(statuses.slice(-2)).toEqual([429, 429]);
    expect((await from('2001:db8:1:3::1', other)).status).toBe(200);
  });
});

describe('the rate limit of an address without a trusted proxy', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openService({ config: limits({ rest_ip: 5 }) });
  });
  afterAll(() => service.close());

  test('137. ignores X-Forwarded-For', async () => {
    toWindowStart(service);
    const call = as(await (await brokerage(service)).key({ ceiling: 5 }), service.restUrl);
    const statuses = [];
    for (let n = 0; n < 7; n += 1)
      statuses.push(
        (await call('GET', '/contacts', undefined, { 'X-Forwarded-For': `10.0.0.${n}`, Forwarded: `for=10.0.0.${n}` }))
          .status,
      );
    expect(statuses.slice(-2)).toEqual([429, 429]);
  });
});
