/**
 * Answers the most frequent requests with Node.js's own request and response: web requests, web responses and
 * middleware take longer than the rest of such a response. Any request that is not of the plainest form goes to the
 * app, and so does one that cannot be answered with success.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hono } from 'hono';
import { isMarkedRefused } from './malformed.ts';
import type { RequestOrigin } from './origin.ts';
import { idFrom } from './request-id.ts';

/** A response with status 200. */
interface DirectAnswer {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DirectAnswers {
  /** Whether a request with this head may be one to answer directly. */
  takes(request: IncomingMessage): boolean;
  /** The response, or null when the app has to answer. Reads the body, which {@link bodyOf} keeps for the app. */
  answer(request: IncomingMessage, from: RequestOrigin): Promise<DirectAnswer | null>;
}

/** The headers of every response, and what the app does for a request besides answering it. */
interface DirectOptions {
  readonly headers: Readonly<Record<string, string>>;
  addressOf(request: IncomingMessage): string;
  /** Called after a response was sent. */
  note(request: IncomingMessage, from: RequestOrigin, millis: number): void;
  /** Called with an error, after which the app answers. */
  failed(from: RequestOrigin, error: unknown): void;
}

/** Answers a request, or calls `next` to let the app answer. */
type DirectListener = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

const listeners = new WeakMap<Hono, DirectListener>();
/** Start times of requests that the app had to answer after all. */
const beganAt = new WeakMap<object, number>();

/** The listener that precedes this app, if any. */
export const directListenerOf = (app: Hono): DirectListener | undefined => listeners.get(app);

/** When a request that was tried before the app began, by performance.now(). */
export const beganBefore = (incoming: object | undefined): number | undefined => incoming && beganAt.get(incoming);

/** Has requests answered directly where possible, before they reach the app. */
export function answerDirectly(
  app: Hono,
  { takes, answer }: DirectAnswers,
  { headers, addressOf, note, failed }: DirectOptions,
): void {
  if (listeners.has(app)) throw new Error('Something is asked before this app already.');
  listeners.set(app, (request, response, next) => {
    if (isMarkedRefused(request) || !takes(request)) return next();
    const start = performance.now();
    const from = { address: addressOf(request), requestId: idFrom(request.headers['x-request-id']) ?? randomUUID() };
    const leaveToApp = () => {
      // The app's response has the same request id, and its duration counts from the same start.
      request.headers['x-request-id'] = from.requestId;
      beganAt.set(request, start);
      next();
    };
    answer(request, from)
      .then((answered) => {
        if (answered === null) return leaveToApp();
        const { text } = answered;
        const own = { 'X-Request-Id': from.requestId, 'Content-Length': Buffer.byteLength(text) };
        response.writeHead(200, { ...headers, ...answered.headers, ...own });
        response.end(text);
        const millis = performance.now() - start;
        setImmediate(() => note(request, from, millis));
      })
      .catch((error: unknown) => {
        failed(from, error);
        if (response.headersSent) response.destroy();
        else leaveToApp();
      });
  });
}

/**
 * Reads the body of a request, and keeps it in `rawBody`, where the app looks for a body that was read already; null
 * when it does not arrive completely.
 */
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
