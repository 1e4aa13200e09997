/** What tells requests that overlap from replays: when each began, by the database's clock. */

import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../server/database/database.ts';
import { row } from '../../server/database/statement.ts';
import { digestOf, mintTokens, refreshTokens } from '../../server/domain/tokens.ts';
import { DatabaseClock } from '../../server/oauth/database-clock.ts';
import { Herd } from '../../server/oauth/herd.ts';
import { openHouse, type TestHouse } from '../harness.ts';
import { scopesOf } from './bearer.ts';
import { addClient, addPerson, connect, refresh, type Grant, type Person } from './scene.ts';

let house: TestHouse;
let ada: Person;

beforeAll(async () => {
  house = await openHouse();
  ada = await addPerson(house, 'Ada');
});
afterAll(() => house?.close());

const clock = row<{ millis: number }, []>(
  'overlap_test_clock',
  'select (extract(epoch from clock_timestamp()) * 1000)::float8 as millis',
);
const databaseTime = async (): Promise<number> => (await house.database.run(clock()))?.millis ?? 0;

/** Presents a grant's first refresh token as a request that began at this time. */
function present({ clientId, refresh: token }: Grant, began: number | null) {
  const presented = { clientId, token, digest: digestOf(token), scopes: null, resource: null, began };
  return house.database.run(refreshTokens(presented, mintTokens(), { address: null, requestId: null }));
}

describe('the rule', () => {
  test('a request that began before the token was consumed gets the same answer, however late it is asked', async () => {
    const grant = await connect(house, ada, await addClient(house, ada));
    const began = await databaseTime();
    await setTimeout(20);
    const first = await present(grant, await databaseTime());
    await setTimeout(20);
    expect(await present(grant, began)).toMatchObject({ ...(first as object) });
    expect(await scopesOf(house, (first as { access: string }).access)).not.toBeNull();
  });

  test('a request that began after is a replay, by however little', async () => {
    const grant = await connect(house, ada, await addClient(house, ada));
    const first = await present(grant, await databaseTime());
    expect(await present(grant, await databaseTime())).toBe('invalid_grant');
    expect(await scopesOf(house, (first as { access: string }).access)).toBeNull();
  });

  test('without the time of its beginning every second request is a replay', async () => {
    const grant = await connect(house, ada, await addClient(house, ada));
    await present(grant, null);
    expect(await present(grant, null)).toBe('invalid_grant');
    const [kept] = await house.sql('select answer from vault.refresh_tokens where digest = $1', [
      digestOf(grant.refresh),
    ]);
    expect(kept).toEqual({ answer: null });
  });

  test('once the successor was used, an overlapping straggler gets nothing and revokes nothing', async () => {
    const grant = await connect(house, ada, await addClient(house, ada));
    const began = await databaseTime();
    await setTimeout(5);
    const first = await present(grant, await databaseTime());
    const next = await refresh(house, grant.clientId, (first as { refresh: string }).refresh);
    expect(await present(grant, began)).toBe('invalid_grant');
    expect((await refresh(house, grant.clientId, next.body.refresh_token ?? '')).status).toBe(200);
  });
});

describe('the clock', () => {
  test('tells moments of this process within a few milliseconds of what the database says', async () => {
    const told = new DatabaseClock(house.database);
    for (let count = 0; count < 5; count += 1) {
      const before = await databaseTime();
      const now = await told.at(performance.now());
      const after = await databaseTime();
      expect(now).toBeGreaterThan(before - 5);
      expect(now).toBeLessThan(after + 5);
    }
  });

  test('follows a clock that was set', async () => {
    let shift = 0;
    const shifted: Database = {
      ...house.database,
      async run(statement) {
        const answer = await house.database.run(statement);
        return (
          statement.name === 'database_clock' ? { millis: (answer as { millis: number }).millis + shift } : answer
        ) as typeof answer;
      },
    };
    const told = new DatabaseClock(shifted);
    const first = await told.at(performance.now());
    shift = 3_600_000;
    await setTimeout(5_100);
    const then = await told.at(performance.now());
    expect(then - first).toBeGreaterThan(3_600_000);
    expect(then - first).toBeLessThan(3_620_000);
  });
});

describe('the herd', { retry: 2 }, () => {
  const held = async (herd: Herd, key: string): Promise<number> => {
    const arrived = performance.now();
    await herd.gathered(key, arrived);
    return performance.now() - arrived;
  };

  test('one request alone is held shortly, whatever others present', async () => {
    const herd = new Herd();
    const times = await Promise.all([held(herd, 'a'), held(herd, 'b')]);
    for (const time of times) expect(time).toBeLessThan(240);
  });

  test('several are held until no more come, so that all have come before the first goes on', async () => {
    const herd = new Herd();
    const waits: Promise<number>[] = [];
    const starts: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      starts.push(performance.now());
      waits.push(held(herd, 'a'));
      await setTimeout(count === 0 ? 20 : 120);
    }
    const ends = (await Promise.all(waits)).map((time, index) => time + (starts[index] ?? 0));
    expect(Math.min(...ends)).toBeGreaterThan(Math.max(...starts) + 200);
  });

  test('none is held longer than a second, and nothing is remembered', async () => {
    const herd = new Herd();
    const first = held(herd, 'a');
    const end = performance.now() + 1300;
    const others: Promise<number>[] = [];
    while (performance.now() < end) {
      others.push(held(herd, 'a'));
      await setTimeout(40);
    }
    expect(await first).toBeLessThan(1250);
    await Promise.all(others);
    expect(await held(herd, 'a')).toBeLessThan(240);
  });
});
