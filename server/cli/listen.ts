/** Listens for requests, and stops gracefully. */

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
  /** The port, even if a free one was requested. */
  readonly port: number;
  /**
   * From now on `app` answers, at most as many requests at once as `load` admits; before, every request except /healthz
   * gets 503 with Retry-After.
   */
  answerWith(app: Hono, services?: Pick<Services, 'load' | 'lookAfterAnswers'>): void;
  /**
   * From now on every response is the last on its connection, so that clients go elsewhere; requests are still
   * accepted.
   */
  leave(): void;
  /**
   * Leaves, accepts no new connections, waits at most `seconds` for the requests in flight, then closes the remaining
   * connections. May be called again.
   */
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
  response.end(alive ? 'ok\n' : 'Starting: try again shortly.\n');
};

/** Seconds that a connection is kept open without a request. */
const keptSeconds = 65;
/** Milliseconds within which the head of a request must arrive. */
const patience = 30_000;

/** The host of every request, whatever its Host header says: the header is not used for anything. */
const ourName = 'localhost';

/**
 * The refusal as the app formats it; a line of plain text before there is an app, or from an app that does not handle
 * refusals.
 */
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

/** The URL in the first line of bytes that could not be parsed as a request; '/' if missing. */
const addressIn = (packet: Buffer | undefined): string =>
  /^[A-Z]{1,20} (\S{1,2000})/.exec(packet?.toString('latin1', 0, 2_048) ?? '')?.[1] ?? '/';

/**
 * Opens the port; `rate` is the minimum speed at which the body of a request must arrive. Rejects with CannotListen.
 */
export const listen = (host: string, port: number, rate = leastBodyRate): Promise<Listener> =>
  listenBy((server) => openPort(server, host, port), rate);

/** Answers requests at the port that `open` opens for the server; rejects as `open` does. */
export async function listenBy(open: (server: Server) => Promise<Port>, rate = leastBodyRate): Promise<Listener> {
  let answer: RequestListener = notReady;
  let known: Hono | null = null;
  const unfinished = new Set<ServerResponse>();
  let isLeaving = false;
  let refuser: PrebuiltResponses | undefined;
  let load: LoadShedding | undefined;
  let lookAfterAnswers: LookAfterAnswers | undefined;

  /**
   * Refuses, bypassing Node.js, a request that has no response object or whose handler waits for the body; then closes
   * the connection. Only closes it when a response has begun.
   */
  async function refuse(socket: Duplex, url: string, refused: Problem): Promise<void> {
    const bytes = await refusalBy(known, socket, url, refused)
      .then(onWire)
      .catch(() => null);
    // A response that was partly sent cannot be replaced.
    const current = connections.answerOn(socket);
    const isBegun = current !== undefined && current.headersSent && !current.writableFinished;
    if (bytes === null || isBegun || !socket.writable) socket.destroy();
    else socket.end(bytes, () => socket.destroy());
  }

  // One function for all responses, which may stay open for long.
  function finished(this: ServerResponse): void {
    unfinished.delete(this);
  }

  /** Lets the app answer, also to format a refusal. */
  const handle =
    (expectation: Problem | null): RequestListener =>
    (request, response) => {
      connections.begun(request, response);
      unfinished.add(response);
      response.on('close', finished);
      // Makes Node.js send `Connection: close`.
      if (isLeaving) response.shouldKeepAlive = false;
      const url = request.url ?? '/';
      const refused = malformation(request) ?? expectation;
      if (refused !== null) {
        markRefused(request, refused);
        request.url = pathNear(url);
        response.setHeader('Connection', 'close');
      }
      request.headers.host = ourName;
      enforceBodyRate(request, rate, () => void refuse(request.socket, url, refusedWith(408)));
      answer(request, response);
    };

  // A request has no time limit, since a document of 2 GB may take hours, but a minimum rate.
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
      // With its own Request and Response in place of the global ones, the listener sends text responses without a
      // stream, which saves much of our overhead.
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
      // Otherwise clients with open connections would send the next request while they are closed.
      leave();
      const closed = opened.close();
      const until = performance.now() + seconds * 1_000;
      const closing = setInterval(() => {
        // Bytes that have already arrived are read first.
        setImmediate(() => {
          // A connection that became idle after its response would otherwise be kept for the next request.
          server.closeIdleConnections();
          connections.closeUnused();
          // Includes connections accepted by a socket that was closed last.
          if (performance.now() >= until) server.closeAllConnections();
        });
      }, 50);
      await closed;
      clearInterval(closing);
      clearInterval(looking);
    },
  };
}
