/** What can go wrong with a request, as classes: `error instanceof NotFound`. */

import type { Fault } from './generated.ts';
import { retryAfterOf } from './retry-after.ts';

/** The part of an answer that says what is wrong. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An answer that is not what was asked for. */
export class DealkeepError extends Error {
  override readonly name: string = 'DealkeepError';
  readonly status: number;
  /** Says to programs what it is: `contact_not_found`, `conflict`, … */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Name it when you report a failure. */
  readonly requestId: string | null;
  /** The seconds of the header Retry-After. */
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

/** 400, 413, 415: what was sent is not valid; each fault says what to change. */
export class InvalidRequest extends DealkeepError {
  override readonly name = 'InvalidRequest';
  get faults(): readonly Fault[] {
    return Array.isArray(this.details['faults']) ? (this.details['faults'] as readonly Fault[]) : [];
  }
}

/** 401: the key is missing, unknown, expired, revoked or replaced, or what stands before the service wants something else. */
export class KeyRefused extends DealkeepError {
  override readonly name = 'KeyRefused';
}

/** 403: the key lacks a scope; where `requiredScope` is empty, what stands before the service has refused it. */
export class ScopeMissing extends DealkeepError {
  override readonly name = 'ScopeMissing';
  get requiredScope(): string {
    return String(this.details['required_scope'] ?? '');
  }
}

/** 404: there is no such record, or the key does not see it. */
export class NotFound extends DealkeepError {
  override readonly name = 'NotFound';
}

/** 409, 412: it does not go together with how things are now. */
export class Conflict extends DealkeepError {
  override readonly name = 'Conflict';
}

/** 410: the cursor is older than events are kept, or from before a restore or a renewal of secrets. Read the records that you keep anew, then follow from "latest". */
export class CursorExpired extends DealkeepError {
  override readonly name = 'CursorExpired';
}

/** 429, after the attempts that the client makes by itself. */
export class RateLimited extends DealkeepError {
  override readonly name = 'RateLimited';
  /** Seconds to wait: as the error says, or its header; else 60. */
  get retryAfter(): number {
    const told = this.details['retry_after'];
    return typeof told === 'number' ? told : (this.wait ?? 60);
  }
}

/** 5xx: a failure on the side of the service. */
export class ServiceFailed extends DealkeepError {
  override readonly name = 'ServiceFailed';
}

/** No answer came, or none that was whole and of the service: whether a change was made is not known, unless it is sent again under the same idempotency key. */
export class NotReached extends Error {
  override readonly name = 'NotReached';
}

const byCode: Readonly<Record<string, typeof DealkeepError>> = {
  validation_error: InvalidRequest,
  invalid_token: KeyRefused,
  insufficient_scope: ScopeMissing,
  rate_limited: RateLimited,
  conflict: Conflict,
  cursor_expired: CursorExpired,
};

/** Of errors whose code is not one of these: they are new, or come from what stands before the service. */
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

/** The error that an answer stands for; also of one that is not from the service, such as a proxy's. */
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
