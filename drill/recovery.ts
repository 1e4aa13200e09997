/**
 * Point-in-time recovery of a self-run PostgreSQL, with the commands of docs/recovery.md: archive the log, copy the
 * data, write on, lose everything, and restore the state just before a mistake.
 */

import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { freePort } from '../bench/free-port.ts';
import { loadDemo } from '../database/demo/load.ts';
import { command, spawnOptions } from '../server/database/cluster.ts';
import { migrate } from '../server/database/migrate.ts';
import { preparedHome } from '../server/database/postgres-home.ts';
import type { Drill } from './drill.ts';
import { ask, debianEngine } from './postgres.ts';

/** The statements that the page has run in the recovered database. */
function lastStep(): string[] {
  const page = readFileSync(new URL('../docs/recovery.md', import.meta.url), 'utf8');
  const statements = page.match(/^ {7}(?:update|delete from) vault\..+;$/gm) ?? [];
  if (statements.length < 2) throw new Error('docs/recovery.md has no statements for the recovered database.');
  return statements;
}

async function run(directory: string, say: (line: string) => void): Promise<boolean> {
  chmodSync(directory, 0o711);
  const home = preparedHome(directory, debianEngine() ?? '');
  const port = await freePort();
  const at = (name: string) => path.join(home.directory, name);
  const [data, archive, base, restored] = [at('data'), at('archive'), at('base'), at('restored')];
  mkdirSync(archive, { mode: 0o700 });
  if (home.user) chownSync(archive, home.user.uid, home.user.gid);

  const tool = (program: string, ...args: string[]) => {
    const [file, rest] = command(home, program, args);
    const { status, stderr } = spawnSync(file, rest, { encoding: 'utf8', timeout: 120_000, ...spawnOptions(home) });
    if (status !== 0) throw new Error(`${program}: ${stderr}`);
  };
  const start = (place: string) => tool('pg_ctl', '-D', place, '-l', at('log'), '-w', 'start');
  const stop = (place: string, how: string) => tool('pg_ctl', '-D', place, '-m', how, 'stop');
  const owner: pg.ClientConfig = { host: home.directory, port, user: 'postgres', database: 'postgres' };

  // As in Debian's cluster, TCP asks for a password, and the socket does not.
  const access = ['--auth-host=scram-sha-256', '--auth-local=trust'];
  tool('initdb', '-D', data, '-U', 'postgres', ...access, '--encoding=UTF8', '--locale=C.UTF-8');
  const settings = [
    `port = ${port}`,
    `listen_addresses = '127.0.0.1'`,
    `unix_socket_directories = '${home.directory}'`,
    `archive_mode = on`,
    `archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f'`,
    `archive_timeout = 60`,
  ];
  appendFileSync(path.join(data, 'postgresql.conf'), `${settings.join('\n')}\n`);
  start(data);
  let running = data;
  try {
    await migrate(owner);
    await loadDemo(owner);
    // The second copy replaces the first.
    for (const _ of ['first', 'second']) {
      const copy = at('base.new');
      tool(
        'pg_basebackup',
        '-h',
        home.directory,
        '-p',
        String(port),
        '-U',
        'postgres',
        '-D',
        copy,
        '--checkpoint=fast',
      );
      tool('pg_verifybackup', copy);
      rmSync(base, { recursive: true, force: true });
      renameSync(copy, base);
    }
    say('copied the data twice while it is served, and verified the copies');

    const contact = `insert into contacts (brokerage_id, type, display_name) select id, 'person', '%' from brokerages limit 1`;
    await ask(owner, `${contact.replace('%', 'Before the mistake')} returning 1`);
    const history = `select history::text from vault.change_stream`;
    const before = await ask(owner, history);
    const moment = String(await ask(owner, `select clock_timestamp()::text`));
    await ask(owner, 'select pg_sleep(0.1)');
    await ask(
      owner,
      `with gone as (delete from contacts where display_name = 'Before the mistake' returning 1) select 1`,
    );
    await ask(owner, 'select pg_switch_wal()');
    const archived = `select last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) from pg_stat_archiver`;
    for (const giveUp = Date.now() + 30_000; (await ask(owner, archived)) !== true;) {
      if (Date.now() > giveUp) throw new Error('The log was not archived.');
      await ask(owner, 'select pg_sleep(0.1)');
    }
    stop(data, 'immediate');
    say(`lost the server after a mistake; bringing back ${moment}`);

    spawnSync('cp', ['-a', base, restored]);
    const recovery = [
      `restore_command = 'cp ${archive}/%f %p'`,
      `recovery_target_time = '${moment}'`,
      `recovery_target_action = 'promote'`,
    ];
    appendFileSync(path.join(restored, 'postgresql.auto.conf'), `${recovery.join('\n')}\n`);
    const [touch, touchArgs] = ['touch', [path.join(restored, 'recovery.signal')]];
    spawnSync(touch, touchArgs, spawnOptions(home));
    start(restored);
    running = restored;
    for (const giveUp = Date.now() + 30_000; (await ask(owner, 'select pg_is_in_recovery()')) !== false;)
      if (Date.now() > giveUp) throw new Error('The recovery did not end.');
    const found = await ask(owner, `select count(*)::int from contacts where display_name = 'Before the mistake'`);
    say(`${String(found)} of 1 contacts of the moment before the mistake is there`);
    for (const statement of lastStep()) await ask(owner, statement);
    const isAnew = (await ask(owner, history)) !== before;
    say(isAnew ? 'cursors from before are told that they have expired' : 'cursors from before are still taken');
    return found === 1 && isAnew;
  } finally {
    stop(running, 'immediate');
  }
}

export const recovery: Drill = {
  title: 'Bring a PostgreSQL back to the moment before a mistake',
  needs: ['cp'],
  missing: () => (debianEngine() === null ? 'There is no PostgreSQL of Debian here' : null),
  run,
};
