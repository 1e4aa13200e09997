/** Checks responses against the published OpenAPI document. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';

export interface Response {
  $ref?: string;
  headers?: Record<string, { $ref?: string; schema?: { type: string } }>;
  content?: Record<string, Content>;
}

export interface Content {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface OpenApi {
  openapi: string;
  info: { version: string };
  tags: { name: string; description: string }[];
  servers: { url: string }[];
  security: unknown[];
  paths: Record<string, Record<string, { responses: Record<string, Response>; parameters: object[] }>>;
  webhooks: Record<string, { post: { parameters: { name: string }[] } }>;
  components: Record<string, Record<string, Record<string, unknown>>>;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface PublishedDocument {
  readonly api: OpenApi;
  /** The validator of the schema at a pointer such as `#/components/schemas/Contact`. */
  schema(pointer: string): ValidateFunction;
  /** Fails unless the document announces this response for the operation, such as `GET /contacts/{contactId}`. */
  check(operation: string, answer: Answered): void;
  /**
   * The responses that the document announces for the operations below a path, and those of them that were checked, as
   * `GET /contacts 200`.
   */
  announced(below: string): string[];
  checked(below: string): string[];
}

/** The JSON pointer with these steps. */
export const pointerTo = (...steps: string[]): string =>
  `#/${steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;

/** Reads the document that a service publishes. */
export async function readDocument(restUrl: string): Promise<PublishedDocument> {
  const response = await fetch(`${restUrl}/openapi.json`);
  expect(response.headers.get('content-type')).toBe('application/json');
  const api = (await response.json()) as OpenApi;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(api, 'api');
  const schema = (pointer: string) => ajv.getSchema(`api${pointer}`)!;
  const seen = new Set<string>();

  function resolve<T extends { $ref?: string }>(part: T): T {
    if (part.$ref === undefined) return part;
    return part.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], api) as T;
  }

  const isBelow = (below: string) => (one: string) => new RegExp(`^[A-Z]+ ${below}[/ ]`).test(one);

  return {
    api,
    schema,
    check(operation, answer) {
      const [method = '', path = ''] = operation.split(' ');
      const announced = api.paths[path]?.[method.toLowerCase()]?.responses[answer.status];
      expect(announced, `${operation} answered ${answer.status}`).toBeDefined();
      seen.add(`${operation} ${answer.status}`);
      const { headers = {}, content = {} } = resolve(announced!);
      const [type] = Object.keys(content);
      if (type === '*/*') expect(answer.headers.get('content-type')).toMatch(/^\w+\/\S+/);
      else if (type !== undefined) expect(answer.headers.get('content-type')).toContain(type);
      if (type === 'application/json') {
        const at =
          announced!.$ref ?? pointerTo('paths', path, method.toLowerCase(), 'responses', String(answer.status));
        const validate = schema(`${at}${pointerTo('content', type, 'schema').slice(1)}`);
        expect(validate(answer.body), `${operation} ${answer.status}: ${JSON.stringify(validate.errors)}`).toBe(true);
      }
      for (const name of Object.keys(headers).filter(
        (header) => !/^(location|idempotent)/i.test(header) || answer.status === 201,
      )) {
        const value = answer.headers.get(name);
        if (/^idempotent/i.test(name)) continue;
        // The limit of an address, and an unavailable database, apply before the key is known.
        if (value === null && /^x-ratelimit/i.test(name) && /429|500|503/.test(String(answer.status))) continue;
        expect(value, `${operation} ${answer.status}: ${name}`).not.toBeNull();
        if (resolve(headers[name]!).schema?.type === 'integer') expect(value).toMatch(/^\d+$/);
      }
    },
    announced: (below) =>
      Object.entries(api.paths)
        .flatMap(([path, operations]) =>
          Object.entries(operations).flatMap(([method, { responses }]) =>
            Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
          ),
        )
        .filter(isBelow(below))
        .toSorted(),
    checked: (below) => [...seen].filter(isBelow(below)).toSorted(),
  };
}
