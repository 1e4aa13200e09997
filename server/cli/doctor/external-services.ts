/** Checks the dependencies of the service other than the database: mail, disk, the store of request counts. */

import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Config } from '../../config/config.ts';
import { openRedis } from '../../redis/connection.ts';
import { isHere } from '../../lib/is-here.ts';
import { reasonOf } from '../../lib/reason.ts';
import { encryptionRemedy, isUnencrypted, mailServerOf, senderIn, type MailServer } from '../../mail/transport.ts';
import type { Findings } from './finding.ts';

/**
 * Connects with EHLO, STARTTLS if offered, signs in and names the sender; returns whether the connection is encrypted,
 * and the refusal of the sender, if any.
 */
async function greet({ auth, ...server }: MailServer, mailFrom: string) {
  let refusal: string | null = null;
  const connection = new SMTPConnection({
    ...server,
    socketTimeout: 15_000,
    // A way of signing in is the only way to send single commands.
    customAuth: {
      SENDER: async ({ sendCommand }) => {
        const { status, response } = await sendCommand(`MAIL FROM:<${senderIn(mailFrom)}>`);
        // Below 500 it asks to try later, as the service does.
        if (status >= 500) refusal = response;
        await sendCommand('RSET');
      },
    },
  });
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject);
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
    for (const way of [...(auth === undefined ? [] : [auth]), { method: 'SENDER' }])
      await new Promise<void>((resolve, reject) =>
        connection.login(way, (error: unknown) => (error ? reject(error as Error) : resolve())),
      );
    return { isEncrypted: connection.secure, refusal };
  } finally {
    connection.quit();
    connection.close();
  }
}

/** Checks that mail can be sent. */
export async function checkMail({ smtpUrl, baseUrl, mailFrom, dataDir }: Config, findings: Findings): Promise<void> {
  if (smtpUrl === undefined) {
    findings.warning(
      `SMTP_URL is not set: e-mails are written to ${path.join(dataDir, 'mail')} and not sent.`,
      'Set SMTP_URL to your mail server, and MAIL_FROM to an address that it may send from.',
    );
    return;
  }
  const url = new URL(smtpUrl);
  try {
    const { isEncrypted, refusal } = await greet(mailServerOf(smtpUrl, baseUrl), mailFrom);
    if (refusal === null)
      findings.ok(
        isEncrypted || isHere(url.hostname)
          ? `${url.host} accepts mail from here.`
          : `${url.host} accepts mail from here, unencrypted, as SMTP_URL allows.`,
      );
    else
      findings.fault(
        `${url.host} does not accept mail from ${senderIn(mailFrom)}: ${refusal}.`,
        'Set MAIL_FROM to an address that the mail server may send from, or allow this one there.',
      );
  } catch (error) {
    if (isUnencrypted(error as Error))
      findings.fault(
        `${url.host} offers no encryption (STARTTLS), and nothing is sent to it without.`,
        `Use a mail server that does, or ${encryptionRemedy}.`,
      );
    else
      findings.fault(
        `${url.host} does not accept mail from here: ${reasonOf(error)}.`,
        'Check host, port, user and password in SMTP_URL, and whether this machine may reach that port.',
      );
  }
  if (/@localhost>?$/.test(mailFrom))
    findings.warning(
      'MAIL_FROM is not set: e-mails come from an address that cannot receive replies.',
      'Set MAIL_FROM to an address that the mail server may send from.',
    );
}

const roomLimits = { warning: 2_000_000_000, fault: 200_000_000 };
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

/** Returns the directory, or its nearest ancestor that exists. */
function existing(directory: string): string {
  return existsSync(directory) || path.dirname(directory) === directory ? directory : existing(path.dirname(directory));
}

/** Checks that DATA_DIR is writable and has space. */
export async function checkDisk({ dataDir }: Config, findings: Findings): Promise<void> {
  const directory = existing(dataDir);
  try {
    await access(directory, constants.W_OK | constants.X_OK);
  } catch {
    findings.fault(
      `This user cannot write to DATA_DIR, ${dataDir}.`,
      `Give ${directory} to the user that runs Dealkeep (chown), or set DATA_DIR to another directory.`,
    );
    return;
  }
  const { bavail, bsize } = await statfs(directory);
  const room = bavail * bsize;
  const remedy = 'Free up space on that disk, or move DATA_DIR to a larger one.';
  if (room < roomLimits.fault) findings.fault(`DATA_DIR has ${gigabytes(room)} of free space.`, remedy);
  else if (room < roomLimits.warning) findings.warning(`DATA_DIR has ${gigabytes(room)} of free space.`, remedy);
  else findings.ok(`DATA_DIR has ${gigabytes(room)} of free space.`);
}

/** Checks that the store of the rate limits is reachable. */
export async function checkLimits({ rateLimitStore, redisUrl }: Config, findings: Findings): Promise<void> {
  if (redisUrl === undefined) {
    findings.ok(
      rateLimitStore === 'postgres'
        ? 'Rate limits are counted in PostgreSQL, for all nodes together.'
        : 'Rate limits are counted in the memory of this node, which is right for a single node.',
    );
    return;
  }
  const { host } = new URL(redisUrl);
  const redis = await openRedis(redisUrl);
  try {
    const answer = await Promise.race([redis.ping(), pause(5_000, 'no answer within 5 s', { ref: false })]);
    if (answer !== 'PONG') throw new Error(answer);
    findings.ok(`Redis at ${host} responds.`);
  } catch (error) {
    findings.fault(
      `Redis at ${host} does not respond correctly: ${reasonOf(error)}.`,
      'Check host, port, user and password in REDIS_URL. Until this is fixed, each node counts rate limits on its own and receives changes from PostgreSQL.',
    );
  } finally {
    redis.destroy();
  }
}
