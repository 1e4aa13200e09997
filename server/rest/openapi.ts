/** The OpenAPI 3.1 document of the REST API, made of the schemas that validate. */

import { z } from 'zod';
import { largestBody } from './body.ts';
import { contactCreate, contactList, contact, errorEnvelope, pagination } from './schemas.ts';

type Json = Record<string, unknown>;

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
  ContactNotFound: failure('There is no such contact, or the key does not see it: contact_not_found.', limitHeaders),
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

const paths = {
  '/contacts': {
    get: {
      operationId: 'listContacts',
      tags: ['Contacts'],
      summary: 'List contacts',
      description: 'Newest first. Needs the scope contacts:read. Rows that are added meanwhile shift nothing.',
      parameters: [
        {
          name: 'cursor',
          in: 'query',
          description: 'nextCursor of an earlier answer.',
          schema: { type: 'string' },
        },
        {
          name: 'limit',
          in: 'query',
          description: 'How many contacts a page holds.',
          schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
        },
      ],
      responses: {
        200: { description: 'A page of contacts.', headers: limitHeaders, content: json('ContactList') },
        ...failures,
      },
    },
    post: {
      operationId: 'createContact',
      tags: ['Contacts'],
      summary: 'Create a contact',
      description: 'Needs the scope contacts:write.',
      parameters: [
        {
          name: 'Idempotency-Key',
          in: 'header',
          description:
            'Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again.',
          schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
        },
      ],
      requestBody: { required: true, content: json('ContactCreate') },
      responses: {
        201: {
          description: 'The contact.',
          headers: {
            ...limitHeaders,
            Location: { description: 'The path of the contact.', schema: { type: 'string' } },
            'Idempotent-Replayed': {
              description: 'true when this is the first answer again.',
              schema: { type: 'string', enum: ['true'] },
            },
          },
          content: json('Contact'),
        },
        ...failures,
        507: ref('responses', 'StorageFull'),
        413: ref('responses', 'TooLarge'),
        415: ref('responses', 'UnsupportedType'),
      },
    },
  },
  '/contacts/{contactId}': {
    get: {
      operationId: 'getContact',
      tags: ['Contacts'],
      summary: 'Get a contact',
      description: 'Needs the scope contacts:read.',
      parameters: [{ name: 'contactId', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
      responses: {
        200: { description: 'The contact.', headers: limitHeaders, content: json('Contact') },
        401: failures[401],
        403: failures[403],
        404: ref('responses', 'ContactNotFound'),
        429: failures[429],
        500: failures[500],
        503: failures[503],
      },
    },
  },
};

/** The document for a server whose public origin is `baseUrl`. */
export function openApiDocument(baseUrl: string): Json {
  const registry = z.registry<{ id: string }>();
  for (const schema of [contact, contactCreate, pagination, contactList, errorEnvelope])
    registry.add(schema, { id: schema.meta()?.id ?? '' });
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `${schemaAt}${id}` });
  for (const schema of Object.values(schemas)) {
    delete schema.$schema;
    delete schema.$id;
  }
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
      responses,
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
