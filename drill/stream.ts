/**
 * Concurrent transactions that change contacts for longer or shorter, some of them rolled back, and concurrent readers
 * of the stream of changes: no change is missing or duplicated, and each contact's changes come in the order in which
 * they were committed.
 */

import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase, type Database } from '../server/database/database.ts';
import { apiKeyDigest, enterWithApiKey } from '../server/domain/clients/api-keys.ts';
import { changesAfter, publishChanges, type ChangeEvent } from '../server/domain/events/changes.ts';

export interface StreamOptions {
  /** Logins to the database: the owner, who writes, and the server, which reads. */
  readonly owner: pg.ClientConfig;
  readonly server: pg.ClientConfig;
  readonly brokerage: string;
  /** The token of a key of that brokerage which can read contacts. */
  readonly token: string;
  /** At least this many changes are committed. */
  readonly changes: number;
  readonly writers?: number;
  readonly readers?: number;
  /**
   * Reads a page after a cursor, or with null returns the current end of the stream; optional, defaults to
   * {@link storedPages}.
   */
  readonly pages?: ReadPage;
  /** Milliseconds that a long transaction is idle between two statements, at most; optional, defaults to 400. */
  readonly longest?: number;
}

/** A page of the stream, and the cursor to continue from. */
export type ReadPage = (
  after: string | null,
  most: number,
) => Promise<{ readonly events: readonly ChangeEvent[]; readonly next: string }>;

/** Pages from GET /api/v1/events of a service. */
export const pagesOf =
  (origin: string, token: string): ReadPage =>
  async (after, most) => {
    const query = new URLSearchParams({ after: after ?? 'latest', limit: String(most) });
    const answer = await fetch(`${origin}/api/v1/events?${query}`, { headers: { Authorization: `Bearer ${token}` } });
    if (answer.status !== 200) throw new Error(`GET /events answered ${answer.status}: ${await answer.text()}`);
    const { data, pagination } = (await answer.json()) as {
      data: ChangeEvent[];
      pagination: { nextCursor: string };
    };
    return { events: data, next: pagination.nextCursor };
  };

/** Pages from the functions of the database for a key, each in one transaction. */
const storedPages =
  (database: Database, token: string): ReadPage =>
  async (after, most) => {
    const digest = apiKeyDigest(token)!;
    const [, { events, reached }] = await database.together(enterWithApiKey(digest), changesAfter(after, most, null));
    return { events, next: events.at(-1)?.seq ?? reached.seq };
  };

export interface Followed {
  /** Numbers of changes that were committed and that were rolled back. */
  readonly committed: number;
  readonly rolledBack: number;
  readonly transactions: number;
  readonly publications: number;
  /** A sentence for each error in what a reader read; empty when there is none. */
  readonly faults: readonly string[];
}

const contacts = 200;

/**
 * The type of a contact's change depends on how often the contact was changed before, so the types of its events show
 * their order.
 */
const kinds = ['contact.updated', 'contact.archived', 'contact.updated', 'contact.restored'] as const;
const change = `with locked as (select l.id from contacts l where l.id = any ($1::uuid[]) order by l.id for no key update)
  update contacts c set phone = (c.phone::int + 1)::text,
    archived_at = case c.phone::int % 4 when 1 then app.now() when 3 then null else c.archived_at end
  from locked where c.id = locked.id returning c.id`;

/** Pseudo-random numbers that are the same in every run. */
function dice(seed: string): (sides: number) => number {
  let thrown = 0;
  return (sides) => hash('sha256', `${seed} ${(thrown += 1)}`, 'buffer').readUInt32BE(0) % sides;
}

async function connected(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  await client.connect();
  return client;
}

/**
 * The errors in what a reader read, which must include every change of the `expected` contacts (with how often each was
 * changed).
 */
function faultsOf(reader: number, events: readonly ChangeEvent[], expected: ReadonlyMap<string, number>) {
  const faults: string[] = [];
  const ids = new Set(events.map(({ id }) => id));
  if (ids.size !== events.length) faults.push(`Reader ${reader} read ${events.length - ids.size} changes twice.`);
  const read = Map.groupBy(events, ({ objectId }) => objectId);
  for (const [id, count] of expected) {
    const types = (read.get(id) ?? []).map(({ type }) => type);
    const right = ['contact.created', ...Array.from({ length: count }, (_, nth) => kinds[nth % 4])];
    if (types.length !== right.length)
      faults.push(`Reader ${reader} read ${types.length} of ${right.length} changes of ${id}.`);
    else if (types.join() !== right.join()) faults.push(`Reader ${reader} read the changes of ${id} in another order.`);
  }
  return faults;
}

/**
 * Makes changes and reads them; returns what was read wrongly. Nobody else may change contacts of the brokerage
 * meanwhile.
 */
export async function followStream(options: StreamOptions): Promise<Followed> {
  const { owner, server, brokerage, token, changes, writers = 12, readers = 3, longest = 400 } = options;
  const database: Database = openDatabase({ connection: server, poolSize: readers + 2 });
  const first = await connected(owner);
  const read = options.pages ?? storedPages(database, token);
  const begin = (await read(null, 1)).next;
  const { rows: made } = await first.query<{ id: string }>(
    `insert into contacts (brokerage_id, type, display_name, phone)
     select $1, 'person', 'Contact ' || n, '0' from generate_series(1, ${contacts}) n returning id`,
    [brokerage],
  );
  const ids = made.map(({ id }) => id).toSorted();
  const expected = new Map(ids.map((id) => [id, 0]));
  let [committed, rolledBack, transactions, publications] = [0, 0, 0, 0];
  const over = new AbortController();

  async function write(writer: number): Promise<void> {
    const throwOf = dice(`writer ${writer}`);
    const client = await connected(owner);
    for (let nth = 0; committed < changes; nth += 1) {
      const isLong = writer % 4 === 0;
      // In order of their ids, so that no two transactions deadlock.
      const chosen = [...new Set(Array.from({ length: 1 + throwOf(isLong ? 8 : 40) }, () => throwOf(contacts)))];
      const some = chosen.toSorted((a, b) => a - b).map((place) => ids[place]!);
      const ends = throwOf(10) === 0 ? 'rollback' : 'commit';
      const changed: string[] = [];
      await client.query('begin');
      // Every other transaction changes all in one statement, the others one by one.
      const parts = nth % 2 === 0 ? [some] : some.map((id) => [id]);
      for (const part of parts) {
        changed.push(...(await client.query<{ id: string }>(change, [part])).rows.map(({ id }) => id));
        if (isLong && throwOf(3) === 0) await pause(throwOf(longest));
      }
      await client.query(ends);
      transactions += 1;
      if (ends === 'rollback') {
        rolledBack += changed.length;
        continue;
      }
      committed += changed.length;
      for (const id of changed) expected.set(id, expected.get(id)! + 1);
    }
    await client.end();
  }

  async function publish(): Promise<void> {
    while (!over.signal.aborted) {
      const { moved } = await database.run(publishChanges());
      if (moved) publications += 1;
      await pause(5);
    }
  }

  async function follow(reader: number): Promise<ChangeEvent[]> {
    const throwOf = dice(`reader ${reader}`);
    const events: ChangeEvent[] = [];
    let place = begin;
    for (;;) {
      const wasOver = over.signal.aborted;
      const page = await read(place, 1 + throwOf(200));
      events.push(...page.events);
      place = page.next;
      if (page.events.length > 0) continue;
      if (wasOver) return events;
      await pause(throwOf(20));
    }
  }

  /** Publishes until all that was committed is published: other transactions of the cluster may still be writing. */
  async function publishAll(): Promise<void> {
    for (;;) {
      const { moved, waits } = await database.run(publishChanges());
      if (!moved && !waits) return;
      if (waits) await pause(20);
    }
  }

  const publishing = Promise.allSettled([publish(), publish()]);
  const following = Promise.allSettled(Array.from({ length: readers }, (_, reader) => follow(reader)));
  const written = await Promise.allSettled(Array.from({ length: writers }, (_, writer) => write(writer)));
  const published = await Promise.allSettled([publishAll()]);
  over.abort();
  const ends = [...written, ...published, ...(await publishing), ...(await following)];
  await first.end();
  await database.close();
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
  const found = (await following).flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  const faults = found.flatMap((events, reader) => faultsOf(reader, events, expected));
  return { committed, rolledBack, transactions, publications, faults };
}
