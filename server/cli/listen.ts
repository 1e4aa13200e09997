/** Listens for requests, and stops in an orderly way. */

import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { enforceBodyRate, leastBodyRate } from '../http/body-rate.ts';
import { directListenerOf } from '../http/direct-answers.ts';
import { malformation, markRefused, onWire, pathNear, refusedWith, type RefusalStatus } from '../http/malformed.ts';
import type { LoadShedding } from '../http/load-shedding.ts';
import { simpleRequest } from '../http/simple-request.ts';
import type { Problem } from '../http/problem.ts';
import { unreadLookMillis, type LookAfterAnswers } from '../http/unread-answers.ts';
import type { Services } from '../services.ts';
import { openPrebuiltResponses, type PrebuiltResponses } from './prebuilt-responses.ts';
import { watchConnections } from './connections.ts';
import { openPort, type Port } from './port.ts';

export interface Listener {
  /** The port, also when a free one was asked for. */
  readonly port: number;
  /** From now on `app` answers, as much at once as `load` lets it; before, everything gets 503 with Retry-After. */
  answerWith(app: Hono, services?: Pick<Services, 'load' | 'lookAfterAnswers'>): void;
  /** From now on every answer is the last on its connection, so that clients go elsewhere; requests are still taken. */
  leave(): void;
  /** Leaves, takes no new connections, waits for the requests in flight, at most `seconds`, then drops what is left. May be called again. */
  close(seconds: number): Promise<void>;
}

const notReady: RequestListener = (request, response) => {
  const alive = request.url === '/healthz';
  response.writeHead(alive ? 200 : 503, {
    'Content-Type': 'text/plain',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Retry-After': '1',
  });
  response.end(alive ? 'ok\n' : 'Starting: try again in a moment.\n');
};

/** How long a connection is kept without a request, in seconds. */
const keptSeconds = 65;
/** How long the head of a request may take, in milliseconds. */
const patience = 30_000;

/** What every request is for, whatever Host it names: no path and nothing else is taken from there. */
const ourName = 'localhost';

/** The refusal as the app says it; before there is one, and from an app that does not know refusals, in a plain line. */
async function refusalBy(app: Hono | null, socket: Duplex, url: string, refused: Problem): Promise<Response> {
  const incoming = { socket };
  markRefused(incoming, refused);
  const answer = await app?.request(pathNear(url), {}, { incoming });
  if (answer?.status === refused.status) return answer;
  return new Response(`${refused.message}\n`, { status: refused.status, headers: { 'Content-Type': 'text/plain' } });
}

const statuses: Readonly<Record<string, RefusalStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The address in the first line of what could not be read as a request, where it is there. */
const addressIn = (packet: Buffer | undefined): string =>
  /^[A-Z]{1,20} (\S{1,2000})/.exec(packet?.toString('latin1', 0, 2_048) ?? '')?.[1] ?? '/';

/** Opens the port; `rate` is how fast the body of a request must come. Rejects with CannotListen. */
export const listen = (host: string, port: number, rate = leastBodyRate): Promise<Listener> =>
  listenBy((server) => openPort(server, host, port), rate);

/** Answers at the port that `open` leads to the server; rejects as `open` does. */
export async function listenBy(open: (server: Server) => Promise<Port>, rate = leastBodyRate): Promise<Listener> {
  let answer: RequestListener = notReady;
  let known: Hono | null = null;
  const unfinished = new Set<ServerResponse>();
  let isLeaving = false;
  let refuser: PrebuiltResponses | undefined;
  let load: LoadShedding | undefined;
  let lookAfterAnswers: LookAfterAnswers | undefined;

  /** Answers, past Node.js, what has no response of its own or whose handler waits for the body; then closes the connection. */
  async function refuse(socket: Duplex, url: string, refused: Problem): Promise<void> {
    const bytes = await refusalBy(known, socket, url, refused)
      .then(onWire)
      .catch(() => null);
    // What is half answered cannot be answered otherwise.
    const current = connections.answerOn(socket);
    const isBegun = current !== undefined && current.headersSent && !current.writableFinished;
    if (bytes === null || isBegun || !socket.writable) socket.destroy();
    else socket.end(bytes, () => socket.destroy());
  }

  // One function for all responses: an answer may stay open for long.
  function finished(this: ServerResponse): void {
    unfinished.delete(this);
  }

  /** Lets the app answer; it also answers a request that is refused. */
  const handle =
    (expectation: Problem | null): RequestListener =>
    (request, response) => {
      connections.begun(request, response);
      unfinished.add(response);
      response.on('close', finished);
      // Node.js says `Connection: close` for it.
      if (isLeaving) response.shouldKeepAlive = false;
      const url = request.url ?? '/';
      const refused = malformation(request) ?? expectation;
      if (refused !== null) {
        markRefused(request, refused);
        request.url = pathNear(url);
        response.setHeader('Connection', 'close');
      }
      request.headers.host = ourName;
      enforceBodyRate(request, response, rate, () => void refuse(request.socket, url, refusedWith(408)));
      answer(request, response);
    };

  // A request has no time in which it must be complete, since a document of 2 GB may take hours, but a least rate.
  const server = createServer(
    { keepAliveTimeout: keptSeconds * 1_000, requestTimeout: 0, headersTimeout: patience, requireHostHeader: false },
    handle(null),
  );
  const connections = watchConnections(server, {
    patience,
    keptMillis: keptSeconds * 1_000,
    answer(bytes, socket) {
      if (refuser === undefined || isLeaving || !load?.isOverloaded()) return null;
      const asked = simpleRequest(bytes);
      return asked && refuser.answerTo(asked, socket);
    },
    tooLate: (socket) => void refuse(socket, '/', refusedWith(408)),
  });
  server.on('checkExpectation', handle(refusedWith(417)));
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else void refuse(socket, addressIn(error.rawPacket), refusedWith(statuses[error.code ?? ''] ?? 400));
  });
  const opened = await open(server);
  const looking = setInterval(() => lookAfterAnswers?.(unfinished), unreadLookMillis).unref();
  function leave(): void {
    isLeaving = true;
    for (const response of unfinished) response.shouldKeepAlive = false;
  }
  return {
    port: opened.port,
    answerWith(app, services) {
      known = app;
      load = services?.load;
      lookAfterAnswers = services?.lookAfterAnswers;
      // Its own Request and Response stand in for the global ones: an answer of text goes out without a stream, which
      // saves a good part of the time that we add.
      const answerByApp = getRequestListener(app.fetch, { hostname: ourName, overrideGlobalObjects: true });
      const direct = directListenerOf(app);
      const answerAtOnce: RequestListener = direct
        ? (request, response) => direct(request, response, () => void answerByApp(request, response))
        : answerByApp;
      if (load === undefined) {
        answer = answerAtOnce;
        return;
      }
      const { admit } = load;
      const { refuse: refuseAsTooMuch } = (refuser = openPrebuiltResponses(app, load, keptSeconds));
      answer = (request, response) =>
        admit(
          request,
          response,
          () => void answerAtOnce(request, response),
          () => refuseAsTooMuch(request, response),
        );
    },
    leave,
    async close(seconds) {
      // A client that kept its connection would send the next request while it is closed.
      leave();
      const closed = opened.close();
      const until = performance.now() + seconds * 1_000;
      const closing = setInterval(() => {
        // What has come by now is read first.
        setImmediate(() => {
          // A connection that became idle after its answer would be kept for the next request.
          server.closeIdleConnections();
          connections.closeUnused();
          // Also those which were taken by a socket that was closed last.
          if (performance.now() >= until) server.closeAllConnections();
        });
      }, 50);
      await closed;
      clearInterval(closing);
      clearInterval(looking);
    },
  };
}
