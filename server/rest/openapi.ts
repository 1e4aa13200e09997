/** The OpenAPI 3.1 document of the REST API, generated from the schemas that validate requests. */

import { z } from 'zod';
import { restPath } from '../http/rest-path.ts';
import { always, failuresWith, headers, type Failures } from './errors.ts';
import { operationErrors } from './envelope.ts';
import { webhookEvent } from './events.ts';
import { exampleOf } from './examples.ts';
import type { Answer, Json, Operation } from './operation.ts';
import { errorEnvelope } from './schemas.ts';
import { tags } from './tags.ts';

const schemaAt = '#/components/schemas/';
const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** The schemas of the document by name, and a callback for missing examples. */
interface Parts {
  readonly schemas: Readonly<Record<string, Json>>;
  readonly missing: (path: string) => void;
}

/** Describes a JSON body of a schema, with the given examples, or otherwise with a generated one. */
function json(schema: z.ZodType, { schemas, missing }: Parts, examples?: Readonly<Record<string, unknown>>): Json {
  const name = idOf(schema);
  const shown = examples
    ? { examples: Object.fromEntries(Object.entries(examples).map(([key, value]) => [key, { value }])) }
    : { example: exampleOf({ $ref: schemaAt + name }, schemas, name, missing) };
  return { schema: { $ref: schemaAt + name }, ...shown };
}

/** Headers by name: those on every such response, and those on some. */
function headersOf(required: readonly string[], sometimes: readonly string[] = []): Json {
  return Object.fromEntries([...required, ...sometimes].map((name) => [name, ref('headers', name)]));
}

/** Whether an operation responds to a GET request in JSON, with an entity tag. */
const isTagged = ({ method, answers }: Operation): boolean => method === 'get' && answers[200]?.schema !== undefined;

const ifNoneMatch: Json = {
  name: 'If-None-Match',
  in: 'header',
  description: 'ETag of an earlier response: 304 without a body if nothing has changed.',
  schema: { type: 'string' },
};

const notModified: Json = {
  description: 'Nothing has changed since the response whose ETag was sent as If-None-Match.',
  headers: headersOf(['X-Request-Id', ...always, 'ETag']),
};

function answerOf(
  { description, schema, types = [], headers: own = {} }: Answer,
  more: readonly string[],
  parts: Parts,
): Json {
  const content = schema
    ? { 'application/json': json(schema, parts) }
    : Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
  return {
    description,
    headers: { ...headersOf(['X-Request-Id', ...always, ...more]), ...own },
    ...(Object.keys(content).length > 0 && { content }),
  };
}

/** A response for several errors of one status. */
function eitherOf(names: readonly string[], failures: Failures, parts: Parts): Json {
  const those = names.map((name) => failures[name]).filter((failure) => failure !== undefined);
  const schemas = those.map(({ schema }) => ({ $ref: schemaAt + idOf(schema) }));
  const examples = Object.assign({}, ...those.map((failure) => failure.examples)) as Record<string, unknown>;
  return {
    description: those.map(({ description }) => description).join(' Or: '),
    headers: headersOf(['X-Request-Id', 'Link', ...always]),
    content: { 'application/json': { ...json(errorEnvelope, parts, examples), schema: { anyOf: schemas } } },
  };
}

/** The error responses, by status. */
function failuresOf(operation: Operation, failures: Failures, parts: Parts): Json {
  const { method, parameters = [], body, errors = [], scope } = operation;
  const names = [
    ...(parameters.some(({ isLenient }) => !isLenient) || body ? ['ValidationError'] : []),
    'InvalidToken',
    ...(scope === null ? [] : ['InsufficientScope']),
    'RateLimited',
    'InternalError',
    'Unavailable',
    // Opening a document writes a record.
    ...(method === 'get' && scope !== 'documents:content' ? [] : ['StorageFull']),
    ...(body ? ['TooLarge', 'UnsupportedType'] : []),
    ...errors.map((code) => operationErrors[code].name),
  ];
  const byStatus = Map.groupBy(names, (name) => failures[name]?.status ?? 500);
  return Object.fromEntries(
    [...byStatus].map(([status, those]) => [
      status,
      those.length === 1 ? ref('responses', those[0] ?? '') : eitherOf(those, failures, parts),
    ]),
  );
}

/** Description of an id in a path: "The id of the contact." */
const nameOfId = (name: string): string =>
  name === 'externalId'
    ? 'The id that another system has for the contact.'
    : `The id of the ${name.replace(/Id$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}.`;

function parametersOf({ path, pathParameters = {}, parameters = [] }: Operation, { missing }: Parts): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: nameOfId(name),
    schema: pathParameters[name] ?? { type: 'string', format: 'uuid' },
    example: exampleOf(pathParameters[name] ?? { type: 'string', format: 'uuid' }, {}, name, missing),
  }));
  return [
    ...inPath,
    ...parameters.map(({ in: where, name, description, required, schema }) => ({
      name,
      in: where,
      description,
      ...(required && { required }),
      schema,
    })),
  ];
}

function describeOperation(operation: Operation, failures: Failures, parts: Parts): Json {
  const { id, tag, summary, description, body, bodyTypes = ['application/json'], answers } = operation;
  const parameters = [...parametersOf(operation, parts), ...(isTagged(operation) ? [ifNoneMatch] : [])];
  const more = isTagged(operation) ? ['ETag'] : [];
  const answered = Object.entries(answers).map(([status, answer]) => [
    status,
    answerOf(answer, status === '200' ? more : [], parts),
  ]);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(bodyTypes.map((type) => [type, json(body, parts)])),
      },
    }),
    responses: {
      ...Object.fromEntries(answered),
      ...(isTagged(operation) && { 304: ref('responses', 'NotModified') }),
      ...failuresOf(operation, failures, parts),
    },
  };
}

const sentHeader = (name: string, description: string, sample: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', examples: [sample] },
});

/** The requests that webhooks receive, according to Standard Webhooks. */
const webhooks = (parts: Parts): Json => ({
  event: {
    post: {
      operationId: 'receiveEvent',
      tags: ['Webhooks'],
      summary: 'Receive an event',
      description:
        'What is sent to the url of a webhook: each change at least once, and the test event. Verify the signature with the secret of the webhook before you trust it, and ignore types that you do not know.',
      security: [],
      parameters: [
        sentHeader(
          'webhook-id',
          'The id of the event, the same whenever it is sent again.',
          '5d0c3c1e-6f0e-4b7a-9c39-0d6f2f1f7a11',
        ),
        sentHeader('webhook-timestamp', 'When it was sent: Unix time in seconds.', '1795190460'),
        sentHeader(
          'webhook-signature',
          'One signature for each secret in force, separated by spaces.',
          'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
        ),
      ],
      requestBody: { required: true, content: { 'application/json': json(webhookEvent, parts) } },
      responses: {
        '2XX': {
          description: 'The event was accepted. Any other status, or no response within 10 seconds, is a failure.',
        },
      },
    },
  },
});

/** The `id` of a schema in the document. */
function idOf(schema: z.ZodType): string {
  const id = schema.meta()?.id;
  if (id === undefined) throw new Error('A body or an answer has a schema without an id');
  return id;
}

/** The schemas with an `id` within a schema, and the schema itself. */
function namedWithin(schema: z.ZodType): z.ZodType[] {
  const { def } = schema as unknown as { def: Record<string, unknown> };
  const parts = [
    def['element'],
    def['innerType'],
    def['in'],
    def['left'],
    def['right'],
    def['valueType'],
    ...Object.values((def['shape'] as object | undefined) ?? {}),
    ...((def['options'] as unknown[] | undefined) ?? []),
  ];
  const within = parts.filter((part): part is z.ZodType => part instanceof z.ZodType).flatMap(namedWithin);
  return schema.meta()?.id === undefined ? within : [schema, ...within];
}

/** The schemas with an `id` of these operations and of the error responses, as JSON Schema, by id. */
function schemasOf(operations: readonly Operation[], failures: readonly z.ZodType[]): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  const shown = operations.flatMap(({ body, answers }) => [
    ...(body ? [body] : []),
    ...Object.values(answers).flatMap(({ schema }) => (schema ? [schema] : [])),
  ]);
  for (const schema of new Set([...shown, ...failures].flatMap(namedWithin)))
    registry.add(schema, { id: idOf(schema) });
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `${schemaAt}${id}` });
  for (const schema of Object.values(schemas)) {
    delete schema.$schema;
    delete schema.$id;
  }
  return schemas;
}

/**
 * The document of these operations for a server whose public origin is `baseUrl`. `missing` is called with the schema
 * and property of each value without an example.
 */
export function openApiDocument(
  baseUrl: string,
  operations: readonly Operation[],
  missing: (path: string) => void = () => {},
): Json {
  const failures = failuresWith([...new Set(operations.flatMap(({ errors = [] }) => errors))]);
  const schemas = schemasOf(operations, [
    errorEnvelope,
    webhookEvent,
    ...Object.values(failures).map(({ schema }) => schema),
  ]);
  const parts = { schemas, missing };
  const responses = Object.entries(failures).map(
    ([name, { description, schema, headers: own, sometimes, examples }]) => [
      name,
      {
        description,
        headers: headersOf(['X-Request-Id', 'Link', ...own], sometimes),
        content: { 'application/json': json(schema, parts, examples) },
      },
    ],
  );
  const paths: Record<string, Json> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method] = describeOperation(operation, failures, parts);
  const used = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Dealkeep REST API',
      version: '1.0.0',
      description:
        "A brokerage's records, for its other programs. The API key alone determines the brokerage and what may be done. " +
        `The guide is at ${baseUrl}${restPath}/docs.`,
      contact: { name: 'Dealkeep', url: baseUrl },
    },
    servers: [{ url: `${baseUrl}${restPath}` }],
    security: [{ apiKey: [] }],
    tags: [...used].map((name) => ({ name, description: tags[name] ?? '' })),
    paths,
    webhooks: webhooks(parts),
    components: {
      schemas,
      responses: { ...(Object.fromEntries(responses) as Json), NotModified: notModified },
      headers,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: dk_test_… for the sandbox, dk_live_… for live data.',
        },
      },
    },
  };
}
