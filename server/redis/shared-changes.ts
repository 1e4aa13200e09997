/**
 * Changes as several nodes get them through Redis: one of them listens to the database for all and writes what it receives
 * to a stream (https://redis.io/docs/latest/develop/data-types/streams/), which each reads at its own pace. While Redis is
 * away each node listens to the database itself.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Listeners, type Change, type Changes, type DatabaseChanges } from '../database/changes.ts';
import type { Redis } from './connection.ts';

/** How long a node may listen for all without renewing it, and how often it is looked at, in milliseconds. */
const lease = { lasts: 5_000, every: 1_000 } as const;
/** The most entries that are kept for nodes that lag behind, and the most changes in one. */
const kept = { entries: 10_000, changes: 100 } as const;
/** The most changes that wait to be written; more wait in the database's queue. */
const most = 10_000;
/** How many entries are read at once, and how long one read waits for some, in milliseconds. */
const reading = { count: 50, block: 1_000 } as const;

const renewal = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`;
const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

interface SharedChangesOptions {
  /** Two connections: one waits for what comes. */
  readonly reader: Redis;
  readonly writer: Redis;
  /** Distinguishes the databases of one Redis, also those of the same name: see databaseIdentity(). */
  readonly database: string;
  /** Listens to the database itself, and says `null` as soon as it does. */
  readonly listen: () => DatabaseChanges;
  readonly onAway: (reason: string) => void;
}

/** What is written of changes: an array of them, in which null says that some were missed. */
type Entry = readonly (Change | null)[];

/** Starts hearing changes through Redis. */
export function openSharedChanges({ reader, writer, database, listen, onAway }: SharedChangesOptions): Changes {
  const stream = `dealkeep:changes:${database}`;
  const holder = `${stream}:listener`;
  const me = randomUUID();
  const listeners = new Listeners();
  const closing = new AbortController();
  let direct: DatabaseChanges | undefined;
  let isHolder = false;
  let isAway = false;
  /** It could not listen while it held the lease: it takes it again only once it listens. */
  let listensFirst = false;
  let paused: PromiseWithResolvers<void> | undefined;
  let unwritten: (Change | null)[] = [];
  let isWriting = false;

  const pause = (millis: number) => wait(millis, undefined, { ref: false, signal: closing.signal }).catch(() => {});

  /** Listens to the database while this node does so for all, Redis is away, or it has to show that it can. */
  function settle(): void {
    const needed = (isHolder || isAway || listensFirst) && !closing.signal.aborted;
    if (needed && direct === undefined) {
      direct = listen();
      direct.follow((change) => {
        if (isHolder) write(change);
        if (isAway) listeners.notify(change);
      });
      direct.onQueued(() => listeners.wakeWorkers());
    } else if (!needed && direct !== undefined) {
      void direct.close();
      direct = undefined;
    }
  }

  function write(change: Change | null): void {
    unwritten.push(change);
    if (unwritten.length >= most) direct?.pause();
    if (isWriting) return;
    isWriting = true;
    void writeAll().finally(() => (isWriting = false));
  }

  async function writeAll(): Promise<void> {
    while (unwritten.length > 0 && isHolder) {
      const part: Entry = unwritten.slice(0, kept.changes);
      try {
        await writer.xAdd(
          stream,
          '*',
          { changes: JSON.stringify(part) },
          { TRIM: { strategy: 'MAXLEN', strategyModifier: '~', threshold: kept.entries } },
        );
        unwritten.splice(0, part.length);
      } catch {
        // The next node that listens says that some were missed.
        unwritten = [];
        isHolder = false;
      }
      direct?.resume();
    }
    settle();
  }

  /** Lets this node listen for all while no other does. */
  async function lead(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        if (isHolder && direct?.isListening() === true) {
          isHolder = (await writer.eval(renewal, { keys: [holder], arguments: [me, String(lease.lasts)] })) === 1;
        } else if (isHolder) {
          // Another node may reach the database that this one does not: the lease runs out, unless it listens before that.
          isHolder = (await writer.get(holder)) === me;
          listensFirst = !isHolder;
        } else if (!listensFirst || direct?.isListening() === true) {
          listensFirst = false;
          const taken = await writer.set(holder, me, {
            condition: 'NX',
            expiration: { type: 'PX', value: lease.lasts },
          });
          isHolder = taken !== null;
          // It may listen already, and has not been writing what it received.
          if (isHolder && direct !== undefined) write(null);
        }
      } catch {
        isHolder = false;
      }
      settle();
      await pause(lease.every);
    }
  }

  const newest = async (): Promise<string> =>
    (await writer.xRevRange(stream, '+', '-', { COUNT: 1 }))?.[0]?.id ?? '0-0';

  /** Whether entries behind `id` were taken out before they were read. */
  async function isTrimmed(id: string): Promise<boolean> {
    const oldest = (await writer.xRange(stream, '-', '+', { COUNT: 1 }))?.[0];
    const [time = 0, number = 0] = id.split('-').map(Number);
    const [oldestTime = 0, oldestNumber = 0] = (oldest?.id ?? '0-0').split('-').map(Number);
    return oldestTime > time || (oldestTime === time && oldestNumber > number);
  }

  async function read(): Promise<void> {
    let last: string | undefined;
    while (!closing.signal.aborted) {
      await paused?.promise;
      try {
        last ??= await newest();
        const found = await reader.xRead({ key: stream, id: last }, { COUNT: reading.count, BLOCK: reading.block });
        const entries = found?.[0]?.messages ?? [];
        if (isAway) {
          isAway = false;
          listeners.notify(null);
          settle();
        }
        // Only who lags behind a full read can have lost some.
        if (entries.length === reading.count && (await isTrimmed(last))) listeners.notify(null);
        for (const { id, message } of entries) {
          for (const change of JSON.parse(message['changes'] ?? '[]') as Entry) listeners.notify(change);
          last = id;
        }
      } catch (error) {
        if (closing.signal.aborted) return;
        last = undefined;
        if (!isAway) onAway((error as Error).message);
        isAway = true;
        settle();
        await pause(lease.every);
      }
    }
  }

  void lead();
  const ended = read();
  return {
    follow: listeners.follow,
    onQueued: listeners.onQueued,
    pause() {
      paused ??= Promise.withResolvers();
      if (isAway) direct?.pause();
    },
    resume() {
      paused?.resolve();
      paused = undefined;
      direct?.resume();
    },
    async close() {
      closing.abort();
      paused?.resolve();
      const listening = direct;
      direct = undefined;
      // The next node listens at once.
      if (isHolder) await writer.eval(release, { keys: [holder], arguments: [me] }).catch(() => {});
      isHolder = false;
      reader.destroy();
      writer.destroy();
      await ended;
      await listening?.close();
    },
  };
}
