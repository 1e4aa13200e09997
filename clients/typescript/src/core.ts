/** Sends requests: adds the key and idempotency keys, and retries when that is safe. */

import { errorOf, NotReached, RateLimited, Redirected, ServiceFailed, type DealkeepError } from './errors.ts';
import { Calls, operations, type Event, type ListName, type Operations } from './generated.ts';
import type { CallOptions, DealkeepOptions } from './options.ts';
import { retryAfterOf } from './retry-after.ts';

/** What to follow, and how many seconds to wait (`every`) while nothing is new. */
export type FollowInput = Operations['listEvents']['input'] & { readonly every?: number };

/** The type of a list's elements. */
type Item<Name extends ListName> = Operations[Name]['output'] extends { data: readonly (infer One)[] } ? One : never;

/** How an operation is sent, as listed in `generated.ts`. */
interface Route {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Whether the response is a file, which can itself be JSON. */
  readonly isFile?: boolean;
  /** Whether the response is empty. */
  readonly isEmpty?: boolean;
}

type Input = Readonly<Record<string, unknown>>;

/** When an attempt times out, and when it is retried. */
interface Rules {
  readonly signal: AbortSignal | undefined;
  /** Milliseconds; null for no limit. */
  readonly timeout: number | null;
  /** Whether the body can be sent again. */
  readonly canRepeat: boolean;
  /** Whether the request is safe to repeat. */
  readonly isSafe: boolean;
  /** Whether the time limit also applies while a file arrives. */
  readonly limitsFile: boolean;
  readonly answers: 'file' | 'json' | 'nothing';
}

interface Answer {
  readonly response: Response;
  /** The result of a success: the value of the JSON, or the response itself for a file. */
  readonly answered: unknown;
}

const idempotent = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

/** Responses that pass by themselves, although something may have been done: also those of a proxy in front of the service. */
const passing = new Set([408, 502, 503, 504]);

const isGiven = (value: unknown): value is string | number | boolean => value !== undefined && value !== null;

/** The part of a path with this value. Throws a TypeError for one that would lead to another path. */
function segment(name: string, value: unknown): string {
  if (!isGiven(value) || /^\.{0,2}$/.test(String(value)))
    throw new TypeError(`${name} is ${JSON.stringify(value)}: give the id of a record.`);
  return encodeURIComponent(String(value));
}

/** Throws a TypeError for an input that the operation does not have: it would be left out without a word. */
function checkInputs({ path, query, headers, body }: Route, input: Input): void {
  const known = new Set([
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    ...Object.keys({ ...query, ...headers }),
    ...(body === null ? [] : ['body']),
  ]);
  const unknown = Object.keys(input).find((name) => isGiven(input[name]) && !known.has(name));
  if (unknown !== undefined) throw new TypeError(`This operation does not have ${unknown}.`);
}

/** The path and the query, with the values of the input. */
function target({ path, query }: Route, input: Input): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, input[name]));
  const asked = new URLSearchParams();
  for (const [name, sent] of Object.entries(query)) if (isGiven(input[name])) asked.append(sent, String(input[name]));
  return asked.size === 0 ? filled : `${filled}?${asked.toString()}`;
}

/** Whether a body is consumed while it is sent, so that it cannot be sent again. */
const isRead = (body: unknown): boolean => typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

/** The headers of a call. Every attempt has the same idempotency key. */
function headersOf({ headers, body }: Route, input: Input): Headers {
  const sent = new Headers({ Accept: 'application/json' });
  for (const [name, header] of Object.entries(headers)) {
    if (isGiven(input[name])) sent.set(header, String(input[name]));
    else if (header === 'Idempotency-Key') sent.set(header, crypto.randomUUID());
  }
  if (body !== null) sent.set('Content-Type', body);
  return sent;
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1_000);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

const tags = new WeakMap<object, string>();

/** The ETag of a result, for `ifMatch`; null if it has none. */
export const etagOf = (answer: object): string | null => tags.get(answer) ?? null;

/** The content of a success that is not a file. Throws if the response is incomplete or does not come from the service, such as a page of a proxy. */
async function contentOf(response: Response, answers: Rules['answers']): Promise<unknown> {
  const type = response.headers.get('content-type') ?? '';
  const isWhole = answers === 'nothing' ? response.status === 204 : /json/.test(type);
  if (isWhole) return answers === 'nothing' ? undefined : response.json();
  await response.body?.cancel();
  throw new TypeError(
    `This is not a response from the Dealkeep API: ${response.status}, ${type || 'no content type'}.`,
  );
}

/** Half a second, doubled for each attempt and shortened at random, so that many clients do not retry at the same time. */
const backOff = (attempt: number): number => 0.5 * 2 ** (attempt - 1) * (1 - Math.random() / 2);

/** The origin of the service, without a slash at the end. Throws a TypeError for what is not one. */
function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.search + parsed.hash + parsed.username !== '')
    throw new TypeError('url must be the origin of the service, such as https://dealkeep.example.com.');
  return url.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
}

/** The key without surrounding white space. Throws a TypeError, which does not contain it, if it cannot be sent. */
function sendable(key: string | undefined): string {
  const trimmed = key?.trim() ?? '';
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new TypeError(
      'key is empty, or has a space, a line break or another character that no key has: copy it again.',
    );
  return trimmed;
}

/** Why no response came, as far as the runtime says. */
function reasonOf(error: unknown): string {
  const innermost = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return innermost instanceof Error ? innermost.message : String(innermost);
}

/** Whether waiting may help: the service was not reached, was busy or failed. */
const mayPass = (error: unknown): boolean =>
  error instanceof NotReached || error instanceof ServiceFailed || error instanceof RateLimited;

/** Whether the service itself says that a record does not exist: a 404 of a proxy, or for an unknown path, has another code. */
const isGone = ({ status, code }: DealkeepError): boolean => status === 404 && code.endsWith('_not_found');

/** A client for one API key, and so for one brokerage. */
export class Dealkeep extends Calls {
  readonly #options: Required<Omit<DealkeepOptions, 'url'>> & { readonly base: string };

  constructor({
    url,
    key,
    attempts = 4,
    longestWait = 60,
    timeout = 30_000,
    fetch = globalThis.fetch,
  }: DealkeepOptions) {
    super();
    const base = `${originOf(url)}/api/v1`;
    if (typeof key !== 'function') sendable(key);
    this.#options = { base, key, attempts, longestWait, timeout, fetch: fetch.bind(globalThis) };
  }

  /** Iterates over all elements of a list; pages are requested when they are needed. */
  async *each<Name extends ListName>(
    name: Name,
    input: Omit<Operations[Name]['input'], 'cursor'> = {} as Omit<Operations[Name]['input'], 'cursor'>,
    options: CallOptions = {},
  ): AsyncGenerator<Item<Name>, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const asked = { limit: 200, ...input, cursor } as Operations[Name]['input'];
      const page: {
        data: readonly unknown[];
        pagination: { nextCursor?: string | null | undefined; hasMore: boolean };
      } = await this.call(name, asked, options);
      yield* page.data as readonly Item<Name>[];
      cursor = page.pagination.hasMore ? page.pagination.nextCursor : null;
    } while (cursor);
  }

  /**
   * Yields pages of events in the order in which the changes were committed, until `signal` is aborted. While nothing is new it asks again every `every` seconds (10). `after` is the
   * `cursor` of the last page that you have processed, or "latest"; without it, the oldest event that is kept comes first. Throws {@link CursorExpired} if the cursor is too old.
   * After the first page it goes on when the service was away or failed for a while.
   */
  async *follow(
    { after, every = 10, ...input }: FollowInput = {},
    options: CallOptions = {},
  ): AsyncGenerator<{ readonly data: readonly Event[]; readonly cursor: string }, void, undefined> {
    const { signal } = options;
    let cursor = after;
    let hasBegun = false;
    try {
      while (!options.signal?.aborted) {
        const page = await this.listEvents({ limit: 200, ...input, after: cursor }, options).catch((error: unknown) => {
          // If nothing ever came, the address or the key may be wrong.
          if (!hasBegun || !mayPass(error)) throw error;
          return error instanceof RateLimited ? error.retryAfter : every;
        });
        if (typeof page === 'number') {
          await pause(Math.max(page, every), signal);
          continue;
        }
        hasBegun = true;
        const { data, pagination } = page;
        cursor = pagination.nextCursor ?? cursor;
        if (cursor !== undefined) yield { data, cursor };
        if (!pagination.hasMore) await pause(every, signal);
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  protected async call<Name extends keyof Operations>(
    name: Name,
    input: Operations[Name]['input'],
    { signal, timeout }: CallOptions = {},
  ): Promise<Operations[Name]['output']> {
    const route: Route = operations[name];
    const given = input as Input;
    checkInputs(route, given);
    const headers = headersOf(route, given);
    const body = given['body'];
    const isJson = route.body !== null && /json/.test(route.body);
    const isStream = isRead(body);
    const init: RequestInit & { duplex?: 'half' } = {
      method: route.method,
      headers,
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as NonNullable<RequestInit['body']>) }),
      // Node.js requires this to send a stream.
      ...(isStream && { duplex: 'half' }),
    };
    const { response, answered } = await this.#answer(target(route, given), init, {
      signal,
      // How long an upload takes depends on its size.
      timeout: timeout ?? (body === undefined || isJson ? this.#options.timeout : null),
      canRepeat: isJson || !isStream,
      isSafe: idempotent.has(route.method) || headers.has('Idempotency-Key'),
      limitsFile: timeout !== undefined,
      answers: route.isFile ? 'file' : route.isEmpty ? 'nothing' : 'json',
    });
    const tag = response.headers.get('etag');
    if (tag !== null && typeof answered === 'object' && answered !== null) tags.set(answered, tag);
    return answered as Operations[Name]['output'];
  }

  /** Sends a request, and retries while that is safe and useful. Throws the error of the last attempt. */
  async #answer(path: string, init: RequestInit, rules: Rules): Promise<Answer> {
    const { signal, canRepeat, isSafe } = rules;
    const { attempts, longestWait } = this.#options;
    let mayBeDone = false;
    for (let attempt = 1; ; attempt += 1) {
      const isLast = !canRepeat || attempt >= attempts;
      let wait: number;
      try {
        const answer = await this.#send(path, init, rules);
        const { response } = answer;
        if (response.ok) return answer;
        // With 429 nothing was done; with 503 and 500 that is not known. 500 is not retried: it does not pass by itself.
        const isBusy = response.status === 429;
        const mayRepeat = isBusy || (passing.has(response.status) && isSafe);
        wait = Math.max(retryAfterOf(response) ?? 0, backOff(attempt));
        if (isLast || !mayRepeat || wait > longestWait) {
          const error = await errorOf(response);
          if (mayBeDone && init.method === 'DELETE' && isGone(error)) return { response, answered: undefined };
          throw error;
        }
        mayBeDone ||= !isBusy;
        await response.body?.cancel();
      } catch (error) {
        if (!(error instanceof NotReached) || isLast || !isSafe) throw error;
        mayBeDone = true;
        wait = backOff(attempt);
      }
      await pause(wait, signal);
    }
  }

  async #send(path: string, init: RequestInit, { signal, timeout, limitsFile, answers }: Rules): Promise<Answer> {
    const { base, key, fetch } = this.#options;
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${sendable(typeof key === 'function' ? await key() : key)}`);
    const limit = timeout === null ? null : AbortSignal.timeout(timeout);
    const late = new AbortController();
    let isStream = false;
    limit?.addEventListener('abort', () => isStream || late.abort(limit.reason), { once: true });
    try {
      const response = await fetch(base + path, {
        ...init,
        headers,
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      });
      // The key is not sent to another address.
      if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
        await response.body?.cancel();
        throw new Redirected(response.headers.get('location'));
      }
      // A file is passed on while it arrives, without a time limit unless the call has one.
      isStream = response.ok && answers === 'file' && !limitsFile;
      return { response, answered: response.ok && answers !== 'file' ? await contentOf(response, answers) : response };
    } catch (error) {
      if (signal?.aborted || error instanceof Redirected) throw error;
      throw new NotReached(
        `The service could not be reached, or did not send a complete response in time: ${reasonOf(error)}`,
        { cause: error },
      );
    }
  }
}
