/** Overlapping requests are told apart from replays by the time at which each began, by the database's clock. */

import { setImmediate, setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../server/database/database.ts';
import { row } from '../../server/database/statement.ts';
import { digestOf, mintTokens, refreshTokens } from '../../server/domain/clients/tokens.ts';
import { ConcurrentRefreshes } from '../../server/oauth/concurrent-refreshes.ts';
import { DatabaseClock } from '../../server/oauth/database-clock.ts';
import { RefreshWindow, type Time } from '../../server/oauth/refresh-window.ts';
import { openService, type TestService } from '../harness.ts';
import { locksWaited } from '../locks.ts';
import { connect as connectTo } from '../policies/scene.ts';
import { scopesOf } from './bearer.ts';
import { addClient, addPerson, connect, post, refresh, type Grant, type Person } from './scene.ts';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await openService();
  ada = await addPerson(service, 'Ada');
});
afterAll(() => service?.close());

const clock = row<{ millis: number }, []>(
  'overlap_test_clock',
  'select (extract(epoch from clock_timestamp()) * 1000)::float8 as millis',
);
const databaseTime = async (): Promise<number> => (await service.database.run(clock()))?.millis ?? 0;

const aMinute = 60_000;

/** Presents a grant's first refresh token as a request that began at this time. */
function present({ clientId, refresh: token }: Grant, began: number | null, overlap = aMinute) {
  const presented = { clientId, token, digest: digestOf(token), scopes: null, resource: null, began, overlap };
  return service.database.run(refreshTokens(presented, mintTokens(), { address: null, requestId: null }));
}

describe('the overlap rule for refresh requests', () => {
  test('gives a request that began before the token was consumed the same response', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    const began = await databaseTime();
    await setTimeout(20);
    const first = await present(grant, await databaseTime());
    await setTimeout(20);
    expect(await present(grant, began)).toMatchObject({ ...(first as object) });
    expect(await scopesOf(service, (first as { access: string }).access)).not.toBeNull();
  });

  test('treats a request that began after the token was consumed as a replay', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    const first = await present(grant, await databaseTime());
    expect(await present(grant, await databaseTime())).toBe('invalid_grant');
    expect(await scopesOf(service, (first as { access: string }).access)).toBeNull();
  });

  test('treats a request that began more than two seconds before the token was consumed as a replay', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    const began = (await databaseTime()) - 2_001;
    const first = await present(grant, await databaseTime(), 2_000);
    expect(await present(grant, began, 2_000)).toBe('invalid_grant');
    expect(await scopesOf(service, (first as { access: string }).access)).toBeNull();
  });

  test('treats an earlier request that is processed more than two seconds after consumption as a replay', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    const first = await present(grant, await databaseTime(), 2_000);
    const [consumed] = await service.sql<{ millis: number }>(
      `update vault.refresh_tokens set consumed_clock = consumed_clock - interval '2.001 seconds' where digest = $1
       returning (extract(epoch from consumed_clock) * 1000)::float8 as millis`,
      [digestOf(grant.refresh)],
    );
    expect(await present(grant, (consumed?.millis ?? 0) - 100, 2_000)).toBe('invalid_grant');
    expect(await scopesOf(service, (first as { access: string }).access)).toBeNull();
  });

  test('treats every second request as a replay if the time of its beginning is unknown', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    await present(grant, null);
    expect(await present(grant, null)).toBe('invalid_grant');
    const [kept] = await service.sql('select answer from vault.refresh_tokens where digest = $1', [
      digestOf(grant.refresh),
    ]);
    expect(kept).toEqual({ answer: null });
  });

  test('rejects an overlapping request after the successor was used, without revoking anything', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    const began = await databaseTime();
    await setTimeout(5);
    const first = await present(grant, await databaseTime());
    const next = await refresh(service, grant.clientId, (first as { refresh: string }).refresh);
    expect(await present(grant, began)).toBe('invalid_grant');
    expect((await refresh(service, grant.clientId, next.body.refresh_token ?? '')).status).toBe(200);
  });
});

describe('the database clock', () => {
  test('converts times of this process to times of the database', async () => {
    const told = new DatabaseClock(service.database);
    const began = performance.now();
    for (let count = 0; count < 5; count += 1) {
      const before = await databaseTime();
      const now = await told.at(performance.now());
      const after = await databaseTime();
      // The error is at most half of the time that the clock's own query took, which is long on a busy machine.
      const wrong = performance.now() - began;
      expect(now).toBeGreaterThan(before - wrong);
      expect(now).toBeLessThan(after + wrong);
    }
  });

  test('never returns a time that is too early, however slow the database responds', async () => {
    const slow: Database = {
      ...service.database,
      async run(statement) {
        const answer = await service.database.run(statement);
        if (statement.name === 'database_clock') await setTimeout(40);
        return answer;
      },
    };
    const slowly = new DatabaseClock(slow);
    for (let count = 0; count < 3; count += 1) {
      const before = await databaseTime();
      // Two clocks may drift apart a little between the two readings.
      expect(await slowly.at(performance.now())).toBeGreaterThan(before - 1);
    }
  });

  test('follows a database clock that was set', async () => {
    let shift = 0;
    const shifted: Database = {
      ...service.database,
      async run(statement) {
        const answer = await service.database.run(statement);
        return (
          statement.name === 'database_clock' ? { millis: (answer as { millis: number }).millis + shift } : answer
        ) as typeof answer;
      },
    };
    const told = new DatabaseClock(shifted, 50);
    const began = performance.now();
    const first = await told.at(began);
    shift = 3_600_000;
    await setTimeout(60);
    const then = await told.at(performance.now());
    expect(then - first).toBeGreaterThan(3_600_000 - (performance.now() - began));
    expect(then - first).toBeLessThan(3_600_000 + 2 * (performance.now() - began));
  });
});

/** A mock clock that stands still until a test advances it. */
class StandingTime implements Time {
  #now = 0;
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  pass(millis: number): Promise<void> {
    return new Promise((wake) => this.#sleepers.push({ at: this.#now + millis, wake }));
  }

  /** Jumps to `moment`, as for a frozen process: sleepers that became due meanwhile wake at its end. */
  async standStillUntil(moment: number): Promise<void> {
    this.#now = moment;
    await this.goTo(moment);
  }

  /** Advances the time to `moment`, and wakes each sleeper at its time. */
  async goTo(moment: number): Promise<void> {
    await setImmediate();
    for (let next = this.#next(); next <= moment; next = this.#next()) {
      this.#now = Math.max(this.#now, next);
      const due = this.#sleepers.filter(({ at }) => at <= next);
      this.#sleepers = this.#sleepers.filter(({ at }) => at > next);
      for (const { wake } of due) wake();
      await setImmediate();
    }
    this.#now = moment;
  }

  #next(): number {
    return Math.min(...this.#sleepers.map(({ at }) => at));
  }
}

describe('the refresh window', () => {
  /** Requests with one token arrive at these times; returns the times at which they continue. */
  async function held(...arrivals: readonly number[]): Promise<number[]> {
    const time = new StandingTime();
    const window = new RefreshWindow(time);
    const gone: Promise<number>[] = [];
    for (const arrival of arrivals) {
      await time.goTo(arrival);
      gone.push(window.gathered('a', arrival).then(() => time.now()));
    }
    await time.goTo(100_000);
    return Promise.all(gone);
  }

  test('holds a single request for 100 ms, regardless of requests with other tokens', async () => {
    const time = new StandingTime();
    const window = new RefreshWindow(time);
    const gone = ['a', 'b', 'c'].map((key) => window.gathered(key, 0).then(() => time.now()));
    await time.goTo(1_000);
    expect(await Promise.all(gone)).toEqual([100, 100, 100]);
  });

  test('holds requests with the same token until no more arrive', async () => {
    expect(await held(0, 20, 140, 260)).toEqual([510, 510, 510, 510]);
  });

  test('holds a request on its own if it arrives after the others were released', async () => {
    expect(await held(0, 50, 301, 400)).toEqual([300, 300, 650, 650]);
  });

  test('waits again for requests that arrived while the process stalled, for at most a second in all', async () => {
    const time = new StandingTime();
    const window = new RefreshWindow(time);
    const gone = [window.gathered('a', 0).then(() => time.now())];
    await time.standStillUntil(400);
    await time.goTo(450);
    gone.push(window.gathered('a', 450).then(() => time.now()));
    await time.standStillUntil(900);
    await time.goTo(100_000);
    expect(await Promise.all(gone)).toEqual([1_000, 1_150]);
  });

  test('holds no request longer than a second, and keeps no state afterwards', async () => {
    const arrivals = Array.from({ length: 40 }, (_, index) => index * 40);
    const gone = await held(...arrivals, 5_000);
    expect(gone.slice(0, 4)).toEqual([1_000, 1_040, 1_080, 1_120]);
    gone.forEach((moment, index) => expect(moment - (arrivals[index] ?? 5_000)).toBeLessThanOrEqual(1_000));
    expect(gone.at(-1)).toBe(5_100);
  });
});

describe('a waiting refresh request', () => {
  test('is held only with a valid token of its own client', async () => {
    const time = new StandingTime();
    const refreshes = new ConcurrentRefreshes(service.services, time);
    let waiting = 0;
    const began = (clientId: string, token: string) =>
      refreshes.began(clientId, digestOf(token), performance.now(), () => (waiting += 1));
    const grant = await connect(service, ada, await addClient(service, ada));
    const other = await connect(service, ada, await addClient(service, ada));

    expect(await began(grant.clientId, mintTokens().refresh.token)).not.toBeNull();
    expect(await began(other.clientId, grant.refresh)).not.toBeNull();
    expect(waiting).toBe(0);

    const held = began(grant.clientId, grant.refresh).then(() => 'went on');
    await expect.poll(() => waiting).toBe(1);
    expect(await Promise.race([held, setTimeout(100, 'waits')])).toBe('waits');
    await time.goTo(performance.now() + 10_000);
    expect(await held).toBe('went on');

    await post(service, '/api/mcp/revoke', { client_id: grant.clientId, token: grant.refresh });
    expect(await began(grant.clientId, grant.refresh)).not.toBeNull();
    expect(waiting).toBe(1);
  });

  test('does not occupy one of the places for requests answered at once', async () => {
    const grant = await connect(service, ada, await addClient(service, ada));
    // After they have been held, the requests wait for each other in the database, and the first of them for this lock:
    // one token uses one of three connections.
    const holder = await connectTo(service.connections.owner);
    onTestFinished(() => holder.end());
    await holder.query('begin');
    await holder.query('select from vault.token_families where client_id = $1 for update', [grant.clientId]);
    const asked = Promise.all([1, 2, 3].map(() => refresh(service, grant.clientId, grant.refresh)));
    asked.catch(() => {});
    await expect.poll(() => locksWaited(service)).toBe(1);
    await expect.poll(() => service.database.connections().waiting).toBe(2);
    expect(service.services.load.state().answering).toBe(0);
    await holder.query('commit');
    expect((await asked).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
