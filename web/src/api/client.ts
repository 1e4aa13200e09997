/**
 * The only HTTP client for the server: JSON requests and responses, the CSRF token on every change, errors as
 * {@link ApiError}. The parameters and response of each path are typed in server/contract.ts.
 */
import type { Answer, ErrorBody, Method, PathOf, RequestOptions } from '../../../server/contract.ts';
import { unattendedHeader } from '../lib/user-activity.ts';
import { wholeNumber } from '../lib/whole-number.ts';

/** An argument that may be omitted when none of its fields is required. */
type Needed<T> = {} extends T ? [options?: T] : [options: T];

/** A response that is not 2xx, or no response (`status` 0). `message` is meant for the person. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly { path: string; message: string }[];
  /** Seconds after which to retry; null when the server does not say. */
  readonly retryAfter: number | null;
  /** Whether the server asked the person to prove who they are and they cancelled: they know that nothing was done. */
  calledOff = false;

  constructor(status: number, error: ErrorBody['error'], retryAfter: number | null = null) {
    super(error.message);
    this.retryAfter = retryAfter;
    this.name = 'ApiError';
    this.status = status;
    this.code = error.code;
    this.details = error.details ?? [];
  }
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** The options of a request to any path. */
export interface Options {
  param?: Readonly<Record<string, string>>;
  query?: Query;
  json?: unknown;
  signal?: AbortSignal;
}

let csrf: string | null = null;
/**
 * When the most recently answered request was sent, and the first request that found the person signed in, as Unix
 * times in milliseconds by the server's clock.
 */
let lastAsked: number | null = null;
let firstAsked: number | null = null;

/** Has the person sign in again; resolves to true when they did and their request may be repeated. */
export type SignInAgain = () => Promise<boolean>;

const sessionEnds: SignInAgain[] = [];
let signingInAgain: Promise<boolean> | null = null;
/** Requests in progress that change the account: some of their responses replace the browser's session. */
const accountChanges = new Set<Promise<Response>>();

/** Keeps the session's CSRF token, from GET /api/web/me or a sign-in; null after signing out. */
export function keepCsrf(token: string | null): void {
  if (token === null) firstAsked = null;
  else if (csrf === null) firstAsked = lastAsked;
  csrf = token;
}

/**
 * When the oldest data shown was requested, as Unix time in milliseconds by the server's clock; null when not known.
 */
export const shownSince = (): number | null => firstAsked;

/** The header that every change carries; empty before sign-in. */
export function csrfHeader(): Record<string, string> {
  return csrf === null ? {} : { 'X-CSRF-Token': csrf };
}

/**
 * Registers a handler for requests that find the session ended; the most recently registered one is called. Returns a
 * function that removes it.
 */
export function whenSessionEnds(ask: SignInAgain): () => void {
  sessionEnds.unshift(ask);
  return () => void sessionEnds.splice(sessionEnds.indexOf(ask), 1);
}

/**
 * The URL of `path` below /api with its parameters and query: '/web/deals/:id' with {param: {id}} gives
 * "/api/web/deals/…".
 */
export function addressOf(path: string, { param = {}, query = {} }: Options): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(param[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  return `/api${filled}${search.size > 0 ? `?${search}` : ''}`;
}

/** The URL that the browser itself navigates to, for instance to download a file. */
export const address = <P extends PathOf<'get'>>(path: P, ...[options]: Needed<RequestOptions<'get', P>>): string =>
  addressOf(path, options ?? {});

/** Method and path below /api of a request. */
interface Asked {
  method: string;
  path: string;
}

/** Whether the request can be repeated without creating anything twice: GET, and requests about one's own account. */
const isRepeatable = ({ method, path }: Asked): boolean => method === 'GET' || path.startsWith('/auth/');

const unreachable = {
  code: 'unreachable',
  message: 'Dealkeep cannot be reached. Check your connection and try again.',
};
const offline = {
  code: 'offline',
  message: 'You are offline, so nothing was sent. What you entered is still here: try again when you are back online.',
};
const unanswered = {
  code: 'unanswered',
  message:
    'The connection was lost before Dealkeep answered. Your change may have been saved, so check before you send it again. What you entered is still here.',
};
/** What these errors say of a change that was not entered in a form. */
const withoutForm: Readonly<Record<string, string>> = {
  offline: 'Nothing was changed: you are offline.',
  unanswered: 'The connection was lost before Dealkeep answered. Check whether it was done before you try again.',
};

/** The message of an error of a change that was not entered in a form, so that nothing of it stays on the page. */
export const messageWithoutForm = ({ status, code, message }: ApiError): string =>
  (status === 0 ? withoutForm[code] : undefined) ?? message;

/** The error for a response in an unknown format. */
const broken = (asked: Asked) => ({
  code: 'internal_error',
  message: `Something went wrong on our side. ${isRepeatable(asked) ? 'Try again' : 'Check whether it was done before you try again'}. If it happens again, tell whoever runs Dealkeep when it happened.`,
});

function isErrorBody(value: unknown): value is ErrorBody {
  const error = (value as ErrorBody | null)?.error;
  return typeof error?.message === 'string' && typeof error.code === 'string';
}

/** The error for a failed fetch. */
export const cannotBeReached = (): ApiError => new ApiError(0, unreachable);

/**
 * The error for a request whose response did not arrive, or not completely; `sent` is whether the browser was online
 * when it was sent.
 */
function noAnswer(asked: Asked, sent: boolean): ApiError {
  if (asked.method === 'GET') return cannotBeReached();
  if (!sent) return new ApiError(0, offline);
  return new ApiError(0, isRepeatable(asked) ? unreachable : unanswered);
}

/** The error of a response, from its text; an unknown format is reported as an error on our side. */
export function errorOf(asked: Asked, status: number, text: string, retryAfter: string | null = null): ApiError {
  const seconds = retryAfter !== null && /^\d{1,4}$/.test(retryAfter) ? wholeNumber(retryAfter) : null;
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) return new ApiError(status, body.error, seconds);
  } catch {
    // Not JSON: perhaps a proxy's page.
  }
  return new ApiError(status, broken(asked), seconds);
}

/** Whether the error says that the session known to the page has ended or been replaced by another one. */
export const isSessionOver = ({ code }: ApiError): boolean =>
  code === 'signed_out' || code === 'not_signed_in' || code === 'csrf_token_mismatch';

/** Paths for which such an error means that nobody is signed in. The other paths under /auth need no session. */
const endsThere = new Set(['/auth/session', '/auth/sign-out']);

/**
 * Whether there is a session again after an error that said it was over: the person has signed in again, here or in
 * another tab, or the session of the request had been replaced by another one. All requests wait for the same sign-in.
 */
export async function isSignedInAgain(error: ApiError, path: string): Promise<boolean> {
  const [signInAgain] = sessionEnds;
  if (signInAgain === undefined || !isSessionOver(error) || endsThere.has(path)) return false;
  await Promise.allSettled(accountChanges);
  signingInAgain ??= signInAgain().finally(() => (signingInAgain = null));
  return signingInAgain;
}

// ECMAScript's JSON.parse source text access, not yet in TypeScript's library. Browsers from before 2025 lack it;
// there, numbers are rounded.
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
  rawJSON?(text: string): unknown;
}

const { parse, rawJSON }: ExactJson = JSON as unknown as ExactJson;

/**
 * Parses JSON. A number with more digits than a JavaScript number can hold becomes a raw JSON value, which is
 * serialized again exactly as it was received.
 */
function exactly(text: string): unknown {
  // Numbers with fewer digits are never rounded, and a reviver takes ten times as long.
  if (rawJSON === undefined || !/\d[\d.]{15}/.test(text)) return JSON.parse(text);
  return parse(text, (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value,
  );
}

/**
 * The value of a successful response, from its text; text that is not JSON, such as a proxy's page, is reported as an
 * error on our side.
 */
export function valueOf(asked: Asked, status: number, text: string): unknown {
  try {
    return exactly(text);
  } catch {
    throw new ApiError(status, broken(asked));
  }
}

interface Text {
  status: number;
  text: string;
}

async function requestText(method: string, path: string, options: Options, again = false): Promise<Text> {
  const { json, signal } = options;
  const headers: Record<string, string> = { Accept: 'application/json' };
  Object.assign(headers, method === 'GET' ? unattendedHeader() : csrfHeader());
  if (json !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  const began = performance.now();
  const online = navigator.onLine;
  const asked = fetch(addressOf(path, options), {
    method,
    headers,
    body: json === undefined ? null : JSON.stringify(json),
    credentials: 'same-origin',
    signal: signal ?? null,
  });
  if (method !== 'GET' && path.startsWith('/auth/')) accountChanges.add(asked);
  try {
    response = await asked;
  } catch (fault) {
    if (signal?.aborted) throw fault;
    throw noAnswer({ method, path }, online);
  } finally {
    accountChanges.delete(asked);
  }
  const answered = Date.parse(response.headers.get('date') ?? '');
  if (!Number.isNaN(answered)) lastAsked = Math.floor(answered - (performance.now() - began));
  const text = await response.text().catch((fault: unknown) => {
    if (signal?.aborted) throw fault;
    throw noAnswer({ method, path }, true);
  });
  if (!response.ok) {
    const error = errorOf({ method, path }, response.status, text, response.headers.get('retry-after'));
    if (!again && (await isSignedInAgain(error, path))) return requestText(method, path, options, true);
    throw error;
  }
  return { status: response.status, text };
}

async function request(method: string, path: string, options: Options): Promise<unknown> {
  const { status, text } = await requestText(method, path, options);
  return text === '' ? undefined : valueOf({ method, path }, status, text);
}

/** POSTs as {@link api} does, but returns the response's text: parsing would round its numbers. */
export const postForText = async <P extends PathOf<'post'>>(
  path: P,
  ...[options]: Needed<RequestOptions<'post', P>>
): Promise<string> => (await requestText('POST', path, options ?? {})).text;

// The response is trusted to have the type that the server declares for the route.
const by =
  <M extends Method>(method: M) =>
  <P extends PathOf<M>>(path: P, ...[options]: Needed<RequestOptions<M, P> & { signal?: AbortSignal | undefined }>) =>
    request(method.toUpperCase(), path, options ?? {}) as Promise<Answer<M, P>>;

/**
 * Requests by path below /api, for instance `api.get('/web/deals/:id', { param: { id } })`. Each rejects with an
 * {@link ApiError}.
 */
export const api = {
  get: by('get'),
  post: by('post'),
  put: by('put'),
  patch: by('patch'),
  delete: by('delete'),
};
