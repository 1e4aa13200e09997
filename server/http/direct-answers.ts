/**
 * Answers by Node.js's own request and response, for what is asked most: web requests, web responses and middleware take longer than
 * all that such an answer needs. Whatever is not of the plainest form goes to the app, and so does what cannot be answered with success.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hono } from 'hono';
import { isMarkedRefused } from './malformed.ts';
import type { RequestOrigin } from './origin.ts';
import { idFrom } from './request-id.ts';

/** An answer of 200. */
export interface DirectAnswer {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DirectAnswers {
  /** Whether a request with these first lines may be one of them. */
  takes(request: IncomingMessage): boolean;
  /** Null where the app has to answer. Reads the body, which {@link bodyOf} keeps for the app. */
  answer(request: IncomingMessage, from: RequestOrigin): Promise<DirectAnswer | null>;
}

/** What every answer needs besides. */
export interface Surroundings {
  readonly headers: Readonly<Record<string, string>>;
  addressOf(request: IncomingMessage): string;
  /** Told of an answer once it is on its way. */
  note(request: IncomingMessage, from: RequestOrigin, millis: number): void;
}

/** Answers a request, or has the app do it. */
export type DirectListener = (request: IncomingMessage, response: ServerResponse, otherwise: () => void) => void;

const listeners = new WeakMap<Hono, DirectListener>();

/** What is asked before this app, if anything. */
export const directListenerOf = (app: Hono): DirectListener | undefined => listeners.get(app);

/** Has these answers asked for before the app. */
export function answerDirectly(
  app: Hono,
  { takes, answer }: DirectAnswers,
  { headers, addressOf, note }: Surroundings,
): void {
  listeners.set(app, (request, response, otherwise) => {
    if (isMarkedRefused(request) || !takes(request)) return otherwise();
    const start = performance.now();
    const from = { address: addressOf(request), requestId: idFrom(request.headers['x-request-id']) ?? randomUUID() };
    answer(request, from)
      .then((answered) => {
        // What the app answers is known by the same id.
        if (answered === null) request.headers['x-request-id'] = from.requestId;
        if (answered === null) return otherwise();
        const { text } = answered;
        const own = { 'X-Request-Id': from.requestId, 'Content-Length': Buffer.byteLength(text) };
        response.writeHead(200, { ...headers, ...answered.headers, ...own });
        response.end(text);
        const millis = performance.now() - start;
        setImmediate(() => note(request, from, millis));
      })
      .catch(() => (response.headersSent ? response.destroy() : otherwise()));
  });
}

/** The body of a request, which the app finds under the name by which it looks for one that was read already; null when it does not arrive whole. */
export function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => {
      const [first] = parts;
      const rawBody = parts.length === 1 && first ? first : Buffer.concat(parts);
      Object.assign(request, { rawBody });
      resolve(rawBody);
    });
    request.once('close', () => resolve(null));
  });
}
