/** The operator's commands that show and change data, such as keys, users and brokerages, on the owner's connection. */

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type * as Administration from '../domain/accounts/administration.ts';
import type { HoldKind } from '../domain/accounts/erasure.ts';
import { keyEnvironments, type KeyEnvironment } from '../domain/clients/api-keys.ts';
import { keyScopes, type KeyScope } from '../domain/clients/key-scopes.ts';
import { lengths } from '../domain/lengths.ts';
import { lifetimes } from '../domain/lifetimes.ts';
import { memberRoles } from '../domain/people/member-roles.ts';
import { invitationUrl } from '../http/links.ts';
import { plural } from '../lib/plural.ts';
import {
  brokerage,
  command,
  emailAddress,
  fitting,
  futureTime,
  json,
  lineUpTo,
  properName,
  scopeList,
  wholeNumber,
} from './command.ts';

interface KeyOptions {
  json?: boolean;
  brokerage: string;
  name: string;
  environment: KeyEnvironment;
  scopes: KeyScope[];
  ceiling?: number;
  expires?: Date;
  admin?: string;
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys of a brokerage.');
  keys
    .command('create')
    .description('Create a key. Its token is printed once and not kept.')
    .requiredOption(...brokerage)
    .requiredOption('--name <name>', 'what the key is for', lineUpTo(lengths.api_keys.name))
    .option(
      '--scopes <scopes>',
      `what it may do, a list of: ${keyScopes.join(', ')}`,
      scopeList,
      scopeList('contacts:read,contacts:write'),
    )
    .addOption(
      new Option('--environment <environment>', 'what it is meant for').choices(keyEnvironments).default('live'),
    )
    .option('--ceiling <requests>', 'requests a minute, instead of the general limit', wholeNumber)
    .option('--expires <time>', 'when it stops working', futureTime)
    .option(
      '--admin <email>',
      'the admin on whose behalf it works; the first one by default, with a second factor where the brokerage requires one',
    )
    .option(...json)
    .action(
      command(
        ({ do: { createKey }, client }, { ceiling, expires, admin, ...rest }: KeyOptions) =>
          createKey(client, { ...rest, ceiling: ceiling ?? null, expiresAt: expires ?? null, admin: admin ?? null }),
        ({ id, token }) => `Key ${id}. Its token is shown only once:\n${token}`,
      ),
    );
  keys
    .command('list')
    .description('List the keys of a brokerage, newest first.')
    .requiredOption(...brokerage)
    .option(...json)
    .action(
      command(
        ({ do: { listKeys }, client }, options: { json?: boolean; brokerage: string }) =>
          listKeys(client, options.brokerage),
        (found) =>
          found
            .map(
              (key) =>
                `${key.id}  ${key.state.padEnd(7)}  dk_${key.environment}_…${key.last_four}  ${key.scopes.join(' ')}  ${key.name}`,
            )
            .join('\n') || 'This brokerage has no keys.',
      ),
    );
  keys
    .command('revoke')
    .description('Revoke a key: its next request is refused.')
    .argument('<id>', 'the id of the key')
    .option(...json)
    .action((id: string, options: { json?: boolean }) =>
      command(
        ({ do: { revokeKey }, client }) => revokeKey(client, id),
        () => `Key ${id} is revoked.`,
      )(options),
    );
}

interface UserOptions extends Administration.NewUser {
  json?: boolean;
}

function addUsers(program: Command): void {
  const users = program.command('users').description('People.');
  users
    .command('create')
    .description('Invite a person to a brokerage. Prints the one-time link by which they choose a password.')
    .requiredOption('--email <email>', 'their address', emailAddress)
    .requiredOption('--name <name>', 'their name', properName)
    .requiredOption(...brokerage)
    .addOption(new Option('--role <role>', 'their role').choices(memberRoles).makeOptionMandatory())
    .option(...json)
    .action(
      command(
        async ({ do: { createUser }, client, config }, options: UserOptions) => {
          const { token, ...user } = await createUser(client, options);
          return { ...user, invitation_url: invitationUrl(config.baseUrl, token) };
        },
        ({ email, invitation_url }) =>
          `${email} is invited. The link works once, for ${lifetimes.invitation}:\n${invitation_url}`,
      ),
    );
  const suspension = (name: string, description: string, suspended: boolean, words: string) =>
    users
      .command(name)
      .description(description)
      .argument('<email>', 'their address', emailAddress)
      .option(...json)
      .action((given: string, options: { json?: boolean }) =>
        command(
          ({ do: { suspendUser }, client }) => suspendUser(client, given, suspended),
          ({ email }) => `${email} ${words}`,
        )(options),
      );
  suspension(
    'suspend',
    'Suspend a person: their sessions and connected clients end at once, and the API keys that they created or last rotated stop working. Webhooks that they added are turned off.',
    true,
    'is suspended and signed out everywhere. Connected clients are disconnected; API keys that they created or last rotated are refused. Webhooks that they added are turned off until an admin turns them on.',
  );
  suspension(
    'restore',
    'End the suspension of a person: they can sign in and connect their clients again, and their API keys work again. Webhooks stay off until an admin turns them on.',
    false,
    'may sign in again, and the API keys that they created or last rotated work again. Webhooks that they added stay off until an admin turns them on.',
  );
  users
    .command('remove-factors')
    .description(
      'Remove the passkeys and the authenticator of a person who lost them. Signs them out and disconnects their clients.',
    )
    .argument('<email>', 'their address', emailAddress)
    .option(...json)
    .action((given: string, options: { json?: boolean }) =>
      command(
        ({ do: { removeFactors }, client }) => removeFactors(client, given),
        ({ email }) =>
          `${email} no longer has a second factor and is signed out everywhere. They can sign in with their password alone and set up a new one.`,
      )(options),
    );
}

function addDocuments(program: Command): void {
  program
    .command('documents')
    .description('The store in which documents are kept.')
    .command('adopt')
    .description(
      'After documents were moved or restored, confirm that the configured store has them. Stop every node first.',
    )
    .option('--incomplete', 'even if files of documents are missing there')
    .option(...json)
    .action(
      command(
        async (
          { do: { adoptStore, NotPossible }, client, config },
          { incomplete = false }: { json?: boolean; incomplete?: boolean },
        ) => {
          const [
            { openStorage },
            { markStore, storeLocation },
            { checkBodies },
            { findingsOf },
            { requireNoNodes },
            { inTransaction },
          ] = await Promise.all([
            import('../storage/open.ts'),
            import('../documents/store-marker.ts'),
            import('./doctor/store.ts'),
            import('./doctor/finding.ts'),
            import('../domain/service/nodes.ts'),
            import('../database/transaction.ts'),
          ]);
          const storage = await openStorage(config);
          const storeId = randomUUID();
          const place = storeLocation(config);
          try {
            const refuseNodes = () => requireNoNodes(client);
            await inTransaction(client, refuseNodes);
            // Outside of a transaction, as nodes that start wait only briefly for a lock.
            const findings = findingsOf('store');
            const { unreadable } = await checkBodies(client, storage, false, findings);
            const fault = findings.list.find(({ level }) => level === 'fault');
            if (fault && !incomplete) {
              const advice = unreadable
                ? 'Check that the store can be reached and that this user may read its files.'
                : 'Copy all documents there first.';
              throw new NotPossible(
                `Nothing was changed: in ${place} ${fault.message} ${advice} To adopt it as it is, add: --incomplete`,
              );
            }
            await inTransaction(client, async () => {
              await refuseNodes();
              await markStore(storage, storeId);
              await adoptStore(client, storeId);
            });
            return { store_id: storeId, place, checked: findings.list.map(({ message }) => message).join(' ') };
          } finally {
            await storage.close();
          }
        },
        ({ place, checked }) =>
          `The documents are in ${place}. ${checked} Continue backups with dealkeep backup --continue, then start the nodes with this configuration.`,
      ),
    );
}

/** Parses a number of months; null for `forever`. */
function monthsToKeep(text: string): number | null {
  if (text === 'forever') return null;
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1 || Number(text) > 1200)
    throw new InvalidArgumentError('It must be a whole number of months from 1 to 1200, or forever.');
  return Number(text);
}

function addAudit(program: Command): void {
  program
    .command('audit')
    .description('The audit trail.')
    .command('keep')
    .description('Set for how many whole months audit records are kept. Older ones are deleted within the hour.')
    .argument('<months>', 'a number of months, or forever', monthsToKeep)
    .option(...json)
    .action((given: number | null, options: { json?: boolean }) =>
      command(
        ({ do: { keepAudit }, client }) => keepAudit(client, given),
        ({ months }) =>
          months === null
            ? 'Audit records are kept indefinitely.'
            : `Audit records are kept for ${months} whole months. Older ones are deleted within the hour.`,
      )(options),
    );
}

/** At most this many waiting mails are listed, and as many that were given up. */
const mostMails = 1_000;

/** A line for each mail, and a note if there may be more. */
function mailLines(found: readonly Administration.WaitingMail[]): string {
  const lines = found.map(
    ({ id, state, recipient, kind, attempts, last_error }) =>
      `${id}  ${state.padEnd(8)}  ${recipient}  ${kind}  tried ${attempts} times${last_error ? `: ${last_error}` : ''}`,
  );
  const isCut = (state: Administration.WaitingMail['state']) =>
    found.filter((mail) => mail.state === state).length === mostMails;
  if (isCut('waiting')) lines.push(`Only the oldest ${mostMails} of the waiting e-mails are listed.`);
  if (isCut('given up')) lines.push(`Only the latest ${mostMails} of the e-mails that were given up are listed.`);
  return lines.join('\n') || 'Every e-mail was sent.';
}

function addMail(program: Command): void {
  const mail = program.command('mail').description('E-mails that have not been sent.');
  mail
    .command('list')
    .description(
      `List the e-mails that are waiting, oldest first, then those that were given up, newest first: at most ${mostMails} of each.`,
    )
    .option(...json)
    .action(
      command(({ do: { listMails }, client }, _options: { json?: boolean }) => listMails(client, mostMails), mailLines),
    );
  mail
    .command('resend')
    .description('Send an e-mail again at once. One that was given up gets a new link.')
    .argument('<id>', 'the id of the e-mail')
    .option(...json)
    .action((id: string, options: { json?: boolean }) =>
      command(
        async ({ do: { resendMail }, client, config }) => {
          const [{ mintLink }, { openSecrets }] = await Promise.all([
            import('../mail/secrets.ts'),
            import('../lib/secrets.ts'),
          ]);
          await resendMail(client, id, mintLink(openSecrets(config.secretsKeys), true).link);
          return { resent: id };
        },
        () => `The running server will send e-mail ${id} again.`,
      )(options),
    );
}

function addSecrets(program: Command): void {
  program
    .command('secrets')
    .description('The secrets that the database keeps.')
    .command('rotate')
    .description(
      'Encrypt all of them with the first key of SECRETS_KEY, and renew the keys that seal cursors and identities. Restart every node with that key first: it refuses while one lacks it.',
    )
    .option(...json)
    .action(
      command(
        async ({ client, config }, _options: { json?: boolean }) => {
          const [{ openSecrets }, { rotateSecrets }, { ConfigError }] = await Promise.all([
            import('../lib/secrets.ts'),
            import('../domain/accounts/sealed-secrets.ts'),
            import('../config/config.ts'),
          ]);
          if (config.secretsKeys.length === 0)
            throw new ConfigError(['SECRETS_KEY is not set; make a key with: openssl rand -base64 32']);
          return rotateSecrets(client, openSecrets(config.secretsKeys));
        },
        ({ key, authenticators, mailed_links, webhooks, remembered_answers, unsubscribe_links }) =>
          `Everything is encrypted with the key ${key} (re-encrypted: ${authenticators} authenticators' secrets, ${mailed_links} links in waiting e-mails, ${webhooks} webhook secrets, ${remembered_answers} remembered answers). ${
            unsubscribe_links
              ? 'The secret of unsubscribe links is renewed.'
              : 'The secret of unsubscribe links is kept: links made with the previous one still work.'
          } Restart every node; then older keys can be removed from SECRETS_KEY. Keep them for as long as backups from before now, which need them when they are restored.`,
      ),
    );
}

const person = ['<email or id>', 'their address, or their id', fitting(/^.{3,254}$/, 'an address or an id')] as const;

function addPeople(program: Command): void {
  const people = program.command('people').description('What is kept about a person.');
  people
    .command('export')
    .description(
      'Export everything that is kept about a person, as JSON: their account, what they wrote, what they did.',
    )
    .argument(...person)
    .option('--output <file>', 'write it to this new file, which only you can read, instead of the screen')
    .action((who: string, options: { output?: string }) =>
      command(
        async ({ client }, { output }: { json?: boolean; output?: string }) => {
          const { exportPerson } = await import('../domain/accounts/erasure.ts');
          if (output === undefined) return exportPerson(client, who);
          const [{ openNew }, { rm }, { namingPlace }] = await Promise.all([
            import('./new-file.ts'),
            import('node:fs/promises'),
            import('../lib/full-disk.ts'),
          ]);
          // Opened before the data is read, because reading leaves a record of an export.
          const file = await openNew(output, '--output');
          try {
            await file.writeFile(await exportPerson(client, who));
          } catch (error) {
            await rm(output, { force: true });
            throw namingPlace(error, path.dirname(path.resolve(output)));
          } finally {
            await file.close();
          }
          return `Everything about ${who} is in ${output}.`;
        },
        (words) => words,
      )(options),
    );
  people
    .command('erase')
    .description(
      'Erase a person for good: name, address, what they sign in with, sessions, clients, e-mails. Records of deals stay under a pseudonym.',
    )
    .argument(...person)
    .option(...json)
    .action((who: string, options: { json?: boolean }) =>
      command(
        async ({ client, config }) => {
          const [{ erasePerson }, { mailDirectory, removeMails }] = await Promise.all([
            import('../domain/accounts/erasure.ts'),
            import('../mail/files.ts'),
          ]);
          return erasePerson(client, who, async (email, mails) => {
            await removeMails(mailDirectory(config.dataDir), mails, email);
          });
        },
        ({ id, pseudonym, contacts, contact_ids = [] }) =>
          contacts === undefined
            ? `The person is erased. In records of deals they are "${pseudonym}" (${id}). ${whatStays}`
            : contact_ids.includes(who.toLowerCase())
              ? `The contact is erased. ${whatStays}`
              : `The person has no account. Erased: ${plural(contacts, 'contact')} (${contact_ids.join(', ')}). ${whatStays}`,
      )(options),
    );
}

/** What neither erasure touches. */
const whatStays =
  'What they and others wrote or uploaded stays as it was written, and backups keep copies until they are deleted.';

function addHolds(program: Command): void {
  const hold = program.command('hold').description('Legal holds: what must not be erased or deleted.');
  const kinds = `deal, brokerage or person`;
  const kindOf = (text: string): HoldKind => {
    if (text !== 'deal' && text !== 'brokerage' && text !== 'person')
      throw new InvalidArgumentError(`It must be ${kinds}.`);
    return text;
  };
  const which = ['<which>', 'its id, or the slug of a brokerage, or the address of a person'] as const;
  hold
    .command('on')
    .description('Put a deal, a brokerage or a person under a legal hold.')
    .argument('<kind>', kinds, kindOf)
    .argument(...which)
    .option('--reference <text>', 'the matter, for your reference', lineUpTo(lengths.legal_holds.reference))
    .option(...json)
    .action((kind: HoldKind, id: string, options: { json?: boolean; reference?: string }) =>
      command(
        async ({ client }) => {
          const { placeHold } = await import('../domain/accounts/erasure.ts');
          return placeHold(client, kind, id, options.reference ?? null);
        },
        ({ subject_id, deletion }) =>
          deletion === null
            ? `The ${kind} ${subject_id} is under a legal hold: nothing of it is erased or deleted.`
            : `The ${kind} ${subject_id} is under a legal hold: nothing more of it is erased or deleted. Its deletion began at ${deletion.begun_at.toISOString()} and has taken its members and keys, ${deletion.deals} deals with ${deletion.documents} documents, and ${deletion.people} accounts.`,
      )(options),
    );
  hold
    .command('off')
    .description('End a legal hold.')
    .argument('<kind>', kinds, kindOf)
    .argument(...which)
    .option(...json)
    .action((kind: HoldKind, id: string, options: { json?: boolean }) =>
      command(
        async ({ client }) => {
          const { liftHold } = await import('../domain/accounts/erasure.ts');
          return liftHold(client, kind, id);
        },
        ({ subject_id }) => `The ${kind} ${subject_id} is no longer under a legal hold.`,
      )(options),
    );
  hold
    .command('list')
    .description('List the legal holds, newest first.')
    .option(...json)
    .action(
      command(
        async ({ client }, _options: { json?: boolean }) => {
          const { listHolds } = await import('../domain/accounts/erasure.ts');
          return listHolds(client);
        },
        (found) =>
          found
            .map(({ kind, subject_id, reference }) => `${kind.padEnd(9)}  ${subject_id}  ${reference ?? ''}`)
            .join('\n') || 'There are no legal holds.',
      ),
    );
}

/** Parses the number of days before a brokerage is deleted. */
function daysToWait(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) < 7 || Number(text) > 365)
    throw new InvalidArgumentError('It must be a whole number of days from 7 to 365.');
  return Number(text);
}

interface DeletionOptions {
  json?: boolean;
  days?: number;
  cancel?: true;
}

function addBrokerages(program: Command): void {
  const brokerages = program.command('brokerages').description('Brokerages.');
  brokerages
    .command('create')
    .description('Create a brokerage; then invite its first admin with users create.')
    .requiredOption('--name <name>', 'its name', properName)
    .requiredOption(
      '--slug <slug>',
      'its short name',
      fitting(/^(?=.{1,64}$)[a-z0-9](-?[a-z0-9])*$/, 'up to 64 of a-z, 0-9 and single hyphens between them'),
    )
    .option(...json)
    .action(
      command(
        ({ do: { createBrokerage }, client }, options: { json?: boolean; name: string; slug: string }) =>
          createBrokerage(client, options.name, options.slug),
        ({ id, slug }) =>
          `Brokerage ${slug} (${id}) is created. Next: dealkeep users create --brokerage ${slug} --role admin …`,
      ),
    );
  brokerages
    .command('export')
    .description(
      'Write everything that a brokerage has into a ZIP archive: each table as CSV and JSON, the documents, and a manifest. No secrets.',
    )
    .argument('<id or slug>', 'the brokerage')
    .option('--to <file>', 'the archive, which must not exist yet; by default named after the brokerage and the day')
    .option(...json)
    .action(async (which: string, options: { json?: boolean; to?: string }) =>
      (await import('./export-brokerage.ts')).exportCommand(which, options),
    );
  brokerages
    .command('delete')
    .description(
      'Delete a brokerage with its deals, documents, contacts, keys and members, after some days during which this can be canceled. Its admins are notified by e-mail.',
    )
    .argument('<id or slug>', 'the brokerage')
    .option('--days <days>', 'how many days until then, 7 to 365; BROKERAGE_DELETION_DAYS by default', daysToWait)
    .addOption(new Option('--cancel', 'cancel the deletion').conflicts('days'))
    .option(...json)
    .action((which: string, options: DeletionOptions) =>
      command(
        async ({ client, config }, { days, cancel }: DeletionOptions) => {
          const { markBrokerage, unmarkBrokerage } = await import('../domain/accounts/erasure.ts');
          if (cancel) return unmarkBrokerage(client, which);
          return markBrokerage(client, which, days ?? config.brokerageDeletionDays);
        },
        (result) =>
          'due_at' in result
            ? `Brokerage ${result.slug} (${result.id}) will be deleted after ${String(result.due_at)}. To cancel this before then: dealkeep brokerages delete ${result.slug} --cancel`
            : `Brokerage ${result.slug} (${result.id}) will not be deleted.`,
      )(options),
    );
}

/** Adds the commands to `program`. */
export function addCommands(program: Command): void {
  addSecrets(program);
  addKeys(program);
  addUsers(program);
  addDocuments(program);
  addAudit(program);
  addMail(program);
  addPeople(program);
  addHolds(program);
  addBrokerages(program);
}
