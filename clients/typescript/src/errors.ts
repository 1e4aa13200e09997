/** Error classes: `error instanceof NotFound`. */

import type { Fault } from './generated.ts';
import { retryAfterOf } from './retry-after.ts';

/** The error in a response. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An error response. */
export class DealkeepError extends Error {
  override readonly name: string = 'DealkeepError';
  readonly status: number;
  /** Machine-readable code: `contact_not_found`, `conflict`, … */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Include it when you report a failure. */
  readonly requestId: string | null;
  /** Seconds to wait according to the header Retry-After. */
  protected readonly wait: number | null;

  constructor(status: number, body: ErrorBody, requestId: string | null, wait: number | null = null) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.details = body.details ?? {};
    this.requestId = requestId;
    this.wait = wait;
  }
}

/** 400, 413, 415: the request is not valid; each fault says what to change. */
export class InvalidRequest extends DealkeepError {
  override readonly name = 'InvalidRequest';
  get faults(): readonly Fault[] {
    return Array.isArray(this.details['faults']) ? (this.details['faults'] as readonly Fault[]) : [];
  }
}

/** 401: the key is missing, unknown, expired, revoked or replaced, or a proxy in front of the service requires other credentials. */
export class KeyRefused extends DealkeepError {
  override readonly name = 'KeyRefused';
}

/** 403: the key lacks a scope. If `requiredScope` is empty, a proxy in front of the service refused the request. */
export class ScopeMissing extends DealkeepError {
  override readonly name = 'ScopeMissing';
  get requiredScope(): string {
    return String(this.details['required_scope'] ?? '');
  }
}

/** 404: the record does not exist, or the key cannot see it. */
export class NotFound extends DealkeepError {
  override readonly name = 'NotFound';
}

/** 409, 412: the request conflicts with the current state of the record. */
export class Conflict extends DealkeepError {
  override readonly name = 'Conflict';
}

/** 410: the cursor is older than the events that are kept, or from before a restore or a renewal of secrets. Get a new cursor with `after: 'latest'`, list the records that you keep again, then follow from it. */
export class CursorExpired extends DealkeepError {
  override readonly name = 'CursorExpired';
}

/** 429, after the client's own retries. */
export class RateLimited extends DealkeepError {
  override readonly name = 'RateLimited';
  /** Seconds to wait, from the error or its header; otherwise 60. */
  get retryAfter(): number {
    const told = this.details['retry_after'];
    return typeof told === 'number' ? told : (this.wait ?? 60);
  }
}

/** 5xx: the service failed. */
export class ServiceFailed extends DealkeepError {
  override readonly name = 'ServiceFailed';
}

/** There was no complete response from the service. A change may or may not have been made: send it again with the same idempotency key to be sure. */
export class NotReached extends Error {
  override readonly name = 'NotReached';
}

/** The address answers with a redirect, as one with http instead of https does: give `url` as it should be. The request was not sent again. */
export class Redirected extends Error {
  override readonly name = 'Redirected';

  constructor(location: string | null) {
    super(`The service is not at this url: it redirects to ${location ?? 'another address'}.`);
  }
}

const byCode: Readonly<Record<string, typeof DealkeepError>> = {
  validation_error: InvalidRequest,
  invalid_token: KeyRefused,
  insufficient_scope: ScopeMissing,
  rate_limited: RateLimited,
  conflict: Conflict,
  cursor_expired: CursorExpired,
};

/** For codes that are not listed above: those that are newer than this package, and errors of a proxy in front of the service. */
const byStatus: Readonly<Record<number, typeof DealkeepError>> = {
  400: InvalidRequest,
  401: KeyRefused,
  403: ScopeMissing,
  404: NotFound,
  409: Conflict,
  410: CursorExpired,
  412: Conflict,
  413: InvalidRequest,
  415: InvalidRequest,
  429: RateLimited,
};

function classOf(status: number, code: string): typeof DealkeepError {
  const known = Object.hasOwn(byCode, code) ? byCode[code] : byStatus[status];
  return known ?? (status >= 500 ? ServiceFailed : DealkeepError);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The error for a response, which can also be that of a proxy. */
export async function errorOf(response: Response): Promise<DealkeepError> {
  const { status, headers } = response;
  const answered: unknown = await response.json().catch(() => null);
  const said = isObject(answered) && isObject(answered['error']) ? answered['error'] : {};
  const textOf = (name: string, otherwise: string) => {
    const value = said[name];
    return typeof value === 'string' ? value : otherwise;
  };
  const code = textOf('code', `http_${status}`);
  const message = textOf('message', `The service answered ${status}.`);
  const details = isObject(said['details']) ? said['details'] : {};
  const body: ErrorBody = { code, message, details };
  return new (classOf(status, code))(status, body, headers.get('x-request-id'), retryAfterOf(response));
}
