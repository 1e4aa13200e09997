/** A mail server that accepts or refuses what the test decides: smtp-server on a port of 127.0.0.1. */

import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/** A mail as the server received it. */
export interface Received {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body as sent, with lines ended by \n and quoted-printable decoded. */
  readonly raw: string;
  readonly messageId: string;
  /** Whether the connection was encrypted. */
  readonly secure: boolean;
  /** The name by which the client introduced itself. */
  readonly client: string;
}

/** A reply that refuses a command or a mail. */
export class Refusal extends Error {
  readonly responseCode: number;
  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}

export interface MailServer {
  readonly url: string;
  /** Every mail whose text has arrived, whether accepted or refused. */
  readonly received: Received[];
  /**
   * Called for each sign-in, sender, recipient and mail before the reply; a thrown error is the reply. Clients need not
   * sign in.
   */
  onSignIn: (user: string, password: string) => void | Promise<void>;
  onSender: (address: string) => void | Promise<void>;
  onRecipient: (address: string) => void | Promise<void>;
  onMail: (mail: Received) => void | Promise<void>;
  /** Closes all connections without an answer. */
  hangUp(): void;
  close(): Promise<void>;
}

/** Decodes quoted-printable text (RFC 2045, section 6.7) in UTF-8. */
function decoded(raw: string): string {
  const bytes = raw
    .replaceAll('\r\n', '\n')
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Opens a mail server on a free port; with `encrypts` it offers STARTTLS, with a self-signed certificate. */
export async function openMailServer({ encrypts = false } = {}): Promise<MailServer> {
  const received: Received[] = [];
  const answering = (asked: void | Promise<void>, done: (error?: Error | null) => void) =>
    void Promise.resolve(asked).then(
      () => done(),
      (error: Error) => done(error),
    );
  const hooks: Pick<MailServer, 'onSignIn' | 'onSender' | 'onRecipient' | 'onMail'> = {
    onSignIn: () => {},
    onSender: () => {},
    onRecipient: () => {},
    onMail: () => {},
  };
  const server = new SMTPServer({
    disabledCommands: encrypts ? [] : ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    logger: false,
    closeTimeout: 100,
    onAuth: ({ username, password }, _session, done) =>
      void (async () => hooks.onSignIn(username ?? '', password ?? ''))().then(
        () => done(null, { user: username ?? '' }),
        (error: Error) => done(error),
      ),
    onMailFrom: ({ address }, _session, done) => answering((async () => hooks.onSender(address ?? ''))(), done),
    onRcptTo: ({ address }, _session, done) => answering((async () => hooks.onRecipient(address))(), done),
    onData: (stream, { envelope, secure, hostNameAppearsAs }, done) => {
      const taken = async () => {
        const raw = decoded(await text(stream));
        const mail: Received = {
          from: envelope.mailFrom ? envelope.mailFrom.address : '',
          to: envelope.rcptTo.map(({ address }) => address),
          raw,
          messageId: /^message-id: <(.*)>$/im.exec(raw)?.[1] ?? '',
          secure,
          client: String(hostNameAppearsAs),
        };
        received.push(mail);
        await hooks.onMail(mail);
      };
      answering(taken(), done);
    },
  });
  server.on('error', () => {});
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  return Object.assign(hooks, {
    url: `smtp://127.0.0.1:${port}`,
    received,
    hangUp: () => sockets.forEach((socket) => socket.destroy()),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}
