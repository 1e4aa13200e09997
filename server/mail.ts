/** Sends mail: through SMTP_URL, or, where none is configured, into files under DATA_DIR/mail for the operator to read. */

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import type { Config } from './config.ts';
import type { Logger } from './log.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mailer {
  /** Resolves when the mail server, or the disk, has taken the mail; rejects when it did not. */
  send(mail: Mail): Promise<void>;
}

// The address as it is, never read as a list of addresses: what is quoted in front of its @ could look like one.
const addressed = (from: string, { to, ...mail }: Mail) => ({ from, to: { name: '', address: to }, ...mail });

function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport({ url, connectionTimeout: 10_000, socketTimeout: 30_000 });
  return {
    async send(mail) {
      await transport.sendMail(addressed(from, mail));
    },
  };
}

function fileMailer(directory: string, from: string, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true });
  let count = 0;
  return {
    async send(mail) {
      const { message } = await transport.sendMail(addressed(from, mail));
      await mkdir(directory, { recursive: true, mode: 0o700 });
      count += 1;
      const file = path.join(directory, `${new Date().toISOString().replaceAll(':', '-')}-${process.pid}-${count}.eml`);
      await writeFile(file, message as Buffer, { mode: 0o600, flag: 'wx' });
      log.info({ file }, 'SMTP_URL is not set: the mail is in a file');
    },
  };
}

/** The mailer that the configuration asks for. */
export function createMailer(config: Config, log: Logger): Mailer {
  if (config.smtpUrl) return smtpMailer(config.smtpUrl, config.mailFrom);
  return fileMailer(path.join(config.dataDir, 'mail'), config.mailFrom, log);
}
