/** Listens for requests, and stops in an orderly way. */

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { keepPace, usualPace } from './http/body-pace.ts';

export interface Listener {
  /** The port, also when a free one was asked for. */
  readonly port: number;
  /** From now on `app` answers; before, everything gets 503 with Retry-After. */
  answerWith(app: Hono): void;
  /** Takes no new connections, waits for the requests in flight, at most `seconds`, then drops what is left. */
  close(seconds: number): Promise<void>;
}

/** The address cannot be listened on; the message says what to do. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen';
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

/** Opens the port; `pace` is what the body of a request must keep. Rejects with {@link CannotListen}. */
export async function listen(host: string, port: number, pace = usualPace): Promise<Listener> {
  let answer: RequestListener = notReady;
  // A request has no time in which it must be complete, since a document of 2 GB may take hours, but a pace.
  const server = createServer(
    { keepAliveTimeout: 65_000, requestTimeout: 0, headersTimeout: 30_000 },
    (request, response) => {
      keepPace(request, response, pace);
      answer(request, response);
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(refusal(error, host, port)));
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    answerWith(app) {
      // A request without Host has no URL of its own; ours never comes from there (BASE_URL).
      // Its own Request and Response stand in for the global ones: an answer of text goes out without a stream, which
      // saves a good part of the time that we add.
      answer = getRequestListener(app.fetch, { hostname: 'localhost', overrideGlobalObjects: true });
    },
    async close(seconds) {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      // A connection that becomes idle after its answer would be kept for the next request.
      const idle = setInterval(() => server.closeIdleConnections(), 50);
      const late = setTimeout(() => server.closeAllConnections(), seconds * 1000);
      await closed;
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}
