/** The command line: defines the commands and runs the requested one. */

import cluster from 'node:cluster';
import { Command } from 'commander';
import about from '../../package.json' with { type: 'json' };
import { isWithoutRoom } from '../lib/full-disk.ts';
import { unlessInterrupted } from '../lib/interruption.ts';
import { reasonOf } from '../lib/reason.ts';
import { addBackups } from './backups.ts';
import { addCommands } from './commands.ts';
import type { DoctorOptions } from './doctor/doctor.ts';

interface Output {
  readonly json?: boolean;
}

/** Runs a command of run.ts, which is imported only then: help does not need it. */
function runs(what: 'serve' | 'demo' | 'migrateOnly') {
  return async (output: Output): Promise<void> => {
    // Workers are started with the same arguments (workers.ts).
    if (cluster.worker) await (await import('./worker.ts')).runWorker(cluster.worker.id);
    else await (await import('./run.ts'))[what](output);
  };
}

const program = new Command('dealkeep')
  .description('Deal management for business brokerages. Configured by environment variables: see README.md.')
  .version(about.version, '--version', 'print the release')
  .configureHelp({ showGlobalOptions: true })
  .helpCommand(false);

program
  .command('serve')
  .description('Run the service. On an empty database it prints a one-time link that creates the first brokerage.')
  .option('--json', 'print the addresses as one line of JSON')
  .action(runs('serve'));

program
  .command('demo')
  .description(
    'Run the service with two demo brokerages, loaded when the database is empty. Sign-ins and keys: DATA_DIR/demo.json.',
  )
  .option('--json', 'print the addresses as one line of JSON')
  .action(runs('demo'));

program
  .command('migrate')
  .description('Bring the database up to date and stop. With DATABASE_URL it needs MIGRATE_DATABASE_URL.')
  .option('--json', 'print the applied files as JSON')
  .action(runs('migrateOnly'));

program
  .command('doctor')
  .description(
    'Check everything that the service needs, and say how to fix what is wrong. Changes nothing. Exit status 0: all is well, 1: warnings, 2: faults, 3: unknown options.',
  )
  // Otherwise the status would be 1, which stands for warnings.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 3))
  .option('--documents', 'read the file of every document, and check its size and digest')
  .option('--json', 'print the findings as JSON')
  .action(async (options: DoctorOptions) => (await import('./doctor/doctor.ts')).doctor(options));

addBackups(program);
addCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  await unlessInterrupted();
  // An expected error is printed as a sentence that says what to change; only an unexpected one with its stack.
  const known = error instanceof Error ? error : new Error(String(error));
  const { name, stack } = known;
  // System errors about a file name the file: a folder that this user may not write to.
  const isOfFile = 'syscall' in known && 'path' in known;
  const foreseen =
    isOfFile || isWithoutRoom(error) || (name !== 'Error' && name !== 'TypeError' && name !== 'SyntaxError');
  process.stderr.write(`${foreseen ? reasonOf(error) : (stack ?? reasonOf(error))}\n`);
  process.exitCode = name === 'ConfigError' ? 2 : 1;
}
