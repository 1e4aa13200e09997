/** The OpenAPI 3.1 document of the REST API, made of the schemas that validate. */

import { z } from 'zod';
import { largestBody } from './body.ts';
import { errorCodes, operationErrors, type ErrorCode } from './envelope.ts';
import type { Answer, Json, Operation } from './operation.ts';
import { errorEnvelope, errorEnvelopeOf } from './schemas.ts';

const schemaAt = '#/components/schemas/';
const json = (schema: string) => ({ 'application/json': { schema: { $ref: `${schemaAt}${schema}` } } });
const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
const limitHeaders = {
  'X-RateLimit-Limit': ref('headers', 'RateLimitLimit'),
  'X-RateLimit-Remaining': ref('headers', 'RateLimitRemaining'),
  'X-RateLimit-Reset': ref('headers', 'RateLimitReset'),
};
const integerHeader = (description: string) => ({ description, schema: { type: 'integer' } });
const challenge = { 'WWW-Authenticate': { description: 'What is asked for (RFC 6750).', schema: { type: 'string' } } };

function failure(description: string, headers: Json = {}): Json {
  return { description, headers, content: json('ErrorEnvelope') };
}

const responses = {
  ValidationError: failure('The request is not valid: validation_error.', limitHeaders),
  InvalidToken: failure('The API key is missing or not valid: invalid_token.', challenge),
  InsufficientScope: failure('The API key lacks the scope: insufficient_scope.', { ...limitHeaders, ...challenge }),
  TooLarge: failure(`The body is larger than ${largestBody} bytes: validation_error.`, limitHeaders),
  UnsupportedType: failure('The body is not application/json in UTF-8: validation_error.', limitHeaders),
  RateLimited: failure('Too many requests of this key or this address: rate_limited.', {
    'Retry-After': integerHeader('Seconds until the window ends.'),
  }),
  InternalError: failure('A failure on our side: internal_error, with the id of the request.'),
  Unavailable: failure('The service cannot answer at this moment: internal_error. Try again.', {
    'Retry-After': integerHeader('Seconds to wait before that.'),
  }),
  StorageFull: failure('The service has no room left to store this: internal_error.', {
    'Retry-After': integerHeader('Seconds to wait before trying again.'),
  }),
};

const failures = {
  400: ref('responses', 'ValidationError'),
  401: ref('responses', 'InvalidToken'),
  403: ref('responses', 'InsufficientScope'),
  429: ref('responses', 'RateLimited'),
  500: ref('responses', 'InternalError'),
  503: ref('responses', 'Unavailable'),
};

const errorBodies = new Map<string, z.ZodType>();

/** The body of an error that an operation names: of contacts' first ones any ErrorEnvelope, of others one with this code. */
function errorBody(code: ErrorCode): z.ZodType {
  if ((errorCodes as readonly string[]).includes(code)) return errorEnvelope;
  const body = errorBodies.get(code) ?? errorEnvelopeOf(code, `${operationErrors[code].name}Error`);
  errorBodies.set(code, body);
  return body;
}

function errorResponse(code: ErrorCode): readonly [name: string, response: Json] {
  const { name, meaning } = operationErrors[code];
  return [name, { description: `${meaning}: ${code}.`, headers: limitHeaders, content: json(idOf(errorBody(code))) }];
}

const bodyFailures = {
  413: ref('responses', 'TooLarge'),
  415: ref('responses', 'UnsupportedType'),
};

function answerOf({ description, schema, types = [], headers = {} }: Answer): Json {
  const content = schema
    ? json(idOf(schema))
    : Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
  return { description, headers: { ...limitHeaders, ...headers }, ...(Object.keys(content).length > 0 && { content }) };
}

function failuresOf({ method, parameters = [], body, errors = [] }: Operation): Json {
  const taken = { ...failures, ...(method !== 'get' && { 507: ref('responses', 'StorageFull') }) };
  const { 400: invalid, ...others } = taken;
  const own = errors.map((code) => [operationErrors[code].status, ref('responses', operationErrors[code].name)]);
  return {
    ...(parameters.length > 0 || body ? { 400: invalid } : {}),
    ...others,
    ...(body && bodyFailures),
    ...Object.fromEntries(own),
  };
}

/** What the path, the query and the headers of an operation carry. */
function parametersOf({ path, pathParameters = {}, parameters = [] }: Operation): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: pathParameters[name] ?? { type: 'string', format: 'uuid' },
  }));
  return [
    ...inPath,
    ...parameters.map(({ in: where, name, description, schema }) => ({ name, in: where, description, schema })),
  ];
}

function describeOperation(operation: Operation): Json {
  const { id, tag, summary, description, body, bodyTypes = ['application/json'], answers } = operation;
  const parameters = parametersOf(operation);
  const answered = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)]);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(bodyTypes.map((type) => [type, { schema: { $ref: `${schemaAt}${idOf(body)}` } }])),
      },
    }),
    responses: { ...Object.fromEntries(answered), ...failuresOf(operation) },
  };
}

/** The `id` under which a schema stands in the document. */
function idOf(schema: z.ZodType): string {
  const id = schema.meta()?.id;
  if (id === undefined) throw new Error('A body or an answer has a schema without an id');
  return id;
}

/** The schemas with an `id` within a schema, and itself. */
function namedWithin(schema: z.ZodType): z.ZodType[] {
  const { def } = schema as unknown as { def: Record<string, unknown> };
  const parts = [
    def['element'],
    def['innerType'],
    def['in'],
    def['valueType'],
    ...Object.values((def['shape'] as object | undefined) ?? {}),
    ...((def['options'] as unknown[] | undefined) ?? []),
  ];
  const within = parts.filter((part): part is z.ZodType => part instanceof z.ZodType).flatMap(namedWithin);
  return schema.meta()?.id === undefined ? within : [schema, ...within];
}

/** The document of these operations for a server whose public origin is `baseUrl`. */
export function openApiDocument(baseUrl: string, operations: readonly Operation[]): Json {
  const registry = z.registry<{ id: string }>();
  const codes = [...new Set(operations.flatMap(({ errors = [] }) => errors))];
  const shown = operations.flatMap(({ body, answers }) => [
    ...(body ? [body] : []),
    ...Object.values(answers).flatMap(({ schema }) => (schema ? [schema] : [])),
  ]);
  for (const schema of new Set([...shown.flatMap(namedWithin), errorEnvelope, ...codes.map(errorBody)]))
    registry.add(schema, { id: idOf(schema) });
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `${schemaAt}${id}` });
  for (const schema of Object.values(schemas)) {
    delete schema.$schema;
    delete schema.$id;
  }
  const paths: Record<string, Json> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = describeOperation(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Dealkeep REST API',
      version: '1.0.0',
      description:
        'Contacts of a brokerage. The API key alone decides which brokerage that is and what the key may do.',
    },
    servers: [{ url: `${baseUrl}/api/v1` }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      schemas,
      responses: { ...responses, ...Object.fromEntries(codes.map(errorResponse)) },
      headers: {
        RateLimitLimit: integerHeader('Requests allowed in the window of a minute.'),
        RateLimitRemaining: integerHeader('Requests left in the window.'),
        RateLimitReset: integerHeader('When the window ends: Unix time in seconds.'),
      },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: dk_live_… or dk_test_…' },
      },
    },
  };
}
