/** The mails of a service without a mail server, which are written to files. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createLog } from '../../server/lib/log.ts';
import { openDelivery } from '../../server/mail/delivery.ts';
import { mailDirectory } from '../../server/mail/files.ts';
import { createMailer, type Mailer } from '../../server/mail/transport.ts';
import type { TestService } from '../harness.ts';

/** Returns the mailer that writes mails to files. */
export const fileMailer = (config: TestService['config']): Mailer =>
  createMailer({ ...config, smtpUrl: undefined }, createLog('silent'));

/** Delivers the due mails of the outbox to files. */
export const deliverToFiles = (service: TestService): Promise<void> =>
  openDelivery({ ...service.services, mail: fileMailer(service.config) }, 1).deliverDue();

/** Returns the contents of all mail files, undecoded. */
export async function mailFiles({ config }: TestService): Promise<string[]> {
  const directory = mailDirectory(config.dataDir);
  return Promise.all((await readdir(directory)).map((file) => readFile(path.join(directory, file), 'utf8')));
}

/** Returns the recipients of the mails in the files, one entry for each file, sorted. */
export async function readers(service: TestService): Promise<string[]> {
  const found = (await mailFiles(service)).map((content) => /^To: (.*?)\r?$/m.exec(content)?.[1] ?? '');
  return found.toSorted();
}
