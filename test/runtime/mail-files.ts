/** The mails of a service without a mail server, in files. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createLog } from '../../server/lib/log.ts';
import { openDelivery } from '../../server/mail/delivery.ts';
import { mailDirectory } from '../../server/mail/files.ts';
import { createMailer, type Mailer } from '../../server/mail/transport.ts';
import type { TestService } from '../harness.ts';

/** What writes them. */
export const fileMailer = (config: TestService['config']): Mailer =>
  createMailer({ ...config, smtpUrl: undefined }, createLog('silent'));

/** Delivers what waits in the outbox into files. */
export const deliverToFiles = (service: TestService): Promise<void> =>
  openDelivery({ ...service.services, mail: fileMailer(service.config) }, 1).deliverDue();

/** What is in all files, as it is. */
export async function mailFiles({ config }: TestService): Promise<string[]> {
  const directory = mailDirectory(config.dataDir);
  return Promise.all((await readdir(directory)).map((file) => readFile(path.join(directory, file), 'utf8')));
}

/** The readers of the mails there, each once for a file of it, and sorted. */
export async function readers(service: TestService): Promise<string[]> {
  const found = (await mailFiles(service)).map((content) => /^To: (.*?)\r?$/m.exec(content)?.[1] ?? '');
  return found.toSorted();
}
