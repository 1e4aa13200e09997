/**
 * Answers that the app makes once, to be sent without running it again: for each interface the refusal while the node is
 * overloaded, and the answer that the process is alive.
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
  /** The first lines as they go over the wire, without those that each answer has of its own. */
  readonly head: string;
  /** What stands around the id of the request, wherever the body names it. */
  readonly body: readonly string[];
}

type Header = (name: string) => string | undefined;

const perRequest = new Set(['x-request-id', 'content-length', 'date', 'connection']);

/** What the app answers at this path; with `isRefused`, when it refuses. */
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
  // What follows of a body is not read: its connection is of no more use.
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

/** The header Date, made once a second. */
function date(): string {
  const now = Date.now();
  if (now >= dateUntil) {
    dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    dateUntil = now - (now % 1_000) + 1_000;
  }
  return dateLine;
}

/** The bytes of an answer on a connection that is kept for `keptSeconds`, as Node.js writes them. */
function onWire(prepared: Prepared, given: string | undefined, keptSeconds: number): string {
  const id = idFrom(given) ?? randomUUID();
  const text = prepared.body.join(id);
  return (
    `${prepared.head}X-Request-Id: ${id}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${date()}` +
    `Connection: keep-alive\r\nKeep-Alive: timeout=${keptSeconds}\r\n\r\n${text}`
  );
}

export interface PrebuiltResponses {
  /** Refuses a request with 503, in the form of the interface that was meant. */
  refuse(request: IncomingMessage, response: ServerResponse): void;
  /**
   * What to write to a connection in answer to a request that Node.js never sees: the refusal when there is no place for
   * it, that the process is alive when it asks for that; null when it is to be answered in the usual way.
   */
  answerTo(asked: SimpleRequest, socket: Socket): string | null;
}

/** Refuses requests to the app when `load` is too much. */
export function openPrebuiltResponses(app: Hono, load: LoadShedding, keptSeconds: number): PrebuiltResponses {
  const made = new Map<string, Prepared>();

  /** Which interface was meant, and which of the prepared answers refuses this. */
  function meant(target: string, header: Header): { name: string; kind: string } {
    const [path = '/'] = target.split('?', 1);
    const { name } = interfaceAt(path);
    const destination = header('sec-fetch-dest') ?? (header('accept')?.includes('text/html') ? 'document' : '');
    return { name, kind: `${name} ${destination === 'document' || destination === 'iframe'}` };
  }

  /** Has what is answered ready for the next time. */
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
      // The first is refused by the app itself, and those who operate us are answered.
      if (known === undefined || isForOperators(target)) return null;
      if (!load.hasNoPlace({ target, header, remoteAddress: socket.remoteAddress })) return null;
      load.refused(name);
      return onWire(known, id, keptSeconds);
    },
  };
}
