/** What waits in the database of a service. */

import { expect } from 'vitest';
import type { TestService } from './harness.ts';
import { connect } from './policies/scene.ts';

/** How many locks are waited for. */
export const locksWaited = async ({
  sql,
}: {
  readonly sql: (text: string) => Promise<readonly unknown[]>;
}): Promise<number> =>
  (
    await sql(
      'select from pg_locks l join pg_stat_activity a on a.pid = l.pid where a.datname = current_database() and not l.granted',
    )
  ).length;

/** Holds a row until the first waits, and after it the second, or until that is done without waiting. Of fewer than four connections the second may get none while the first is slow. */
export async function atOnce<A, B>(
  service: TestService,
  [table, column, value]: readonly [table: string, column: string, value: string],
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  const holder = await connect(service.connections.owner);
  try {
    await holder.query('begin');
    await holder.query(`select from ${table} where ${column} = $1 for update`, [value]);
    const one = first();
    // Whoever waits for the locks in vain below no longer asks how they ended.
    one.catch(() => {});
    await expect.poll(() => locksWaited(service)).toBe(1);
    let done = false;
    const other = second().finally(() => (done = true));
    other.catch(() => {});
    await expect.poll(async () => done || (await locksWaited(service)) === 2).toBe(true);
    await holder.query('commit');
    return await Promise.all([one, other]);
  } finally {
    await holder.end();
  }
}

/** Asks while changes of the owner are made and not yet committed; they are once the request waits for them, or has been answered without waiting. */
export async function whileChanging<T>(
  service: TestService,
  changes: readonly (readonly [text: string, values: readonly unknown[]])[],
  ask: () => Promise<T>,
): Promise<T> {
  const owner = await connect(service.connections.owner);
  try {
    await owner.query('begin');
    for (const [text, values] of changes) await owner.query(text, [...values]);
    let done = false;
    const answer = ask().finally(() => (done = true));
    // Whoever waits for the lock in vain below no longer asks how it ended.
    answer.catch(() => {});
    await expect.poll(async () => done || (await locksWaited(service)) === 1).toBe(true);
    await owner.query('commit');
    return await answer;
  } finally {
    await owner.end();
  }
}
