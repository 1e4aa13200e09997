/**
 * Looks at what comes on connections before Node.js's parser does, so that a request can be answered at next to no cost.
 * That is done only between two requests: when everything that the parser was given has been answered. It never sees a
 * part of such a request, and nothing else is ever kept from it.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface Watching {
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
  /** Tells of a request that the parser made. */
  begun(request: IncomingMessage, response: ServerResponse): void;
  /** The last response on this connection. */
  answerOn(socket: Duplex): ServerResponse | undefined;
  /** Closes connections on which the parser was never given anything. */
  closeUnused(): void;
}

const headEnd = Buffer.from('\r\n\r\n');
const ignore = () => {};

/** The length of the body in bytes; NaN where only the parser knows. */
function bodyLength({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : NaN;
}

/** What the parser was given of a connection since it was last between two requests. */
class Connection {
  given = 0;
  /** How many requests it made of it. */
  requests = 0;
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  /** Where the head of the first request ended; negative when it came in parts. */
  #headEnds = 0;
  #bodyLength = 0;

  /** Whether all of it was one request, and that is answered. */
  get isBetween(): boolean {
    if (this.given === 0) return true;
    const isDone = this.requests === 1 && this.request?.complete === true && this.response?.destroyed === true;
    return isDone && this.#headEnds > 0 && this.given === this.#headEnds + this.#bodyLength;
  }

  give(bytes: Buffer): void {
    if (this.isBetween) {
      this.given = 0;
      this.requests = 0;
      const at = bytes.indexOf(headEnd);
      this.#headEnds = at < 0 ? -1 : at + headEnd.length;
    }
    this.given += bytes.length;
  }

  begun(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    this.request = request;
    this.response = response;
    this.#bodyLength = bodyLength(request);
  }
}

/** Takes the place of the server's own listener for connections, and hands each on to it with the first bytes that are not answered. */
export function watchConnections(server: Server, { patience, keptMillis, answer, tooLate }: Watching): Connections {
  const known = new WeakMap<Duplex, Connection>();
  /** Those of which the parser knows nothing, and whether something was answered on them. */
  const unused = new Map<Socket, boolean>();
  const [serve] = server.listeners('connection');
  if (serve === undefined) throw new Error('An HTTP server listens to its connections.');
  server.removeAllListeners('connection');

  function giveUp(this: Socket): void {
    if (unused.get(this)) this.destroy();
    else tooLate(this);
  }

  /** Lets Node.js's parser have the connection; returns what gives it bytes. */
  function handOver(socket: Socket): (bytes: Buffer) => void {
    unused.delete(socket);
    socket.setTimeout(0);
    socket.removeListener('timeout', giveUp);
    const before = socket.listeners('data');
    serve?.call(server, socket);
    const parse = socket.listeners('data').find((listener) => !before.includes(listener));
    if (parse === undefined) throw new Error('An HTTP server listens to the data of its connections.');
    return parse as (bytes: Buffer) => void;
  }

  server.on('connection', (socket: Socket) => {
    const connection = new Connection();
    known.set(socket, connection);
    unused.set(socket, false);
    let parse: ((bytes: Buffer) => void) | undefined;
    const look = (bytes: Buffer) => {
      // To whoever does not read, nothing more is said here.
      const text =
        connection.isBetween && socket.writable && socket.writableLength === 0 ? answer(bytes, socket) : null;
      if (text !== null) {
        if (unused.get(socket) === false) {
          unused.set(socket, true);
          socket.setTimeout(keptMillis);
        }
        socket.write(text);
        return;
      }
      connection.give(bytes);
      if (parse === undefined) {
        parse = handOver(socket);
        socket.removeListener('data', parse);
        // Set anew, so that the parser does not read the connection itself.
        socket.removeListener('data', look);
        socket.on('data', look);
      }
      parse(bytes);
    };
    socket.on('data', look);
    socket.on('error', ignore);
    socket.once('close', () => unused.delete(socket));
    socket.once('end', () => unused.has(socket) && socket.end());
    socket.setTimeout(patience);
    socket.on('timeout', giveUp);
  });
  return {
    begun(request, response) {
      known.get(request.socket)?.begun(request, response);
    },
    answerOn: (socket) => known.get(socket)?.response,
    closeUnused() {
      for (const socket of unused.keys()) socket.destroy();
    },
  };
}
