/**
 * The one way to the server: JSON in and out, the CSRF token on every change, errors as {@link ApiError}. What a path
 * takes and answers is said by server/contract.ts.
 */
import type { Answer, ErrorBody, Method, PathOf, RequestOptions } from '../../../server/contract.ts';
import { unattendedHeader } from '../lib/user-activity.ts';
import { wholeNumber } from '../lib/whole-number.ts';

/** An argument that may be left out where nothing in it is needed. */
type Needed<T> = {} extends T ? [options?: T] : [options: T];

/** An answer that is not 2xx, or none at all (`status` 0). `message` is meant for the person. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly { path: string; message: string }[];
  /** In how many seconds to try again, when the server says so. */
  readonly retryAfter: number | null;
  /** Whether it asked for a proof of who the person is, and they called that off: they know that nothing was done. */
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

/** What a request takes, whichever it is. */
export interface Options {
  param?: Readonly<Record<string, string>>;
  query?: Query;
  json?: unknown;
  signal?: AbortSignal;
}

let csrf: string | null = null;
/** When the last answer was asked for, and the first one of who is signed in, as Unix time in milliseconds of the server's clock. */
let lastAsked: number | null = null;
let firstAsked: number | null = null;

/** Has the person sign in again: true when they did, and what they had asked for may go on. */
export type SignInAgain = () => Promise<boolean>;

const sessionEnds: SignInAgain[] = [];
let signingInAgain: Promise<boolean> | null = null;
/** Changes of the account that are not answered yet: some give the browser another session in place of its own. */
const accountChanges = new Set<Promise<Response>>();

/** Keeps the session's CSRF token, as GET /api/web/me and signing in give it; null after signing out. */
export function keepCsrf(token: string | null): void {
  if (token === null) firstAsked = null;
  else if (csrf === null) firstAsked = lastAsked;
  csrf = token;
}

/** When the first of what is shown was asked for, as Unix time in milliseconds of the server's clock; null where that is not known. */
export const shownSince = (): number | null => firstAsked;

/** The header that every change carries; empty before signing in. */
export function csrfHeader(): Record<string, string> {
  return csrf === null ? {} : { 'X-CSRF-Token': csrf };
}

/** Says what is done when a request finds that the session has ended; what was said last goes first. Returns how to stop. */
export function whenSessionEnds(ask: SignInAgain): () => void {
  sessionEnds.unshift(ask);
  return () => void sessionEnds.splice(sessionEnds.indexOf(ask), 1);
}

/** `path` below /api with its ids and its query: '/web/deals/:id' with {param: {id}} gives "/api/web/deals/…". */
export function addressOf(path: string, { param = {}, query = {} }: Options): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(param[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  return `/api${filled}${search.size > 0 ? `?${search}` : ''}`;
}

/** Where the browser itself goes for something, such as a file to download. */
export const address = <P extends PathOf<'get'>>(path: P, ...[options]: Needed<RequestOptions<'get', P>>): string =>
  addressOf(path, options ?? {});

/** What was asked for, by its path below /api. */
interface Asked {
  method: string;
  path: string;
}

/** Whether nothing is there twice when it is sent again: what only asks, and what is about one's account. */
const isRepeatable = ({ method, path }: Asked): boolean => method === 'GET' || path.startsWith('/auth/');

const unreachable = {
  code: 'unreachable',
  message: 'Dealkeep cannot be reached. Check your connection and try again.',
};
const offline = {
  code: 'unreachable',
  message: 'You are offline, so nothing was sent. What you wrote stays here: try again when you are connected.',
};
const unanswered = {
  code: 'unreachable',
  message:
    'The connection broke before Dealkeep answered. What you sent may have arrived, so look before you send it again. What you wrote stays here.',
};
/** The error of an answer in another format than ours. */
const broken = (asked: Asked) => ({
  code: 'internal_error',
  message: `Something went wrong on our side. ${isRepeatable(asked) ? 'Try again' : 'Look whether it was done before you do it again'}. If it happens again, tell whoever runs Dealkeep when it happened.`,
});

function isErrorBody(value: unknown): value is ErrorBody {
  const error = (value as ErrorBody | null)?.error;
  return typeof error?.message === 'string' && typeof error.code === 'string';
}

/** The error of what could not be fetched. */
export const cannotBeReached = (): ApiError => new ApiError(0, unreachable);

/** The error of a request whose answer did not come, or not as a whole; `sent` says that there was a connection as it was sent. */
function noAnswer(asked: Asked, sent: boolean): ApiError {
  if (asked.method === 'GET') return cannotBeReached();
  if (!sent) return new ApiError(0, offline);
  return new ApiError(0, isRepeatable(asked) ? unreachable : unanswered);
}

/** The error of an answer, from its text; an answer in another format is reported as a fault on our side. */
export function errorOf(asked: Asked, status: number, text: string, retryAfter: string | null = null): ApiError {
  const seconds = retryAfter !== null && /^\d{1,4}$/.test(retryAfter) ? wholeNumber(retryAfter) : null;
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) return new ApiError(status, body.error, seconds);
  } catch {
    // No JSON: a proxy's page, perhaps.
  }
  return new ApiError(status, broken(asked), seconds);
}

/** Whether an answer says that the session which the page knows of has ended, or that another has taken its place. */
export const isSessionOver = ({ code }: ApiError): boolean =>
  code === 'signed_out' || code === 'not_signed_in' || code === 'csrf_token_mismatch';

/** What tells by such an answer that there is nobody to go on as. All else that signs in needs no session. */
const endsThere = new Set(['/auth/session', '/auth/sign-out']);

/**
 * Whether, after an answer that says that the session is over, there is one again: the person has signed in once more, here or in another
 * tab, or it was another session that had taken the place of the one that was asked with. All wait for one sign-in.
 */
export async function isSignedInAgain(error: ApiError, path: string): Promise<boolean> {
  const [signInAgain] = sessionEnds;
  if (signInAgain === undefined || !isSessionOver(error) || endsThere.has(path)) return false;
  await Promise.allSettled(accountChanges);
  signingInAgain ??= signInAgain().finally(() => (signingInAgain = null));
  return signingInAgain;
}

// Not yet in TypeScript's library: ECMAScript's JSON.parse source text access. Browsers from before 2025 lack it, and round.
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
  rawJSON?(text: string): unknown;
}

const { parse, rawJSON }: ExactJson = JSON as unknown as ExactJson;

/**
 * The value of JSON. A number that people wrote may have more digits than JavaScript's hold: it then stays what was sent, and is that
 * again where it is written as JSON.
 */
function exactly(text: string): unknown {
  // Fewer digits are never rounded, and need no look at each value, which takes ten times as long.
  if (rawJSON === undefined || !/\d[\d.]{15}/.test(text)) return JSON.parse(text);
  return parse(text, (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value,
  );
}

/** The value of an answer that went well, from its text; what is no JSON, such as a proxy's page, is reported as a fault on our side. */
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

/** POSTs as {@link api} does, for the answer's text as it came: to read its numbers would round them. */
export const postForText = async <P extends PathOf<'post'>>(
  path: P,
  ...[options]: Needed<RequestOptions<'post', P>>
): Promise<string> => (await requestText('POST', path, options ?? {})).text;

// What comes back is taken for what the server's own types say of the route.
const by =
  <M extends Method>(method: M) =>
  <P extends PathOf<M>>(path: P, ...[options]: Needed<RequestOptions<M, P> & { signal?: AbortSignal | undefined }>) =>
    request(method.toUpperCase(), path, options ?? {}) as Promise<Answer<M, P>>;

/** Requests by path below /api, for instance `api.get('/web/deals/:id', { param: { id } })`. Each throws an {@link ApiError}. */
export const api = {
  get: by('get'),
  post: by('post'),
  put: by('put'),
  patch: by('patch'),
  delete: by('delete'),
};
