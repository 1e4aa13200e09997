/**
 * Inspects incoming bytes before Node.js's parser gets them, so that a request can be answered at almost no cost. This
 * happens only between two requests: when everything that the parser was given has been answered. It never sees part of
 * a request that the parser handles, and withholds nothing else from the parser. There are thousands of connections, so
 * no function or timer is created for each.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

interface Watching {
  /** Milliseconds within which a connection must send its first bytes. */
  readonly patience: number;
  /** Milliseconds that a connection is then kept open without a request. */
  readonly keptMillis: number;
  /** Returns the response to bytes that arrived together between two requests; null leaves them to the parser. */
  answer(bytes: Buffer, socket: Socket): string | null;
  /** Called when a connection sent no bytes in time. */
  tooLate(socket: Socket): void;
}

export interface Connections {
  /** Called with each request that the parser produced. */
  begun(request: IncomingMessage, response: ServerResponse): void;
  /** The last response on this connection. */
  answerOn(socket: Duplex): ServerResponse | undefined;
  /**
   * Closes connections of which the parser was never given anything, except new ones: their first request is on its
   * way.
   */
  closeUnused(): void;
}

const headEnd = Buffer.from('\r\n\r\n');
/** Milliseconds between two searches for connections that sent no bytes. */
const lookEvery = 1_000;
/** During a stop, connections younger than this still get their first request answered, in milliseconds. */
const newFor = 1_000;

/** The length of the body in bytes; NaN when only the parser knows it. */
function bodyLength({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : NaN;
}

/** What the parser was given of a connection since the connection was last between two requests. */
class Connection {
  /** Gives the parser bytes; null until the parser has been attached to the connection. */
  parse: ((bytes: Buffer) => void) | null = null;
  /** Deadline for the parser to be given bytes, by performance.now(). */
  until: number;
  /** Whether a request was answered without the parser. */
  wasAnswered = false;
  response: ServerResponse | null = null;
  #request: IncomingMessage | null = null;
  /** How many requests the parser produced from the bytes given. */
  #requests = 0;
  #given = 0;
  /** Where the head of the first request ended; negative when it arrived in parts. */
  #headEnds = 0;
  #bodyLength = 0;

  constructor(until: number) {
    this.until = until;
  }

  /** Whether the bytes given were exactly one request, and it has been answered. */
  get isBetween(): boolean {
    if (this.#given === 0) return true;
    const isDone = this.#requests === 1 && this.#request?.complete === true && this.response?.destroyed === true;
    return isDone && this.#headEnds > 0 && this.#given === this.#headEnds + this.#bodyLength;
  }

  /** Records the bytes that the parser is about to be given. */
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

/**
 * Replaces the server's own connection listener, and hands each connection on to it with the first bytes that are not
 * answered here.
 */
export function watchConnections(server: Server, { patience, keptMillis, answer, tooLate }: Watching): Connections {
  const known = new WeakMap<Duplex, Connection>();
  /** Connections that the parser was not attached to yet. */
  const unused = new Set<Socket>();
  const [serve] = server.listeners('connection');
  if (serve === undefined) throw new Error('An HTTP server listens to its connections.');
  server.removeAllListeners('connection');

  /** Attaches Node.js's parser to the connection; returns the function that gives it bytes. */
  function handOver(socket: Socket): (bytes: Buffer) => void {
    unused.delete(socket);
    socket.removeListener('error', forget).removeListener('close', forget).removeListener('end', end);
    serve?.call(server, socket);
    const parse = socket.listeners('data').find((listener) => listener !== look);
    if (parse === undefined) throw new Error('An HTTP server listens to the data of its connections.');
    socket.removeListener('data', parse as () => void);
    // Registered again, so that the parser does not read from the connection itself.
    socket.removeListener('data', look);
    socket.on('data', look);
    return parse as (bytes: Buffer) => void;
  }

  function look(this: Socket, bytes: Buffer): void {
    const connection = known.get(this);
    if (connection === undefined) return;
    // A client that does not read gets no further responses here.
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
