/** The commands backup, restore and verify. */

import { InvalidArgumentError, type Command } from 'commander';
import type { BackupOptions } from './backup.ts';
import type { DestinationOptions } from './backup-destination.ts';
import type { RestoreOptions } from './restore.ts';

const place = ['--place <place>', 'a folder, or s3://bucket/folder; BACKUP_TO by default'] as const;
const keyFile = ['--key-file <file>', 'a file with the key to encrypt with; BACKUP_KEY by default'] as const;
const json = ['--json', 'print the result as JSON'] as const;
const name = ['[name]', 'the name of the backup; the latest by default'] as const;

function howMany(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 9999.');
  return Number(text);
}

/** Adds the commands to `program`; their modules are imported only when they run. */
export function addBackups(program: Command): void {
  program
    .command('backup')
    .description(
      'Back up the database and the documents, even while the service is running. Documents that are already there are not copied again.',
    )
    .option(...place)
    .option(...keyFile)
    .option(
      '--keep <number>',
      'delete all but this many of the latest backups; BACKUP_KEEP by default, unless --place is given',
      howMany,
    )
    .option('--continue', 'take over a place with backups of the database that this one was restored from')
    .option('--scheduled', 'only if the latest backup is older than BACKUP_EVERY; keep BACKUP_KEEP of them')
    .option(...json)
    .action(async (options: BackupOptions) => (await import('./backup.ts')).backup(options));
  program
    .command('restore')
    .description('Restore a backup into an empty database and the store of documents, and compare the two.')
    .argument(...name)
    .option(...place)
    .option(...keyFile)
    .option('--continue', 'take over the store with the documents of the database that was backed up')
    .option(
      '--keep-sessions',
      'leave people signed in and clients connected as when the backup was made, for a move without changes since',
    )
    .option(...json)
    .action(async (given: string | undefined, options: RestoreOptions) =>
      (await import('./restore.ts')).restore(given, options),
    );
  program
    .command('verify')
    .description(
      'Restore a backup into a temporary PostgreSQL, and compare counts and digests. Exit status 0: everything matches.',
    )
    .argument(...name)
    .option(...place)
    .option(...keyFile)
    .option(...json)
    .action(async (given: string | undefined, options: DestinationOptions) =>
      (await import('./verify.ts')).verify(given, options),
    );
}
