/** Opens the port of the service, on which several sockets listen. */

import { createServer, type AddressInfo, type Server, type ServerOpts, type Socket } from 'node:net';

/** Listening on the address failed; the message says what to do. */
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

/**
 * Connections that may wait at a socket to be accepted, as far as the system allows: with Node.js's default of 511, a
 * burst while the process is busy is lost.
 */
const backlog = 4_096;

/**
 * How many sockets listen. Node.js accepts one connection of each socket per turn of its event loop, and turns are long
 * under overload: connections, including those of health checks, would wait for seconds to be accepted.
 */
const sockets = 64;

/** A turn of the event loop that takes longer, in milliseconds, leaves time in which clients connect. */
const quietMillis = 0.2;
/** Milliseconds to wait for quiet turns when the port is closed. */
const patience = 1_000;

/** An open port. */
export interface Port {
  /** The port, even if a free one was requested. */
  readonly port: number;
  /** Accepts the connections that are waiting by now, and then no new ones. May be called again. */
  shut(): Promise<void>;
  /** Does the same; resolves when the accepted connections are closed. May be called again. */
  close(): Promise<void>;
}

/** The options of an HTTP server's socket. */
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
 * Closes sockets, whose connections `server` gets, so that hardly any connection is reset: closing a socket resets the
 * connections that wait there to be accepted. Each socket is closed separately, right after a turn in which no
 * connection came and little was done, while the others still listen. Closing all at once takes as long as a client
 * needs to connect, and much longer when the system schedules another process in between. Resolves with promises that
 * resolve when the connections of each socket are closed.
 */
async function closeOneByOne(server: Server, all: readonly Server[]): Promise<readonly Promise<void>[]> {
  let came = 0;
  const count = () => void (came += 1);
  server.on('connection', count);
  const until = performance.now() + patience;
  // The current turn may already have passed its check of the sockets, so that its remainder cannot be judged.
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

/**
 * Rejects if the port is in use: with several sockets sharing the port, listening would not fail when another process
 * of ours has it.
 */
async function findFree(host: string, port: number): Promise<void> {
  const alone = createServer();
  await listening(alone, { host, port });
  await closed(alone);
}

/**
 * Makes the server listen on several sockets, adding those besides its own to `others`; on its own alone where the
 * system does not distribute connections among them.
 */
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

/**
 * Opens the port, whose connections `server` gets: an HTTP server unless `options` are given. Rejects with the error
 * {@link CannotListen}.
 */
export async function openPort(server: Server, host: string, port: number, options = optionsOfHttp): Promise<Port> {
  const others: Server[] = [];
  let closing: Promise<readonly Promise<void>[]> | undefined;
  // An HTTP server closes its idle connections before its socket, which takes a while: therefore the last socket must
  // not be its own.
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

/**
 * Opens the port for other processes: `take` gets each connection before anything is read from it. Rejects with the
 * error {@link CannotListen}.
 */
export function openPortForOthers(host: string, port: number, take: (socket: Socket) => void): Promise<Port> {
  const options = { ...optionsOfHttp, pauseOnConnect: true };
  return openPort(createServer(options, take), host, port, options);
}
