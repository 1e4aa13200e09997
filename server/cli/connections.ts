/**
 * Looks at what comes on connections before Node.js's parser does, so that a request can be answered at next to no cost.
 * That is done only between two requests: when everything that the parser was given has been answered. It never sees a
 * part of such a request, and nothing else is ever kept from it. There are thousands of connections, so that one takes no
 * function and no timer of its own.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

interface Watching {
  /** How long the first bytes of a connection may take, in milliseconds. */
  readonly patience: number;
  /** How long it is kept afterwards without a request. */
  readonly keptMillis: number;
  /** What to answer to the bytes, which came together between two requests; null leaves them to the parser. */
  answer(bytes: Buffer, socket: Socket): string | null;
  /** Nothing came. */
  tooLate(socket: Socket): void;
}

export interface Connections {
  /** Called with each request that the parser made. */
  begun(request: IncomingMessage, response: ServerResponse): void;
  /** The last response on this connection. */
  answerOn(socket: Duplex): ServerResponse | undefined;
  /** Closes connections on which the parser was never given anything, but for new ones: a request is on its way there. */
  closeUnused(): void;
}

const headEnd = Buffer.from('\r\n\r\n');
/** How often connections are looked for on which nothing came, in milliseconds. */
const lookEvery = 1_000;
/** How long after it was made a connection still gets its first request at a stop, in milliseconds. */
const newFor = 1_000;

/** The length of the body in bytes; NaN where only the parser knows. */
function bodyLength({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : NaN;
}

/** What the parser was given of a connection since it was last between two requests. */
class Connection {
  /** Gives the parser bytes; null as long as it does not know the connection. */
  parse: ((bytes: Buffer) => void) | null = null;
  /** Until then the parser must have been given something, by performance.now(). */
  until: number;
  /** Whether something was answered without the parser. */
  wasAnswered = false;
  response: ServerResponse | null = null;
  #request: IncomingMessage | null = null;
  /** How many requests the parser made of what it was given. */
  #requests = 0;
  #given = 0;
  /** Where the head of the first request ended; negative when it came in parts. */
  #headEnds = 0;
  #bodyLength = 0;

  constructor(until: number) {
    this.until = until;
  }

  /** Whether all of it was one request, and that is answered. */
  get isBetween(): boolean {
    if (this.#given === 0) return true;
    const isDone = this.#requests === 1 && this.#request?.complete === true && this.response?.destroyed === true;
    return isDone && this.#headEnds > 0 && this.#given === this.#headEnds + this.#bodyLength;
  }

  /** Notes what the parser is about to be given. */
  give(bytes: Buffer): void {
    if (this.isBetween) {
      this.#given = 0;
      this.#requests = 0;
      const at = bytes.indexOf(headEnd);
      this.#headEnds = at < 0 ? -1 : at + headEnd.length;
    }
    this.#given += bytes.length;
  }

  begun(request: IncomingMessage, response: ServerResponse): void {
    this.#requests += 1;
    this.#request = request;
    this.response = response;
    this.#bodyLength = bodyLength(request);
  }
}

/** Takes the place of the server's own listener for connections, and hands each on to it with the first bytes that are not answered. */
export function watchConnections(server: Server, { patience, keptMillis, answer, tooLate }: Watching): Connections {
  const known = new WeakMap<Duplex, Connection>();
  /** Those that went around the parser. */
  const unused = new Set<Socket>();
  const [serve] = server.listeners('connection');
  if (serve === undefined) throw new Error('An HTTP server listens to its connections.');
  server.removeAllListeners('connection');

  /** Lets Node.js's parser have the connection; returns what gives it bytes. */
  function handOver(socket: Socket): (bytes: Buffer) => void {
    unused.delete(socket);
    socket.removeListener('error', forget).removeListener('close', forget).removeListener('end', end);
    serve?.call(server, socket);
    const parse = socket.listeners('data').find((listener) => listener !== look);
    if (parse === undefined) throw new Error('An HTTP server listens to the data of its connections.');
    socket.removeListener('data', parse as () => void);
    // Set anew, so that the parser does not read the connection itself.
    socket.removeListener('data', look);
    socket.on('data', look);
    return parse as (bytes: Buffer) => void;
  }

  function look(this: Socket, bytes: Buffer): void {
    const connection = known.get(this);
    if (connection === undefined) return;
    // A client that does not read gets no further answer here.
    const mayAnswer = connection.isBetween && this.writable && this.writableLength === 0;
    const text = mayAnswer ? answer(bytes, this) : null;
    if (text !== null) {
      connection.wasAnswered = true;
      connection.until = performance.now() + keptMillis;
      this.write(text);
      return;
    }
    connection.give(bytes);
    connection.parse ??= handOver(this);
    connection.parse(bytes);
  }

  function forget(this: Socket): void {
    unused.delete(this);
  }

  function end(this: Socket): void {
    this.end();
  }

  server.on('connection', (socket: Socket) => {
    known.set(socket, new Connection(performance.now() + patience));
    unused.add(socket);
    socket.on('data', look).on('error', forget).on('close', forget).on('end', end);
  });

  const looking = setInterval(() => {
    const now = performance.now();
    for (const socket of unused) {
      const { until, wasAnswered } = known.get(socket) ?? { until: 0, wasAnswered: true };
      if (until > now) continue;
      unused.delete(socket);
      if (wasAnswered) socket.destroy();
      else tooLate(socket);
    }
  }, lookEvery).unref();
  server.once('close', () => clearInterval(looking));
  return {
    begun(request, response) {
      known.get(request.socket)?.begun(request, response);
    },
    answerOn: (socket) => known.get(socket)?.response ?? undefined,
    closeUnused() {
      const old = performance.now() + patience - newFor;
      for (const socket of unused) {
        const connection = known.get(socket);
        if (connection === undefined || connection.wasAnswered || connection.until <= old) socket.destroy();
      }
    },
  };
}
