/** What the second system keeps, in a file of its own: people under its own ids, a copy of deals, and where it is in step with Dealkeep. */

import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { ContactRecord } from '../typescript/src/index.ts';

/** What both systems know of a person. */
export interface Card {
  readonly type: 'person' | 'company';
  readonly displayName: string;
  readonly email: string | null;
  readonly phone: string | null;
}

export interface Person {
  /** Its own: `day-17`, the `externalId` there. */
  readonly id: string;
  readonly card: Card;
  readonly isArchived: boolean;
  /** The id there; null before it is known. */
  readonly dealkeep: string | null;
  /** What both had when they last agreed; null before. */
  readonly agreed: { readonly card: Card; readonly isArchived: boolean } | null;
  /** Whether the contact there has an external id. */
  readonly isLinked: boolean;
  /** The entity tag of what was agreed; null: it is not known. */
  readonly tag: string | null;
}

/** A change on its way to Dealkeep, kept before it is sent: after a crash the same is sent again, under the same idempotency key. */
export interface Sending {
  readonly key: string;
  readonly kind: 'create' | 'change' | 'archive' | 'restore';
  readonly people: readonly string[];
  readonly body: unknown;
  readonly tag: string | null;
}

interface Row {
  nr: number;
  card: string;
  archived: number;
  dealkeep: string | null;
  agreed: string | null;
  agreed_archived: number;
  linked: number;
  tag: string | null;
}

const tables = `
  pragma journal_mode = wal;
  create table if not exists people (nr integer primary key autoincrement, card text not null, archived integer not null default 0, dealkeep text unique,
    agreed text, agreed_archived integer not null default 0, linked integer not null default 0, tag text);
  create table if not exists sending (one integer primary key check (one = 1), what text not null);
  create table if not exists noted (name text primary key, value text not null);
  create table if not exists deals (id text primary key, copy text, is_stale integer not null default 1);
  create table if not exists received (nr integer primary key autoincrement, id text not null unique, type text not null, object_id text not null);
`;

/** The fields of a contact that both systems keep. */
export const cardOf = ({ type, displayName, email, phone }: Card): Card => ({ type, displayName, email, phone });

const personOf = (row: Row): Person => ({
  id: `day-${row.nr}`,
  card: JSON.parse(row.card) as Card,
  isArchived: row.archived === 1,
  dealkeep: row.dealkeep,
  agreed: row.agreed === null ? null : { card: JSON.parse(row.agreed) as Card, isArchived: row.agreed_archived === 1 },
  isLinked: row.linked === 1,
  tag: row.tag,
});

const nrOf = (id: string): number => Number(id.slice('day-'.length));

/** What a person there changed since both agreed wins; the rest is as it is here. */
function merged(agreed: Card, here: Card, there: Card): Card {
  const pick = <Name extends keyof Card>(name: Name): Card[Name] =>
    there[name] === agreed[name] ? here[name] : there[name];
  return { type: pick('type'), displayName: pick('displayName'), email: pick('email'), phone: pick('phone') };
}

export type Store = ReturnType<typeof openStore>;

/** Opens the file, which several processes may have open. */
export function openStore(file: string) {
  const db = new DatabaseSync(file, { timeout: 60_000 });
  db.exec(tables);
  const all = <T>(text: string, ...values: SQLInputValue[]): T[] => db.prepare(text).all(...values) as T[];
  const run = (text: string, ...values: SQLInputValue[]): void => void db.prepare(text).run(...values);
  const rowOf = (id: string) => all<Row>('select * from people where nr = ?', nrOf(id))[0];

  /** Does all of it or nothing, with nobody else between. */
  function together<T>(work: () => T): T {
    db.exec('begin immediate');
    try {
      const result = work();
      db.exec('commit');
      return result;
    } catch (error) {
      db.exec('rollback');
      throw error;
    }
  }

  /** Takes over a contact as it is there; a new person gets an id of this system. */
  function take(there: ContactRecord, tag: string | null): void {
    const nrThere = /^day-\d+$/.test(there.externalId ?? '') ? nrOf(there.externalId ?? '') : -1;
    const row =
      all<Row>('select * from people where dealkeep = ?', there.id)[0] ??
      all<Row>('select * from people where nr = ? and dealkeep is null', nrThere)[0];
    const card = JSON.stringify(cardOf(there));
    const archived = there.archivedAt === null ? 0 : 1;
    const linked = there.externalId === null ? 0 : 1;
    if (row === undefined) {
      run(
        'insert into people (card, archived, dealkeep, agreed, agreed_archived, linked, tag) values (?, ?, ?, ?, ?, ?, ?)',
        card,
        archived,
        there.id,
        card,
        archived,
        linked,
        tag,
      );
      return;
    }
    const here = JSON.parse(row.card) as Card;
    const agreed = row.agreed === null ? here : (JSON.parse(row.agreed) as Card);
    run(
      'update people set card = ?, archived = ?, dealkeep = ?, agreed = ?, agreed_archived = ?, linked = ?, tag = ? where nr = ?',
      JSON.stringify(merged(agreed, here, cardOf(there))),
      archived === row.agreed_archived ? row.archived : archived,
      there.id,
      card,
      archived,
      linked,
      tag,
      row.nr,
    );
  }

  return {
    together,
    take,
    people: (): Person[] => all<Row>('select * from people order by nr').map(personOf),
    person: (id: string): Person | undefined => {
      const row = rowOf(id);
      return row && personOf(row);
    },
    /** Adds a person at this system; their id. */
    add(card: Card): string {
      const { lastInsertRowid } = db.prepare('insert into people (card) values (?)').run(JSON.stringify(cardOf(card)));
      return `day-${lastInsertRowid}`;
    },
    /** Changes a person at this system. */
    change(id: string, changes: Partial<Card>): void {
      together(() => {
        const row = rowOf(id);
        if (row)
          run(
            'update people set card = ? where nr = ?',
            JSON.stringify({ ...(JSON.parse(row.card) as Card), ...changes }),
            row.nr,
          );
      });
    },
    archive: (id: string): void => run('update people set archived = 1 where nr = ?', nrOf(id)),
    /** Those of whom Dealkeep does not know, and those who are not there as they are here. */
    waiting: (): Person[] =>
      all<Row>(
        `select * from people where dealkeep is null or archived <> agreed_archived or (agreed_archived = 0 and (card <> agreed or linked = 0))
         order by dealkeep is not null, nr limit 50`,
      ).map(personOf),
    /** After a change was refused: what is there is to be read first. */
    forgetTag: (id: string): void => run('update people set tag = null where nr = ?', nrOf(id)),
    /** Notes as agreed what was answered to a change of a person: their card here may have changed again meanwhile. */
    agree(id: string, there: ContactRecord, tag: string | null): void {
      run(
        'update people set dealkeep = ?, agreed = ?, agreed_archived = ?, linked = ?, tag = ? where nr = ?',
        there.id,
        JSON.stringify(cardOf(there)),
        there.archivedAt === null ? 0 : 1,
        there.externalId === null ? 0 : 1,
        tag,
        nrOf(id),
      );
    },
    sending(): Sending | null {
      const [row] = all<{ what: string }>('select what from sending');
      return row ? (JSON.parse(row.what) as Sending) : null;
    },
    send: (sending: Sending): void => run('insert into sending values (1, ?)', JSON.stringify(sending)),
    sent: (): void => run('delete from sending'),
    noted(name: string): string | undefined {
      return all<{ value: string }>('select value from noted where name = ?', name)[0]?.value;
    },
    note: (name: string, value: string): void =>
      run('insert into noted values (?, ?) on conflict (name) do update set value = excluded.value', name, value),
    /** A deal that is to be read again. */
    stale: (id: string): void =>
      run('insert into deals (id) values (?) on conflict (id) do update set is_stale = 1', id),
    staleDeals: (): string[] => all<{ id: string }>('select id from deals where is_stale = 1').map(({ id }) => id),
    /** Keeps a deal as it is there; null: it is not there any more. */
    copy: (id: string, copy: unknown): void =>
      copy === null
        ? run('delete from deals where id = ?', id)
        : run('update deals set copy = ?, is_stale = 0 where id = ?', JSON.stringify(copy), id),
    copies: (): Map<string, unknown> =>
      new Map(
        all<{ id: string; copy: string | null }>('select id, copy from deals order by id').map(({ id, copy }) => [
          id,
          copy === null ? null : (JSON.parse(copy) as unknown),
        ]),
      ),
    /** Keeps what a webhook brought; false when it had come before. */
    receive: (id: string, type: string, objectId: string): boolean =>
      db.prepare('insert or ignore into received (id, type, object_id) values (?, ?, ?)').run(id, type, objectId)
        .changes > 0,
    received: (): { id: string; type: string; object_id: string }[] =>
      all('select id, type, object_id from received order by nr'),
    close: (): void => db.close(),
  };
}
