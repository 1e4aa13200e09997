/** Waiting for locks in a service's database. */

import { expect } from 'vitest';
import type { TestService } from './harness.ts';
import { connect } from './policies/scene.ts';

/** The number of locks that are waited for. */
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

/**
 * Holds a lock on a row until `first` waits for a lock, and then until `second` waits too, or has finished without
 * waiting. With a pool of fewer than four connections, `second` may get none while `first` is slow.
 */
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
    // When a poll below fails, nothing awaits these promises any more.
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

/**
 * Calls `ask` while changes by the owner are made and not yet committed; commits them once the request waits for a
 * lock, or has been answered without waiting.
 */
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
    // When the poll below fails, nothing awaits this promise any more.
    answer.catch(() => {});
    await expect.poll(async () => done || (await locksWaited(service)) === 1).toBe(true);
    await owner.query('commit');
    return await answer;
  } finally {
    await owner.end();
  }
}
