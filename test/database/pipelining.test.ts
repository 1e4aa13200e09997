/** The guarantees of a run: one transaction, all or nothing, and an identity that ends with it. */

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { Busy, Conflict, Denied, Invalid, Refusal, Unavailable } from '../../server/database/errors.ts';
import { inSmallerPortions, TooMuchAtOnce } from '../../server/database/result-memory.ts';
import { mapped, row, rows, takingLong, type Statement } from '../../server/database/statement.ts';
import {
  backend,
  caller,
  connection,
  countNotes,
  divide,
  echo,
  enter,
  link,
  one,
  open,
  series,
  sleep,
  sql,
  write,
  useSetting,
} from './setting.ts';

useSetting();

describe('one transaction', () => {
  test('every statement is answered in order, even the same one twice', async () => {
    const [first, second, third, none] = await open().together(series(2), one(), series(3), series(0));
    expect([first.length, second, third.map(({ n }) => n), none]).toEqual([2, { answer: 1 }, [1, 2, 3], []]);
  });

  test.each([0, 1, 2, 3])('an error in statement %i rolls everything back', async (place) => {
    const database = open();
    const statements: Statement<unknown>[] = [write(1, 'a'), write(2, 'b'), write(3, 'c')];
    statements.splice(place, 0, divide(0));
    await expect(database.together(...statements)).rejects.toBeInstanceOf(Invalid);
    expect(await countNotes()).toBe(0);
    await database.together(write(1, 'a'), write(2, 'b'));
    expect(await countNotes()).toBe(2);
  });

  test('later statements see the writes of earlier ones, at the same transaction time', async () => {
    const seen = rows<{ at: string }>('t_seen', 'select id, now()::text as at from notes union all select 0, $1');
    const now = mapped(row<{ at: string }>('t_now', 'select now()::text as at')(), (found) => found?.at ?? '');
    const [, at, found] = await open().together(write(1, 'a'), now, seen('then'));
    expect(found.map((note) => note.at)).toEqual([at, 'then']);
  });

  test('a deferred constraint is reported and rolls everything back', async () => {
    const database = open();
    const error = await database.together(write(1, 'a'), link(1, 2), one()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Invalid);
    expect(await countNotes()).toBe(0);
    await database.together(link(1, 2), link(2, 1));
  });

  test.each([true, false])(
    'a statement that depends on the answers runs in the same transaction (prepared: %s)',
    async (prepare) => {
      const database = open({ prepare });
      const begun = mapped(row<{ at: string }>('t_begun', 'select now()::text as at')(), (found) => found?.at ?? '');
      const later = row<{ at: string; n: string }>(
        't_later',
        'select now()::text as at, (select count(*) from notes)::text || $1 as n',
      );
      for (let id = 1; id < 4; id += 1) {
        let first = '';
        const found = await database.followed([write(id, 'a'), begun, series(2)], ([, at, two]) => {
          first = at;
          return later(` of ${two.length}`);
        });
        expect(found).toEqual({ at: first, n: `${id} of 2` });
      }
      expect(await countNotes()).toBe(3);
    },
  );

  test.each([true, false])(
    'an exception while handling the answers rolls everything back (prepared: %s)',
    async (prepare) => {
      const database = open({ prepare });
      const [pid] = await database.together(backend);
      const fault = new Error('Not so.');
      for (const statements of [[write(1, 'a')], [one(), write(1, 'a'), one()]] as const) {
        const next = () => {
          throw fault;
        };
        await expect(database.followed(statements, next)).rejects.toBe(fault);
      }
      // The connection is still usable.
      expect(await database.together(backend)).toEqual([pid]);
      expect(await countNotes()).toBe(0);
    },
  );

  test('an error of a first or a following statement rolls everything back', async () => {
    const database = open();
    let asked = 0;
    await expect(database.followed([write(1, 'a'), divide(0), one()], () => ((asked += 1), one()))).rejects.toThrow(
      Invalid,
    );
    expect(asked).toBe(0);
    await expect(database.followed([write(1, 'a')], () => divide(0))).rejects.toThrow(Invalid);
    await expect(database.followed([write(1, 'a'), link(1, 2)], () => one())).rejects.toThrow(Invalid);
    expect(await database.followed([write(1, 'a')], () => one())).toEqual({ answer: 1 });
    expect(await countNotes()).toBe(1);
  });

  test('a statement that opens its own transaction is rejected, and its connection is not reused', async () => {
    const database = open();
    const pid = await database.run(backend);
    await expect(database.together(row('t_begin', 'begin')(), write(1, 'a'))).rejects.toThrow('leave out begin');
    expect(await database.run(backend)).not.toBe(pid);
    expect(await countNotes()).toBe(0);
  });

  test('every run of a database with a clock starts by setting its time', async () => {
    const time = mapped(
      row<{ at: string }>('t_time', `select current_setting('dealkeep.now') as at`)(),
      (found) => found?.at,
    );
    const database = open({ clock: () => new Date('2031-02-03T04:05:06.007Z') });
    expect(await database.together(time, one())).toEqual(['2031-02-03T04:05:06.007Z', { answer: 1 }]);
  });
});

describe('identity', () => {
  test('ends with the transaction, on success and on failure', async () => {
    const database = open();
    const person = randomUUID();
    expect(await database.together(enter(person), caller)).toEqual([{ enter_as: person }, person]);
    expect(await database.run(caller)).toBeNull();
    await expect(database.together(enter(person), divide(0))).rejects.toBeInstanceOf(Invalid);
    expect(await database.run(caller)).toBeNull();
  });

  test('is required to read or write anything', async () => {
    const database = open();
    const person = randomUUID();
    const mine = rows('t_mine', 'select id from owned');
    const add = row('t_add', 'insert into owned (id, owner) values (1, $1)');
    await expect(database.run(add(person))).rejects.toBeInstanceOf(Denied);
    await database.together(enter(person), add(person));
    expect(await database.run(mine())).toEqual([]);
    expect(await database.together(enter(person), mine())).toEqual([{ enter_as: person }, [{ id: 1 }]]);
    expect(await database.together(enter(randomUUID()), mine()).then(([, found]) => found)).toEqual([]);
  });

  test('is null if forged, left on the session, or replayed', async () => {
    const person = randomUUID();
    const client = new pg.Client(connection());
    await client.connect();
    const ask = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows[0];
    const whoAmI = async () => (await ask('select app.user_id() as id')).id;
    const settings = `select set_config('dealkeep.identity', $1, $3), set_config('dealkeep.seal', $2, $3)`;
    try {
      await client.query('begin');
      await ask('select app.enter_as($1)', [person]);
      expect(await whoAmI()).toBe(person);
      const captured = await ask(
        `select current_setting('dealkeep.identity') as identity, current_setting('dealkeep.seal') as seal`,
      );
      await client.query('commit');

      for (const [identity, seal] of [
        [`${person},,,,`, ''],
        [`${person},,,,`, 'f'.repeat(64)],
        [captured.identity, captured.seal],
      ]) {
        await client.query('begin');
        await ask(settings, [identity, seal, true]);
        expect(await whoAmI()).toBeNull();
        await client.query('commit');
        await ask(settings, [identity, seal, false]);
        expect(await whoAmI()).toBeNull();
      }

      // Settings left on the session neither affect a real identity nor become one.
      const other = randomUUID();
      await client.query('begin');
      await ask('select app.enter_as($1)', [other]);
      expect(await whoAmI()).toBe(other);
      await ask(`select set_config('dealkeep.identity', $1, true)`, [captured.identity]);
      expect(await whoAmI()).toBeNull();
      await client.query('rollback');
      expect(await whoAmI()).toBeNull();
    } finally {
      await client.end();
    }
  });
});

describe('prepared statements', () => {
  test('a statement whose parse failed can be sent again', async () => {
    const database = open();
    const late = row('t_late', 'select id from late');
    for (const statements of [[late()], [one(), late(), divide(2)]]) {
      await expect(database.together(...statements)).rejects.toMatchObject({ code: '42P01' });
    }
    await sql('create table late (id int); grant select on late to dealkeep_server');
    expect(await database.together(one(), late(), divide(2))).toEqual([{ answer: 1 }, null, { answer: 3 }]);
  });

  test('a statement that failed after its parse can be sent again, and is prepared once', async () => {
    const database = open();
    await expect(database.run(divide(0))).rejects.toBeInstanceOf(Invalid);
    const listed = mapped(
      rows<{ name: string }>('t_prepared', `select name from pg_prepared_statements where not name = 't_prepared'`)(),
      (found) => found.map(({ name }) => name),
    );
    const [, , , names] = await database.together(divide(1), divide(2), one(), listed);
    expect(names.toSorted()).toEqual(['t_divide', 't_one']);
  });

  test('are prepared again after a migration changes columns or the session loses them', async () => {
    const database = open({ poolSize: 3 });
    const shape = row('t_shape', 'select * from shapes');
    const everywhere = () => Promise.all([1, 2, 3].map(() => database.together(shape(), sleep(0.05))));
    expect((await everywhere()).map(([found]) => found)).toEqual(Array.from({ length: 3 }, () => ({ id: 1, size: 7 })));
    await sql(`alter table shapes alter size type text using 'seven', add colour text`);
    expect((await everywhere()).map(([found]) => found)).toEqual(
      Array.from({ length: 3 }, () => ({ id: 1, size: 'seven', colour: null })),
    );
    await database.run(row('t_deallocate', 'deallocate all')());
    expect((await everywhere()).length).toBe(3);
  });

  test('have one text for each name', () => {
    expect(() => row('t_one', 'select 2')).toThrow('choose another name');
    expect(() => row('Not snake', 'select 2')).toThrow('snake_case');
  });
});

describe('values', () => {
  test('of a megabyte and lists of ten thousand rows arrive intact', async () => {
    const database = open();
    const long = 'ä\\"\n'.repeat(250_000);
    const bytes = row<{ bytes: Buffer }>('t_bytes', 'select $1::bytea as bytes');
    const random = Buffer.alloc(1_000_000, 'é');
    const [text, found, many] = await database.together(echo(long), bytes(random), series(10_000));
    expect(text?.text === long && found?.bytes.equals(random)).toBe(true);
    expect([many.length, many.at(-1)]).toEqual([10_000, { n: 10_000, text: 'row 10000' }]);
  });

  test('a null byte is rejected, and the connection stays usable', async () => {
    const database = open();
    const pid = await database.run(backend);
    await expect(database.together(write(1, 'a'), echo('a\0b'))).rejects.toBeInstanceOf(Invalid);
    expect([await database.run(backend), await countNotes()]).toEqual([pid, 0]);
  });

  test('a value that cannot be sent opens no connection', async () => {
    const database = open();
    await expect(database.run(echo(new Date(NaN)))).rejects.toThrow('Invalid time value');
    expect(database.connections().total).toBe(0);
  });

  test('a COPY statement is rejected, and the next run succeeds', async () => {
    const database = open();
    const copy = row('t_copy', 'copy pairs from stdin');
    for (const statements of [[copy()], [write(1, 'a'), copy(), one()]]) {
      await expect(database.together(...statements)).rejects.toThrow();
      expect(await database.run(one())).toEqual({ answer: 1 });
    }
    expect(await countNotes()).toBe(0);
  });
});

describe('errors', () => {
  const failing = (name: string, text: string) => open().run(row(name, text)());

  test('have a class for their cause, and reveal nothing about the structure of the database', async () => {
    await sql(`insert into notes values (1, null, 'a')`);
    const cases: [string, new (...args: never[]) => Error][] = [
      [`select app.refuse('too_late', 'The listing has ended.')`, Refusal],
      ['select * from hidden', Denied],
      [`insert into owned values (1, '00000000-0000-7000-8000-000000000000')`, Denied],
      [`insert into notes values (1, null, 'a')`, Conflict],
      ['insert into notes values (2, null, null)', Invalid],
      [`insert into notes values (2, null, repeat('x', 3000000))`, Invalid],
      [`select 'x'::uuid`, Invalid],
      [`do $$ begin raise sqlstate '40P01'; end $$`, Busy],
      [`do $$ begin raise sqlstate '57P01'; end $$`, Unavailable],
    ];
    for (const [index, [text, kind]] of cases.entries()) {
      const error = await failing(`t_failing_${index}`, text).catch((thrown: unknown) => thrown);
      expect(error, text).toBeInstanceOf(kind);
      expect((error as Error).message, text).not.toMatch(/notes|hidden|owned|_check|_pkey|policy|relation|uuid/);
      expect((error as Error).cause, text).toMatchObject({ detail: undefined });
    }
    await expect(failing('t_refused', cases[0]?.[0] ?? '')).rejects.toMatchObject({
      reason: 'too_late',
      message: 'The listing has ended.',
    });
    await expect(failing('t_unfit', cases[5]?.[0] ?? '')).rejects.toMatchObject({ field: 'text' });
  });

  test('a statement that exceeds its time limit is stopped, and its connection is reused', async () => {
    const database = open({ statementMillis: 200 });
    const pid = await database.run(backend);
    await expect(database.together(write(1, 'a'), sleep(5))).rejects.toBeInstanceOf(Busy);
    expect([await database.run(backend), await countNotes()]).toEqual([pid, 0]);
  });

  test('a long-running statement has a higher time limit, also with a pooler, and the next one the usual limit', async () => {
    for (const prepare of [true, false]) {
      const limit = row<{ limit: string }>('t_limit', `select current_setting('statement_timeout') as limit`)();
      const database = open({ statementMillis: 2_000, silenceMillis: 2_500, longMillis: 5_000, prepare });
      const usual = await database.run(limit);
      const [, , during] = await database.together(write(prepare ? 1 : 2, 'a'), takingLong(sleep(2.5)), limit);
      expect([during, await database.run(limit)]).toEqual([{ limit: '5s' }, usual]);
      await expect(database.run(takingLong(sleep(20)))).rejects.toBeInstanceOf(Busy);
    }
    expect(await countNotes()).toBe(2);
  });
});

describe('the memory for results', () => {
  const wide = rows<{ text: string }, [characters: number, count: number]>(
    'wide_rows',
    `select repeat('x', $1) as text from generate_series(1, $2)`,
  );
  const long = 100_000;

  test('has a limit: a larger list is rejected, and can be read in smaller portions', async () => {
    const database = open({ statementMillis: 60_000, silenceMillis: 60_000 });
    await expect(database.run(wide(long, 400))).rejects.toBeInstanceOf(TooMuchAtOnce);
    const asked: number[] = [];
    const read = (count: number) => {
      asked.push(count);
      return database.run(wide(long, count));
    };
    expect(await inSmallerPortions(400, read)).toHaveLength(40);
    expect(asked).toEqual([400, 40]);
    // The memory of these results is no longer counted, and the refused query left its connection usable.
    expect(await database.run(wide(long, 300))).toHaveLength(300);
  });

  test('is shared: small results and a single row of any size are read beside large results', async () => {
    const database = open();
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => database.run(wide(long, 250))));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeLessThan(4);
    const [small, single] = await Promise.all([
      database.run(wide(1_000, 3_000)),
      database.run(wide(40_000_000, 1)),
      database.run(wide(long, 250)).catch(() => null),
    ]);
    expect([small.length, single[0]?.text.length]).toEqual([3_000, 40_000_000]);
  });
});
