/** Opens the port of the service: several sockets listen on it. */

import { createServer, type AddressInfo, type Server, type ServerOpts, type Socket } from 'node:net';

/** The address cannot be listened on; the message says what to do. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen';
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): CannotListen {
  const options = { cause: error };
  if (error.code === 'EADDRINUSE') {
    return new CannotListen(
      `Port ${port} on ${host} is taken: stop the other program, or set PORT to another.`,
      options,
    );
  }
  if (error.code === 'EACCES') {
    return new CannotListen(`Port ${port} is not allowed for this user: set PORT to one above 1023.`, options);
  }
  return new CannotListen(
    `Cannot listen on ${host}, port ${port} (${error.code}): set HOST to an address of this machine.`,
    options,
  );
}

/** Connections that may wait at a socket to be taken, as far as the system allows: with Node.js's own 511 a burst while we work is lost. */
const backlog = 4_096;

/**
 * How many sockets listen. Node.js takes one connection of each in a turn of its event loop, and turns are long while more is asked
 * for than can be answered: connections, those of health checks too, would wait for seconds to be taken.
 */
const sockets = 64;

/** A turn of the event loop that takes longer, in milliseconds, leaves time in which others connect. */
const quietMillis = 0.2;
/** How long quiet turns are waited for when the port is closed, in milliseconds. */
const patience = 1_000;

/** An open port. */
export interface Port {
  /** The port, also when a free one was asked for. */
  readonly port: number;
  /** Takes those who are connected by now, and then no new connections. May be called again. */
  shut(): Promise<void>;
  /** The same; resolves when those that were taken are closed. May be called again. */
  close(): Promise<void>;
}

/** Those of an HTTP server. */
const optionsOfHttp: ServerOpts = { allowHalfOpen: true, noDelay: true };

/** Resolves when the server listens; rejects with the system's error. */
const listening = (server: Server, options: { host: string; port: number; reusePort?: boolean }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...options, backlog }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });

const closed = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/**
 * Closes sockets, whose connections `server` gets, so that hardly a connection is reset: closing a socket resets what waits there to be taken.
 * Each is closed by itself, right after a turn in which nobody came and little was done, while the others are still listened to. Closed all at
 * once they take as long as it takes to connect, and much longer where another process is let in between. Returns what resolves when the
 * connections of each are closed.
 */
async function closeOneByOne(server: Server, all: readonly Server[]): Promise<readonly Promise<void>[]> {
  let came = 0;
  const count = () => void (came += 1);
  server.on('connection', count);
  const until = performance.now() + patience;
  // Where this turn stands is not known: what is left of it may be without a look at the sockets.
  await turn();
  const closing: Promise<void>[] = [];
  for (const one of all) {
    for (let isQuiet = false; !isQuiet;) {
      const [before, began] = [came, performance.now()];
      await turn();
      const now = performance.now();
      isQuiet = (came === before && now - began < quietMillis) || now > until;
    }
    closing.push(closed(one));
  }
  server.removeListener('connection', count);
  return closing;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Rejects where the port is taken: when several sockets may share it, it is not found taken by another process of ours. */
async function findFree(host: string, port: number): Promise<void> {
  const alone = createServer();
  await listening(alone, { host, port });
  await closed(alone);
}

/** Has the server listen by several sockets, `others` for those beside its own; by its own alone where the system does not divide connections among them. */
async function share(server: Server, others: Server[], host: string, port: number, options: ServerOpts): Promise<void> {
  if (port !== 0) await findFree(host, port);
  try {
    await listening(server, { host, port, reusePort: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP') throw error;
    return listening(server, { host, port });
  }
  while (others.length < sockets - 1) {
    const other = createServer(options);
    other.on('connection', (socket) => server.emit('connection', socket));
    await listening(other, { host, port: portOf(server), reusePort: true });
    others.push(other);
  }
}

/** Opens the port, whose connections `server` gets, an HTTP server where `options` are not given. Rejects with {@link CannotListen}. */
export async function openPort(server: Server, host: string, port: number, options = optionsOfHttp): Promise<Port> {
  const others: Server[] = [];
  let closing: Promise<readonly Promise<void>[]> | undefined;
  // An HTTP server closes its idle connections before its socket, which takes a while: the last is to be one of the others.
  const closeAll = () => (closing ??= closeOneByOne(server, [server, ...others]));
  const shut = async () => void (await closeAll());
  const close = async () => void (await Promise.all(await closeAll()));
  try {
    await share(server, others, host, port, options);
  } catch (error) {
    await close();
    throw refusal(error as NodeJS.ErrnoException, host, port);
  }
  return { port: portOf(server), shut, close };
}

/** Opens the port for other processes: `take` gets each connection before anything of it is read. Rejects with {@link CannotListen}. */
export function openPortForOthers(host: string, port: number, take: (socket: Socket) => void): Promise<Port> {
  const options = { ...optionsOfHttp, pauseOnConnect: true };
  return openPort(createServer(options, take), host, port, options);
}
