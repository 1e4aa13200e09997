/** Examples for the OpenAPI document: a schema's own (`examples`), otherwise composed of the examples of its parts. */

import type { JsonSchema } from './json-schema.ts';
import type { Json } from './operation.ts';

/** Example values by format, for schemas without an example. */
const ofFormats: Readonly<Record<string, string>> = {
  uuid: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30',
  'date-time': '2026-11-20T15:04:05.123Z',
  date: '2026-11-20',
  email: 'ron@kestrelcreek.example',
  uri: 'https://crm.example.com/dealkeep',
};

const ownExamples = ({ examples, const: only, default: usual, enum: words }: JsonSchema): readonly unknown[] =>
  [examples?.[0], only, usual, words?.[0]].filter((value) => value !== undefined);

const typeOf = ({ type }: JsonSchema): string | undefined =>
  typeof type === 'string' ? type : type?.find((one) => one !== 'null');

const isNull = (schema: JsonSchema): boolean => schema.type === 'null';

/**
 * An example of `schema`. Calls `missing` with the path, below `path`, of each part that has no example: such a part
 * needs one, `.meta({ examples: [...] })`.
 */
export function exampleOf(
  schema: JsonSchema,
  schemas: Readonly<Record<string, Json>>,
  path: string,
  missing: (path: string) => void,
): unknown {
  const inner = (part: JsonSchema, at = path) => exampleOf(part, schemas, at, missing);
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return inner(schemas[name] ?? {}, name);
  }
  const own = ownExamples(schema);
  if (own.length > 0) return own[0];
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => inner(part))) as unknown;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return inner(choices.find((one) => !isNull(one)) ?? {});
  const type = typeOf(schema);
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, part]) => [name, inner(part, `${path}.${name}`)]),
    );
  if (type === 'array') return schema.items ? [inner(schema.items, `${path}[]`)] : [];
  if (type === 'boolean') return false;
  const usual = ofFormats[schema.format ?? ''];
  if (usual !== undefined) return usual;
  missing(path);
  return type === 'string' ? 'text' : 1;
}
