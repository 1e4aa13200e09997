/** JSON Schema 2020-12 of what tools take and answer, short enough to be read by a model with every conversation. */

import { z } from 'zod';

type Json = Record<string, unknown>;

// The patterns that zod writes beside `format` are hundreds of characters long and say the same.
const formats = new Set(['uuid', 'date', 'date-time']);

/** `{ anyOf: [X, { type: null }] }` as X whose type may also be null. */
function joinNull(schema: Json): void {
  const [one, other, ...more] = (schema['anyOf'] as Json[] | undefined) ?? [];
  if (!one || other?.['type'] !== 'null' || more.length > 0) return;
  delete schema['anyOf'];
  const words = one['enum'] ? { enum: [...(one['enum'] as string[]), null] } : {};
  const types = one['type'] === undefined ? {} : { type: [one['type'], 'null'] };
  Object.assign(schema, one, types, words);
}

function shorten(schema: Json, io: 'input' | 'output'): void {
  joinNull(schema);
  if (formats.has(String(schema['format']))) delete schema['pattern'];
  if (io === 'input') return;
  // The fields of what is small and clear are left to the reader.
  if (schema['brief'])
    for (const name of ['brief', 'items', 'properties', 'propertyNames', 'enum']) delete schema[name];
  const properties = (schema['properties'] ?? {}) as Record<string, Json>;
  for (const [name, property] of Object.entries(properties)) if (property['beside']) delete properties[name];
  // To a model that reads an answer, an id, a time and an amount are text; a field that is not described otherwise is text or null.
  const type = schema['type'];
  if (schema['enum'] === undefined && (type === 'string' || String(type) === 'string,null')) delete schema['type'];
  for (const name of ['format', 'minimum', 'maximum', 'additionalProperties', 'required']) delete schema[name];
}

function convert(schema: z.ZodType, io: 'input' | 'output'): Json {
  const converted = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => shorten(jsonSchema as Json, io) });
  const { $schema: _dialect, ...rest } = converted;
  return rest;
}

/** An object that takes nothing but what it names. */
export function inputSchema(schema: z.ZodObject): Json {
  return convert(schema, 'input');
}

/**
 * What a success holds, without what stands beside what was asked for: that is the same for every tool, and described once, in the
 * server's instructions. A refusal is another object, and several clients hold refusals to this schema too and would
 * hide them from the model: so nothing is required.
 */
export function outputSchema(schema: z.ZodObject): Json {
  return convert(schema, 'output');
}
