/**
 * Distributes database changes to several nodes through Redis: one node listens to the database for all and writes the
 * changes to a stream (https://redis.io/docs/latest/develop/data-types/streams/), which every node reads at its own
 * pace. While Redis is unavailable, each node listens to the database itself.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Listeners, type Change, type Changes, type DatabaseChanges } from '../database/changes.ts';
import type { Redis } from './connection.ts';

/**
 * How long the lease of the listening node lasts without renewal, and how often each node checks it, in milliseconds.
 */
const lease = { lasts: 5_000, every: 1_000 } as const;
/** At most this many entries are kept for nodes that lag behind, and at most this many changes are in one entry. */
const kept = { entries: 10_000, changes: 100 } as const;
/** At most this many changes wait to be written to the stream; further changes wait in the database's queue. */
const most = 10_000;
/** How many entries are read at once, and how long a read waits for entries, in milliseconds. */
const reading = { count: 50, block: 1_000 } as const;

const renewal = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`;
const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

interface SharedChangesOptions {
  /** A connection of its own, as reads block. */
  readonly reader: Redis;
  readonly writer: Redis;
  /** Distinguishes databases that share a Redis, also databases of the same name: see databaseIdentity(). */
  readonly database: string;
  /** Listens to the database itself; reports `null` as soon as it does. */
  readonly listen: () => DatabaseChanges;
  readonly onAway: (reason: string) => void;
}

/** An entry of the stream: an array of changes, in which null means that changes were missed. */
type Entry = readonly (Change | null)[];

/** Starts receiving changes through Redis. */
export function openSharedChanges({ reader, writer, database, listen, onAway }: SharedChangesOptions): Changes {
  const stream = `dealkeep:changes:${database}`;
  const holder = `${stream}:listener`;
  const me = randomUUID();
  const listeners = new Listeners();
  const closing = new AbortController();
  let direct: DatabaseChanges | undefined;
  let isHolder = false;
  let isAway = false;
  /** Whether this node lost the lease because it could not listen: it acquires the lease again only once it listens. */
  let listensFirst = false;
  let paused: PromiseWithResolvers<void> | undefined;
  let unwritten: (Change | null)[] = [];
  let isWriting = false;

  const pause = (millis: number) => wait(millis, undefined, { ref: false, signal: closing.signal }).catch(() => {});

  /**
   * Listens to the database while this node does so for all, Redis is unavailable, or the node has to listen before it
   * acquires the lease.
   */
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
        // The next node that listens reports that changes were missed.
        unwritten = [];
        isHolder = false;
      }
      direct?.resume();
    }
    settle();
  }

  /** Acquires and renews the lease, so that this node listens for all while no other does. */
  async function lead(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        if (isHolder && direct?.isListening() === true) {
          isHolder = (await writer.eval(renewal, { keys: [holder], arguments: [me, String(lease.lasts)] })) === 1;
        } else if (isHolder) {
          // Another node may reach the database that this one does not: the lease expires, unless this node listens
          // before that.
          isHolder = (await writer.get(holder)) === me;
          listensFirst = !isHolder;
        } else if (!listensFirst || direct?.isListening() === true) {
          listensFirst = false;
          const taken = await writer.set(holder, me, {
            condition: 'NX',
            expiration: { type: 'PX', value: lease.lasts },
          });
          isHolder = taken !== null;
          // This node may have listened already, without writing what it received.
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

  /** Whether entries after `id` were trimmed before they were read. */
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
        // Entries can be trimmed unread only if this node lags behind by a full read.
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
      // Lets the next node listen at once.
      if (isHolder) await writer.eval(release, { keys: [holder], arguments: [me] }).catch(() => {});
      isHolder = false;
      reader.destroy();
      writer.destroy();
      await ended;
      await listening?.close();
    },
  };
}
