/** The errors of the REST API in the OpenAPI document: each response with its code, headers and details. */

import { z } from 'zod';
import { sendJson } from '../http/bounded-body.ts';
import { noRoomLeft } from '../http/problem.ts';
import { restPath } from '../http/rest-path.ts';
import { largestChange } from '../http/bounded-body.ts';
import { away, broken, errorCodes, operationErrors, type ErrorCode } from './envelope.ts';
import type { Json } from './operation.ts';
import { errorEnvelope, errorEnvelopeOf, fault } from './schemas.ts';

/** A response that operations refer to by name. */
interface Failure {
  readonly status: number;
  readonly description: string;
  readonly schema: z.ZodType;
  /** Names of headers among the components; `sometimes`: headers that only some of these responses have. */
  readonly headers: readonly string[];
  readonly sometimes?: readonly string[];
  readonly examples: Readonly<Record<string, unknown>>;
}

/** Failures by the name under which operations refer to them. */
export type Failures = Readonly<Record<string, Failure>>;

const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

/**
 * An {@link errorEnvelope} with this code and these details. It repeats the envelope's `message`, because some
 * validators check each part of an intersection alone.
 */
const typed = (name: string, code: string, details?: z.ZodType) => {
  const error = z.object({ code: z.literal(code), message: z.string(), ...(details && { details }) });
  return z.intersection(errorEnvelope, z.object({ error })).meta({ id: name });
};

const example = (code: string, message: string, details?: object) => ({
  error: details === undefined ? { code, message } : { code, message, details },
});

const faulty = (where: string, path: string, message: string) =>
  example('validation_error', path ? `${path}: ${message}` : message, { faults: [{ in: where, path, message }] });

const requestId = '7f0c6a52-91d4-4c0b-8f5e-2a3b4c5d6e7f';
const internal = (message: string) => example('internal_error', message, { request_id: requestId });

const validationError = typed('ValidationError', 'validation_error', z.object({ faults: z.array(fault) }));
const internalError = typed(
  'InternalError',
  'internal_error',
  z.object({
    request_id: z
      .string()
      .meta({ description: 'The same as X-Request-Id: identifies the request in the log of the service.' }),
  }),
);

/** The error responses that any operation may have. */
const common: Failures = {
  ValidationError: {
    status: 400,
    description: 'The request is not valid: validation_error.',
    schema: validationError,
    headers: limitHeaders,
    examples: {
      body: faulty('body', 'email', 'It is not an e-mail address.'),
      query: faulty('query', 'limit', 'Send one whole number from 1 to 200.'),
      twice: faulty('body', 'email', 'This property appears twice: send it once.'),
    },
  },
  InvalidToken: {
    status: 401,
    description: 'The API key is missing or not valid: invalid_token.',
    schema: typed('InvalidTokenError', 'invalid_token'),
    headers: ['WWW-Authenticate'],
    examples: {
      missing: example('invalid_token', 'Send an API key in the header Authorization: Bearer dk_live_…'),
      unknown: example('invalid_token', 'This API key is not valid: it is unknown, expired, revoked or replaced.'),
    },
  },
  InsufficientScope: {
    status: 403,
    description: 'The API key lacks the scope: insufficient_scope.',
    schema: typed(
      'InsufficientScopeError',
      'insufficient_scope',
      z.object({ required_scope: z.string().meta({ description: 'The scope that the key lacks.' }) }),
    ),
    headers: [...limitHeaders, 'WWW-Authenticate'],
    examples: {
      scope: example('insufficient_scope', 'This needs an API key with the scope contacts:write.', {
        required_scope: 'contacts:write',
      }),
    },
  },
  TooLarge: {
    status: 413,
    description: 'The body is too large: validation_error.',
    schema: validationError,
    headers: limitHeaders,
    examples: { size: faulty('body', '', `The body is too large: at most ${largestChange} bytes.`) },
  },
  UnsupportedType: {
    status: 415,
    description: 'The body is of the wrong media type, not in UTF-8, or compressed: validation_error.',
    schema: validationError,
    headers: limitHeaders,
    examples: { type: faulty('header', 'Content-Type', sendJson) },
  },
  RateLimited: {
    status: 429,
    description: 'Too many requests from this key or this address: rate_limited. Try again after Retry-After.',
    schema: typed(
      'RateLimitedError',
      'rate_limited',
      z.object({
        limit: z.int().optional().meta({
          description: 'Requests allowed in a window of one minute; for limits of e-mails and resets, see the message.',
        }),
        retry_after: z.int().meta({ description: 'Seconds until the window ends, as in Retry-After.' }),
      }),
    ),
    headers: ['Retry-After'],
    sometimes: limitHeaders,
    examples: {
      key: example('rate_limited', 'Too many requests from this API key: at most 600 a minute. Try again in 23 s.', {
        limit: 600,
        retry_after: 23,
      }),
    },
  },
  InternalError: {
    status: 500,
    description: 'A failure on our side: internal_error, with the id of the request.',
    schema: internalError,
    headers: [],
    sometimes: limitHeaders,
    examples: { failure: internal(broken(requestId)) },
  },
  Unavailable: {
    status: 503,
    description: 'The service is temporarily unavailable: internal_error. Try again after Retry-After.',
    schema: internalError,
    headers: ['Retry-After'],
    sometimes: limitHeaders,
    examples: { away: internal(away(false)), awayInTheMiddle: internal(away(true)) },
  },
  StorageFull: {
    status: 507,
    description: 'There is no room left to store this: internal_error. Nothing was changed.',
    schema: internalError,
    headers: ['Retry-After'],
    sometimes: limitHeaders,
    examples: { full: internal(noRoomLeft) },
  },
};

const ofCodes = new Map<ErrorCode, z.ZodType>();

/** Schema of the body of an operation's own error: with only this code. */
function schemaOf(code: ErrorCode): z.ZodType {
  const name = `${operationErrors[code].name}Error`;
  const isCommon = (errorCodes as readonly string[]).includes(code);
  const schema = ofCodes.get(code) ?? (isCommon ? typed(name, code) : errorEnvelopeOf(code, name));
  ofCodes.set(code, schema);
  return schema;
}

function named(code: ErrorCode): Failure {
  const { status, meaning } = operationErrors[code];
  const examples = { [code]: example(code, `${meaning}.`) };
  return { status, description: `${meaning}: ${code}.`, schema: schemaOf(code), headers: limitHeaders, examples };
}

/** The error responses that any operation may have, and those with these codes. */
export const failuresWith = (codes: readonly ErrorCode[]): Failures => ({
  ...common,
  ...Object.fromEntries(codes.map((code) => [operationErrors[code].name, named(code)])),
});

const header = (description: string, type: string, sample: unknown): Json => ({
  description,
  schema: { type, examples: [sample] },
});

/** Headers of responses, by name. */
export const headers: Readonly<Record<string, Json>> = {
  'X-Request-Id': header('The id of the request: yours, if you sent a short plain one.', 'string', requestId),
  'X-RateLimit-Limit': header('Requests allowed in a window of one minute.', 'integer', 600),
  'X-RateLimit-Remaining': header('Requests left in the window.', 'integer', 598),
  'X-RateLimit-Reset': header('When the window ends: Unix time in seconds.', 'integer', 1_795_190_460),
  ETag: header(
    'Identifies this response: send it back as If-None-Match to get 304 as long as nothing has changed.',
    'string',
    '"Jq1rVZ3x0yqf2mGd8eHn5Tb7uLk"',
  ),
  'Retry-After': header('Seconds to wait before trying again.', 'integer', 23),
  Link: header(
    'Links to what the guide says about the error.',
    'string',
    `<${restPath}/docs#description/validation-error>; rel="help"`,
  ),
  'WWW-Authenticate': header('The challenge (RFC 6750).', 'string', 'Bearer realm="dealkeep"'),
};

/** The headers of every response to a request that was counted for a key. */
export const always = limitHeaders;
