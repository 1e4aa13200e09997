/**
 * Hands mails over to the server at SMTP_URL or, when none is configured, writes them to files under DATA_DIR/mail for
 * the operator to read.
 */

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import type { Config } from '../config/config.ts';
import { isHere } from '../lib/is-here.ts';
import type { Logger } from '../lib/log.ts';
import { escaped, mailDirectory } from './files.ts';

export interface Mail {
  /** Without the angle brackets. The same for every attempt, so that a mail server can recognize a duplicate. */
  readonly messageId: string;
  readonly to: string;
  /** The address for replies; null: the one that the mail comes from. */
  readonly replyTo?: string | null;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The pictures in the HTML, by Content-ID (RFC 2392). */
  readonly pictures?: readonly MailPicture[];
}

export interface MailPicture {
  /** Without the angle brackets. */
  readonly cid: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

export interface Mailer {
  /** Resolves when the mail server, or the disk, has accepted the mail; rejects with {@link NotSent} otherwise. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

/** A mail was not accepted. The message is for the operator, and contains nothing of the mail's content. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  /** Whether the server will never accept this mail, because its recipient or its content is to blame. */
  readonly final: boolean;
  /** Whether nothing was said about this mail: any other would have failed in the same way. */
  readonly isOutage: boolean;
  constructor(message: string, { final = false, isOutage = false, cause }: Failure = {}) {
    super(message, { cause });
    this.final = final;
    this.isOutage = isOutage;
  }
}

interface Failure {
  readonly final?: boolean;
  readonly isOutage?: boolean;
  readonly cause?: unknown;
}

/** The number of connections to the mail server, and so of mails handed over concurrently. */
export const connections = 4;

/**
 * Time limits for handing over one mail, in milliseconds: until its last byte, and with the answer to it. Servers may
 * examine a mail for minutes before they answer, and deliver it even if nobody waits for the answer: the mail would be
 * sent again. The whole is shorter than the claim on a mail.
 */
const limits = { toLastByte: 60_000, whole: 270_000 } as const;

/** Whether nodemailer sends to exactly this address: it replaces < and > in the quoted part of an address. */
const isSendable = (address: string): boolean => !/[<>]/.test(address);

function assertSendable(address: string): void {
  if (!isSendable(address))
    throw new NotSent('No e-mail can be sent to an address that contains < or >', { final: true });
}

// The address is passed as an object, so that it is never parsed as a list of addresses: the quoted part before its @
// could look like one.
const addressed = (from: string, { to, replyTo = null, messageId, headers, pictures = [], ...mail }: Mail) => ({
  ...mail,
  attachments: pictures.map(({ mediaType, ...picture }) => ({
    ...picture,
    contentType: mediaType,
    contentDisposition: 'inline' as const,
  })),
  from,
  to: { name: '', address: to },
  ...(replyTo !== null && isSendable(replyTo) && { replyTo: { name: '', address: replyTo } }),
  messageId: `<${messageId}>`,
  // Out-of-office replies do not answer automatic mails (RFC 3834).
  headers: { 'Auto-Submitted': 'auto-generated', ...headers },
  disableFileAccess: true,
  disableUrlAccess: true,
});

/** An error between this node and the mail server, as nodemailer reports it. */
interface SmtpError extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
  readonly response?: string;
}

/** Whether an attempt failed because encryption is required and the mail server offers none. */
export const isUnencrypted = ({ code, command, response }: SmtpError): boolean =>
  code === 'ETLS' && command === 'STARTTLS' && response !== undefined;

/** What an operator can do then, as part of a sentence. */
export const encryptionRemedy =
  'smtps:// in SMTP_URL, or add ?requireTLS=false to it if the network in between is private';

const troubles: Readonly<Record<string, string>> = {
  EAUTH: 'The mail server does not accept the user and password of SMTP_URL',
  EDNS: 'The mail server of SMTP_URL was not found',
  ETIMEDOUT: 'The mail server did not answer in time',
  ECONNECTION: 'The mail server cannot be reached, or ended the connection',
  ESOCKET: 'The mail server cannot be reached, or ended the connection',
  ETLS: 'No secure connection to the mail server could be made',
  EABORT: 'The mail server did not accept the e-mail in time',
};

/** Returns the address that all mails come from, in upper and lower case as MAIL_FROM has it; a mail server may distinguish them. */
export const senderIn = (from: string): string => /[^\s<>]+@[^\s<>]+/.exec(from)?.[0] ?? '';
const senderOf = (from: string): string => senderIn(from).toLowerCase();

/**
 * Returns a mail server's response as it may be logged: with its codes, without links, which may be those of the mail
 * that it rejects, and without addresses, as logs are not searched when somebody is erased. The address that all mails
 * come from is configuration, and stays.
 */
function withoutParticulars(response: string, from: string, to: string): string {
  const [codes = ''] = /^(?:\d{3}[ -]?)?(?:\d\.\d{1,3}\.\d{1,3}\s)?/.exec(response) ?? [];
  const sender = senderOf(from);
  const local = to.slice(0, to.lastIndexOf('@'));
  // Some servers name the recipient by the part before the @ alone.
  const recipient = new RegExp(
    String.raw`(?<![\p{L}\p{N}])(?:${escaped(to)}|${escaped(local)})(?![\p{L}\p{N}])`,
    'giu',
  );
  const text = response
    .slice(codes.length)
    .replaceAll(/https?:\S*/gi, '…')
    .replaceAll(/(?:"[^"\r\n]*"|[^\s<>"'(),:;[\]]+)@(?:\[[^\s\]]*\]|[^\s<>"'(),:;[\]]+)/g, (address) =>
      address.toLowerCase().replace(/\.$/, '') === sender ? address : '…',
    )
    .replaceAll(/\S{40,}/g, '…');
  return codes + (to === '' || local === '' ? text : text.replaceAll(recipient, '…'));
}

/** The words of refusals of us, not of the recipient, by servers that send no enhanced code. */
const ofUs = /sender|relay|rcpthosts|authenti|log ?in\b|\bhelo\b|limit|polic|\b(?:spf|dkim|dmarc)\b/i;

/**
 * Whether a refusal cannot change, because its recipient or the content of the mail is to blame. Anything else, such as
 * a sender, a login or a relay that is refused at RCPT TO or DATA, is corrected in a configuration.
 */
function isFinal({ command = '', responseCode = 0 }: SmtpError, answer: string, from: string): boolean {
  if (responseCode < 500 || (command !== 'RCPT TO' && command !== 'DATA')) return false;
  const sender = senderOf(from);
  if ([530, 535, 538].includes(responseCode) || (sender && answer.toLowerCase().includes(sender))) return false;
  // RFC 3463: addresses (those of senders are 5.1.7 and 5.1.8), mailboxes that are closed or full, and contents.
  const code = /^\d{3}[ -](5\.\d{1,3}\.\d{1,3})(?!\S)/.exec(answer)?.[1];
  if (code !== undefined) return /^5\.(?:1\.(?![78]$)\d+|2\.[12]|6\.\d+)$/.test(code) && !/sender/i.test(answer);
  return command === 'RCPT TO' && [501, 550, 551, 553].includes(responseCode) && !ofUs.test(answer);
}

/** Codes of nodemailer for what goes wrong between this node and the mail server; EABORT is our own time limit. */
const outages: ReadonlySet<string> = new Set([
  'EABORT',
  'EAUTH',
  'EDNS',
  'ECONNECTION',
  'ESOCKET',
  'ETIMEDOUT',
  'ETLS',
  'EPROTOCOL',
]);

/** Whether an error that occurs before the last byte was handed over says nothing about the mail. */
function isOfAnyMail({ code = '', command, responseCode }: SmtpError): boolean {
  // 421 ends the connection, in answer to whatever command.
  if (responseCode === undefined || responseCode === 421) return responseCode === 421 || outages.has(code);
  // Rejected senders are an error of our configuration, but a server may already reject here what is too large for it
  // (552).
  return responseCode !== 552 && command !== 'RCPT TO' && command !== 'DATA';
}

/** `isHandedOver`: whether the last byte of the mail had been sent. */
function notSent(error: SmtpError, from: string, to: string, isHandedOver: boolean): NotSent {
  const { code = '', command = '', responseCode, response } = error;
  const said = response ? withoutParticulars(response, from, to) : '';
  const answer = said && `: ${said.slice(0, 300)}`;
  const final = isFinal(error, said, from);
  const isOfRecipient = command === 'RCPT TO' && (final || (responseCode !== undefined && responseCode < 500));
  const refused = isOfRecipient ? 'The mail server refused the address' : 'The mail server refused the e-mail';
  const trouble = isUnencrypted(error)
    ? `The mail server offers no encryption (STARTTLS): use one that does, or ${encryptionRemedy}`
    : troubles[code];
  const what = responseCode === undefined || code === 'EAUTH' || code === 'ETLS' ? trouble : undefined;
  return new NotSent(
    `${what ?? (responseCode === undefined ? 'The e-mail could not be sent' : refused)}${answer}`,
    // A server that has the whole mail may deliver it without an answer: it is not to get it every five minutes.
    { final, isOutage: !isHandedOver && isOfAnyMail(error), cause: error },
  );
}

/** How to connect to a mail server, and the user and password for signing in. */
export type MailServer = ReturnType<typeof mailServerOf>;

/** Returns the public name of the service; undefined when it has an address instead, or a name without a dot. */
function publicName(baseUrl: string): string | undefined {
  const { hostname } = new URL(baseUrl);
  return isIP(hostname) === 0 && /^[^[].*\../.test(hostname) ? hostname : undefined;
}

/**
 * Returns how to connect to the server of SMTP_URL. The connection is encrypted unless the server is on this machine or
 * the URL says `requireTLS=false`: otherwise somebody between could hide that the server offers STARTTLS, and read
 * passwords and links. The service introduces itself by its public name, or the `name` in the URL: servers may reject
 * the name that a container has.
 */
export function mailServerOf(smtpUrl: string, baseUrl: string) {
  const given = parseConnectionUrl(smtpUrl);
  const { secure, host = '', requireTLS, name } = given;
  return {
    ...given,
    name: name === undefined ? publicName(baseUrl) : String(name),
    requireTLS: secure !== true && (requireTLS === true || (requireTLS !== false && !isHere(host))),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
  };
}

function smtpMailer(url: string, baseUrl: string, from: string): Mailer {
  const transport = createTransport({
    ...mailServerOf(url, baseUrl),
    pool: true,
    maxConnections: connections,
    maxMessages: 100,
    // A connection that the server had closed meanwhile is replaced once, if nothing of the mail was sent on it.
    maxRequeues: 1,
    socketTimeout: limits.whole,
  });
  const atLastByte = new WeakMap<AbortSignal, () => void>();
  transport.use('stream', ({ message, data }, done) => {
    message?.processFunc((text) => text.once('end', () => data.signal && atLastByte.get(data.signal)?.()));
    done();
  });
  return {
    async send(mail) {
      assertSendable(mail.to);
      const late = new AbortController();
      let timer = setTimeout(() => late.abort(), limits.toLastByte);
      let isHandedOver = false;
      atLastByte.set(late.signal, () => {
        isHandedOver = true;
        clearTimeout(timer);
        timer = setTimeout(() => late.abort(), limits.whole - limits.toLastByte);
      });
      try {
        await transport.sendMail({ ...addressed(from, mail), signal: late.signal });
      } catch (error) {
        throw notSent(error as SmtpError, from, mail.to, isHandedOver);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => transport.close(),
  };
}

function fileMailer(directory: string, from: string, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true });
  return {
    async send(mail) {
      assertSendable(mail.to);
      try {
        const { message } = await transport.sendMail(addressed(from, mail));
        await mkdir(directory, { recursive: true, mode: 0o700 });
        // Named by its id: written again after a crash, it is still one mail.
        const name = path.join(directory, mail.messageId.replace(/@.*/, ''));
        const keep = async (file: string, content: string | Buffer) => {
          await writeFile(`${file}.unfinished`, content, { mode: 0o600 });
          await rename(`${file}.unfinished`, file);
        };
        await keep(`${name}.eml`, message as Buffer);
        // The text as it is: in the .eml file, links are broken into lines.
        const file = `${name}.txt`;
        await keep(file, `To: ${mail.to}\nSubject: ${mail.subject}\n\n${mail.text}`);
        log.info({ file }, 'SMTP_URL is not set: the e-mail is in a file');
      } catch (error) {
        const message = `The e-mail could not be written to a file: ${(error as Error).message}`;
        throw new NotSent(message, { isOutage: true, cause: error });
      }
    },
    close: () => transport.close(),
  };
}

/** Creates the mailer that is configured. */
export function createMailer(config: Config, log: Logger): Mailer {
  if (config.smtpUrl) return smtpMailer(config.smtpUrl, config.baseUrl, config.mailFrom);
  return fileMailer(mailDirectory(config.dataDir), config.mailFrom, log);
}
