/** Connections: under load, when they break, and behind a pooler. */

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Busy, Invalid, NotWritable, Unavailable } from '../../server/database/errors.ts';
import { entering, row } from '../../server/database/statement.ts';
import { locksWaited } from '../locks.ts';
import { startNetwork, startPooler } from './network.ts';
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
  ownerConnection,
  series,
  sleep,
  sql,
  write,
  useSetting,
} from './setting.ts';

useSetting();

describe('under load', () => {
  test('64 callers, a quarter of whose runs fail, leak no rows, identities or connections', async () => {
    const database = open({ poolSize: 8 });
    const insert = row('t_storm_insert', 'insert into notes (id, text) values ($1, $2)');
    const wrong = [divide(0), echo('\0'), row('t_storm_syntax', 'selec 1')(), link(1, -1)];
    let kept = 0;
    const callers = Array.from({ length: 64 }, async (_, number) => {
      const person = randomUUID();
      for (let turn = 0; turn < 25; turn += 1) {
        const id = number * 100 + turn;
        const fault = wrong[Math.floor(Math.random() * 16)];
        const run = database.together(enter(person), insert(id, 'x'), caller, fault ?? one(), caller, echo(`${id}`));
        if (fault) {
          await expect(run).rejects.toThrow();
          expect(await database.run(caller)).toBeNull();
        } else {
          const [, , before, , after, echoed] = await run;
          expect([before, after, echoed?.text]).toEqual([person, person, `${id}`]);
          kept += 1;
        }
      }
    });
    await Promise.all(callers);
    expect(await countNotes()).toBe(kept);
    expect(await sql('select count(distinct author)::int from notes')).toEqual([{ count: 64 }]);
    expect(database.connections()).toEqual({ total: 8, idle: 8, waiting: 0 });
  });

  test('a request that waits too long for a connection is rejected', async () => {
    const database = open({ waitMillis: 100 });
    const busy = database.run(sleep(0.5));
    await expect(database.run(one())).rejects.toBeInstanceOf(Busy);
    await busy;
    expect(await database.run(one())).toEqual({ answer: 1 });
  });
});

test('JIT is off on connections without a pooler, whatever the setting of the database', async () => {
  const [{ name } = {}] = await sql('select quote_ident(current_database()) as name');
  await sql(`alter database ${String(name)} set jit = on`);
  onTestFinished(async () => void (await sql(`alter database ${String(name)} reset jit`)));
  const compiles = row<{ jit: string }>('t_jit', `select current_setting('jit') as jit`)();
  expect(await open({ prepare: false }).run(compiles)).toEqual({ jit: 'on' });
  expect(await open().run(compiles)).toEqual({ jit: 'off' });
});

test('one credential uses at most half of the connections, and one set of statements at most four fifths', async () => {
  const database = open({ poolSize: 10 });
  const lock = (nth: number) => row(`t_wait_${nth}`, 'select pg_advisory_xact_lock(9)')();
  const owner = new pg.Client(ownerConnection());
  await owner.connect();
  onTestFinished(() => owner.end());
  const held = () => locksWaited({ sql });
  const [greedy, modest] = [Buffer.from('greedy'), Buffer.from('modest')];
  const kinds: Record<string, [number, (nth: number) => Promise<unknown>]> = {
    'one credential': [5, (nth) => database.run(entering(greedy, lock(nth)))],
    'the same statements': [8, (nth) => database.run(entering(Buffer.from(`${nth}`), lock(100)))],
  };
  for (const [kind, [most, send]] of Object.entries(kinds)) {
    await owner.query('select pg_advisory_lock(9)');
    const runs = Array.from({ length: 9 }, (_, nth) => send(nth));
    await expect.poll(held, { message: kind }).toBe(most);
    expect(await database.run(entering(modest, one()))).toEqual({ answer: 1 });
    expect(database.connections().waiting).toBe(9 - most);
    await owner.query('select pg_advisory_unlock(9)');
    await Promise.all(runs);
  }
});

describe('a connection that breaks', () => {
  const kill = row('t_kill', 'select pg_terminate_backend($1)');
  const terminate = (pid: number | undefined) => open().run(kill(pid));

  test('during a run fails it as unavailable, writes nothing, and is replaced for the next run', async () => {
    const database = open();
    const pid = await database.run(backend);
    const run = database.together(write(1, 'a'), sleep(30));
    const settled = expect(run).rejects.toBeInstanceOf(Unavailable);
    await terminate(pid);
    await settled;
    expect(await database.run(backend)).not.toBe(pid);
    expect(await countNotes()).toBe(0);
  });

  test('while it is idle is logged once and replaced', async () => {
    const lost: Error[] = [];
    const gone = Promise.withResolvers<void>();
    const database = open({ onConnectionLost: (error) => (lost.push(error), gone.resolve()) });
    await terminate(await database.run(backend));
    await gone.promise;
    expect(await database.run(one())).toEqual({ answer: 1 });
    expect(lost.length).toBe(1);
  });

  test('during a response fails the run as unavailable, and the next run succeeds', async () => {
    const network = await startNetwork(connection());
    onTestFinished(network.stop);
    const database = open({ connection: network.connection });
    await database.run(one());
    network.state.breakAfter = 50_000;
    await expect(database.run(series(20_000))).rejects.toBeInstanceOf(Unavailable);
    network.state.breakAfter = Infinity;
    expect((await database.run(series(20_000))).length).toBe(20_000);
  });

  test('by falling silent fails the run as unavailable, and the next run succeeds', async () => {
    const network = await startNetwork(connection());
    onTestFinished(network.stop);
    const database = open({ connection: network.connection, silenceMillis: 2_000 });
    await database.run(one());
    network.state.silent = true;
    await expect(database.run(one())).rejects.toBeInstanceOf(Unavailable);
    network.state.silent = false;
    expect(await database.run(one())).toEqual({ answer: 1 });
  });

  test('because the primary was demoted closes all connections, and the next write is on a new one', async () => {
    const lost: string[] = [];
    const database = open({ poolSize: 3, onConnectionLost: ({ message }) => lost.push(message) });
    const demote = row('t_demote', `select set_config('default_transaction_read_only', 'on', false)`);
    // Each holds its connection until the others have theirs.
    const others = [[], [one()], [one(), one()]];
    await Promise.all(others.map((more) => database.together(sleep(0.3), demote(), ...more)));
    expect(database.connections().total).toBe(3);
    await expect(database.run(write(1, 'a'))).rejects.toBeInstanceOf(NotWritable);
    await Promise.all([2, 3, 4, 5, 6].map((id) => database.run(write(id, 'a'))));
    expect(await countNotes()).toBe(5);
    expect(lost).toEqual(['The server no longer accepts writes: it was demoted. Its connections are closed.']);
  });

  test('or cannot be opened fails the run as unavailable', async () => {
    const network = await startNetwork(connection());
    await network.stop();
    await expect(open({ connection: network.connection }).run(one())).rejects.toBeInstanceOf(Unavailable);
    const stranger = { ...connection(), user: 'stranger' };
    await expect(open({ connection: stranger }).run(one())).rejects.toBeInstanceOf(Unavailable);
  });

  test('closing the pool waits for the runs in progress', async () => {
    const database = open();
    const run = database.run(sleep(0.2));
    await database.run(one());
    await Promise.all([run, database.close(), database.close()]);
    await expect(database.run(one())).rejects.toBeInstanceOf(Unavailable);
  });
});

const pooler = spawnSync('pgbouncer', ['--version']).status === 0;
if (!pooler) console.warn('There is no pgbouncer here: the tests behind a transaction-mode pooler are left out.');

describe.skipIf(!pooler)('behind PgBouncer in transaction mode', () => {
  test('runs keep their transaction and identity while 16 connections share two', async () => {
    const bouncer = await startPooler(connection());
    onTestFinished(bouncer.stop);
    const database = open({ connection: bouncer.connection, prepare: false, poolSize: 16, waitMillis: 60_000 });
    const wrong = [divide(0), echo('\0'), link(1, -1)];
    const pids = new Set<number | undefined>();
    let kept = 0;
    await Promise.all(
      Array.from({ length: 32 }, async (_, number) => {
        const person = randomUUID();
        for (let turn = 0; turn < 20; turn += 1) {
          const fault = wrong[Math.floor(Math.random() * 12)];
          const run = database.together(
            enter(person),
            write(number * 100 + turn, 'x'),
            backend,
            fault ?? series(3),
            caller,
          );
          if (fault) {
            await expect(run).rejects.toBeInstanceOf(Invalid);
            expect(await database.run(caller)).toBeNull();
          } else {
            const [, , pid, found, who] = await run;
            pids.add(pid);
            expect([found, who]).toEqual([expect.objectContaining({ length: 3 }), person]);
            kept += 1;
          }
        }
      }),
    );
    expect([await countNotes(), pids.size]).toEqual([kept, 2]);
  });
});
