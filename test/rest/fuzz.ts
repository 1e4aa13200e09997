/**
 * Requests drawn from a seed by the OpenAPI document: valid requests, and requests with something that it does not
 * allow.
 */

import type { JsonSchema } from '../../server/rest/json-schema.ts';
import { texts } from '../hostile/generate.ts';
import type { OpenApi } from './document.ts';

export interface Drawn {
  /** The operation as the document names it: `GET /contacts/{contactId}`. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: JsonSchema;
}

const odd: readonly unknown[] = [null, true, 0, -1, 2 ** 53, 1e308, [], {}, [[]], ['x'], { a: 1 }];
const times = ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.123+01:00', '1999-12-31T23:59:60Z', '2026-03-01'];
const bodies = [
  '',
  '{',
  '[]',
  'null',
  '"x"',
  '{"a":1,"a":2}',
  `${'['.repeat(40)}${']'.repeat(40)}`,
  '\ufeff{}',
  '{"a":1e999}',
  `{"a":"${'x'.repeat(66_000)}"}`,
];

/**
 * Returns a function that draws requests; record ids come from `ids`, to which the caller adds the ids in responses.
 */
export function drawer(random: () => number, api: OpenApi, ids: readonly string[]) {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const often = (share: number): boolean => random() < share;
  const schemas = api.components['schemas'] as Readonly<Record<string, JsonSchema>>;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

  const anyId = () => (ids.length > 0 && often(0.9) ? pick(ids) : crypto.randomUUID());

  function fittingText({ format, examples }: JsonSchema): unknown {
    if (format === 'uuid') return anyId();
    if (format === 'date-time') return pick(times);
    if (format === 'date') return pick(['2026-03-01', '2024-02-29', '2025-02-29']);
    if (examples && often(0.7)) return pick(examples);
    return pick(['Two words', 'a@example.com', 'A line\nand another', '12.50', 'é', '🙂']);
  }

  /** A value that the schema allows, or nearly. */
  function fitting(schema: JsonSchema, depth = 0): unknown {
    if (schema.$ref) return fitting(schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? {}, depth);
    if ('const' in schema) return schema.const;
    if (schema.enum) return pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return fitting(pick(choices), depth);
    const type = typeof schema.type === 'string' ? schema.type : pick(schema.type ?? ['string']);
    if (type === 'object') {
      const all = Object.entries(schema.properties ?? {}).filter(
        ([name]) => schema.required?.includes(name) || often(0.6),
      );
      return Object.fromEntries(all.map(([name, part]) => [name, often(0.06) ? hostile() : fitting(part, depth + 1)]));
    }
    if (type === 'array') {
      const length = depth > 4 ? 0 : pick([0, 1, 1, 2, 3]);
      return Array.from({ length }, () => fitting(schema.items ?? {}, depth + 1));
    }
    if (type === 'integer' || type === 'number') {
      const [least, most] = [schema.minimum ?? -5, schema.maximum ?? 500];
      return often(0.1) ? pick([least - 1, most + 1, 1.5]) : Math.floor(least + random() * (most - least + 1));
    }
    if (type === 'boolean') return often(0.5);
    if (type === 'null') return null;
    return fittingText(schema);
  }

  const hostile = (): unknown => (often(0.6) ? pick(texts) : pick(odd));

  /** A value for the path, the query or a header, short enough for all of them to fit into a request line. */
  function written(schema: JsonSchema): string {
    const value = often(0.8) ? fitting(schema) : hostile();
    return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 200).toWellFormed();
  }

  function bodyOf(schema: JsonSchema): string {
    if (often(0.05)) return pick(bodies);
    const value = fitting(schema);
    if (typeof value === 'object' && value !== null && often(0.1))
      Object.assign(value, { [pick(['__proto__x', 'id', 'surplus'])]: hostile() });
    return JSON.stringify(value) ?? 'null';
  }

  return (): Drawn => {
    const { path, method, operation } = pick(operations);
    const { parameters = [], requestBody } = operation as {
      parameters?: readonly Parameter[];
      requestBody?: { content: Record<string, { schema: JsonSchema }> };
    };
    const headers: Record<string, string> = {};
    const query: string[] = [];
    let target = path;
    for (const { name, in: where, schema } of parameters) {
      if (where === 'path') {
        // Segments of dots alone are rejected before any route, and an empty segment makes another path.
        const value = written(schema).replace(/^\.*$/, '0');
        target = target.replace(`{${name}}`, encodeURIComponent(value));
      } else if (often(0.4)) {
        const value = written(schema);
        if (where === 'query')
          query.push(`${name}=${encodeURIComponent(value)}`, ...(often(0.03) ? [`${name}=x`] : []));
        else if (/^[\x20-\x7e]*$/.test(value)) headers[name] = value;
      }
    }
    const types = Object.entries(requestBody?.content ?? {});
    const [type, content] = types.length > 0 ? pick(types) : [];
    if (type !== undefined)
      headers['Content-Type'] = often(0.97) ? type : pick(['text/plain', 'application/json; charset=utf-7', 'x']);
    return {
      operation: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: query.length > 0 ? `${target}?${query.join('&')}` : target,
      headers,
      ...(content && { body: bodyOf(content.schema) }),
    };
  };
}
