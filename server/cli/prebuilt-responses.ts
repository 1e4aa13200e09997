/**
 * Responses that the app produces once and that are then sent without running it: for each interface the refusal while
 * the node is overloaded, and the response that the process is alive.
 */

import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Hono } from 'hono';
import { isForOperators, tooMuch, type LoadShedding } from '../http/load-shedding.ts';
import { markRefused, pathNear } from '../http/malformed.ts';
import { idFrom } from '../http/request-id.ts';
import type { SimpleRequest } from '../http/simple-request.ts';
import { interfaceAt } from '../app.ts';

interface Prepared {
  readonly status: number;
  readonly headers: readonly string[];
  /** Status line and headers as sent on the wire, without the headers that differ per response. */
  readonly head: string;
  /** The parts of the body around the request's id, wherever the body contains it. */
  readonly body: readonly string[];
}

type Header = (name: string) => string | undefined;

const perRequest = new Set(['x-request-id', 'content-length', 'date', 'connection']);

/** The app's response at this path; with `isRefused`, its refusal. */
async function prepare(
  app: Hono,
  target: string,
  header: Header,
  socket: Socket,
  isRefused: boolean,
): Promise<Prepared> {
  const incoming = { socket };
  if (isRefused) markRefused(incoming, tooMuch());
  const headers = new Headers();
  for (const name of ['accept', 'sec-fetch-dest']) {
    const value = header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const answer = await app.request(pathNear(target), { headers }, { incoming });
  const { status } = answer;
  const kept = [...answer.headers].filter(([name]) => !perRequest.has(name));
  const id = answer.headers.get('x-request-id') ?? '';
  const text = await answer.text();
  return {
    status,
    headers: kept.flat(),
    head: [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...kept.map((line) => line.join(': ')), ''].join('\r\n'),
    body: id === '' ? [text] : text.split(id),
  };
}

function send(request: IncomingMessage, response: ServerResponse, prepared: Prepared): void {
  const id = idFrom(request.headers['x-request-id']) ?? randomUUID();
  const text = prepared.body.join(id);
  // The rest of a long body is not read, so the connection cannot be reused.
  const length = Number(request.headers['content-length'] ?? 0);
  const isLong = request.headers['transfer-encoding'] !== undefined || length > 65_536;
  const closing = isLong ? ['Connection', 'close'] : [];
  const { status, headers } = prepared;
  response.writeHead(status, [
    ...headers,
    ...closing,
    'X-Request-Id',
    id,
    'Content-Length',
    `${Buffer.byteLength(text)}`,
  ]);
  response.end(text);
}

let dateLine = '';
let dateUntil = 0;

/** The Date header, formatted once a second. */
function date(): string {
  const now = Date.now();
  if (now >= dateUntil) {
    dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    dateUntil = now - (now % 1_000) + 1_000;
  }
  return dateLine;
}

/** A response for a connection that is kept for `keptSeconds`, in the format of Node.js. */
function onWire(prepared: Prepared, given: string | undefined, keptSeconds: number): string {
  const id = idFrom(given) ?? randomUUID();
  const text = prepared.body.join(id);
  return (
    `${prepared.head}X-Request-Id: ${id}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${date()}` +
    `Connection: keep-alive\r\nKeep-Alive: timeout=${keptSeconds}\r\n\r\n${text}`
  );
}

export interface PrebuiltResponses {
  /** Refuses a request with 503, in the format of the interface that it addresses. */
  refuse(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Returns what to write to a connection in response to a request that Node.js never sees: the refusal when the node
   * has no capacity for the request, the response that the process is alive when the request asks for that; null when
   * the request is to be handled in the usual way.
   */
  answerTo(asked: SimpleRequest, socket: Socket): string | null;
}

/** Makes the refusals of requests to the app while `load` is too high. */
export function openPrebuiltResponses(app: Hono, load: LoadShedding, keptSeconds: number): PrebuiltResponses {
  const made = new Map<string, Prepared>();

  /** The interface that the request addresses, and the key of the prebuilt response that refuses it. */
  function meant(target: string, header: Header): { name: string; kind: string } {
    const [path = '/'] = target.split('?', 1);
    const { name } = interfaceAt(path);
    const destination = header('sec-fetch-dest') ?? (header('accept')?.includes('text/html') ? 'document' : '');
    return { name, kind: `${name} ${destination === 'document' || destination === 'iframe'}` };
  }

  /** Keeps the response for later requests. */
  function makeReady(kind: string, prepared: Promise<Prepared>): Promise<Prepared> {
    void prepared.then(
      (answer) => made.set(kind, answer),
      () => {},
    );
    return prepared;
  }

  return {
    refuse(request, response) {
      const { url = '/', headers, socket } = request;
      const header: Header = (name) => headers[name]?.toString();
      const { name, kind } = meant(url, header);
      load.refused(name);
      const known = made.get(kind);
      if (known) return send(request, response, known);
      makeReady(kind, prepare(app, url, header, socket, true)).then(
        (prepared) => send(request, response, prepared),
        () => response.destroy(),
      );
    },
    answerTo({ target, header }, socket) {
      const id = header('x-request-id');
      if (target === '/healthz') {
        const known = made.get(target);
        if (known) return onWire(known, id, keptSeconds);
        void makeReady(target, prepare(app, target, header, socket, false));
        return null;
      }
      const { name, kind } = meant(target, header);
      const known = made.get(kind);
      // The app itself refuses the first request of each kind, and requests of operators are answered.
      if (known === undefined || isForOperators(target)) return null;
      if (!load.hasNoPlace({ target, header, remoteAddress: socket.remoteAddress })) return null;
      load.refused(name);
      return onWire(known, id, keptSeconds);
    },
  };
}
