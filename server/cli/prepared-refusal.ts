/** The answer to requests that are refused because too much is asked for: made once for each interface, then only sent. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hono } from 'hono';
import { tooMuch, type LoadShedding } from '../http/load-shedding.ts';
import { markRefused, pathNear } from '../http/malformed.ts';
import { idFrom } from '../http/request-id.ts';
import { interfaceAt } from '../app.ts';

interface Prepared {
  readonly headers: readonly string[];
  readonly body: string;
  /** The id of the request that it was made for. */
  readonly id: string;
}

const perRequest = new Set(['x-request-id', 'content-length', 'date', 'connection']);

async function prepare(app: Hono, request: IncomingMessage): Promise<Prepared> {
  const incoming = { socket: request.socket };
  markRefused(incoming, tooMuch());
  const { accept, 'sec-fetch-dest': destination } = request.headers;
  const headers = new Headers({
    ...(accept && { accept }),
    ...(destination && { 'sec-fetch-dest': `${destination}` }),
  });
  const answer = await app.request(pathNear(request.url ?? '/'), { headers }, { incoming });
  return {
    headers: [...answer.headers].filter(([name]) => !perRequest.has(name)).flat(),
    body: await answer.text(),
    id: answer.headers.get('x-request-id') ?? '',
  };
}

function send(request: IncomingMessage, response: ServerResponse, { headers, body, id: preparedFor }: Prepared): void {
  const id = idFrom(request.headers['x-request-id']) ?? randomUUID();
  const text = preparedFor === '' ? body : body.replaceAll(preparedFor, id);
  // What follows of a body is not read: its connection is of no more use.
  const length = Number(request.headers['content-length'] ?? 0);
  const isLong = request.headers['transfer-encoding'] !== undefined || length > 65_536;
  const closing = isLong ? ['Connection', 'close'] : [];
  response.writeHead(503, [...headers, ...closing, 'X-Request-Id', id, 'Content-Length', `${Buffer.byteLength(text)}`]);
  response.end(text);
}

/** Refuses requests to the app with 503, in the form of the interface that was meant. */
export function refuser(app: Hono, load: LoadShedding): (request: IncomingMessage, response: ServerResponse) => void {
  const prepared = new Map<string, Prepared>();
  return (request, response) => {
    const { url = '/', headers } = request;
    const [path = '/'] = url.split('?', 1);
    const { name } = interfaceAt(path);
    load.refused(name);
    const isPage = headers['sec-fetch-dest'] ?? (headers.accept?.includes('text/html') ? 'document' : '');
    const kind = `${name} ${isPage === 'document' || isPage === 'iframe'}`;
    const known = prepared.get(kind);
    if (known) return send(request, response, known);
    prepare(app, request).then(
      (made) => {
        prepared.set(kind, made);
        send(request, response, made);
      },
      () => response.destroy(),
    );
  };
}
