/** JSON Schemas (2020-12) of tools' inputs and outputs, short enough for a model to read with every conversation. */

import { z } from 'zod';

type Json = Record<string, unknown>;

// The patterns that zod adds to `format` are hundreds of characters long and redundant.
const formats = new Set(['uuid', 'date', 'date-time']);

/** Rewrites `{ anyOf: [X, { type: null }] }` as X whose type may also be null. */
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
  // Small, self-explanatory values are listed without their fields.
  if (schema['brief'])
    for (const name of ['brief', 'items', 'properties', 'propertyNames', 'enum']) delete schema[name];
  const properties = (schema['properties'] ?? {}) as Record<string, Json>;
  for (const [name, property] of Object.entries(properties)) if (property['beside']) delete properties[name];
  // To a model that reads an answer, ids, times and amounts are text; a field without a type is text or null.
  const type = schema['type'];
  if (schema['enum'] === undefined && (type === 'string' || String(type) === 'string,null')) delete schema['type'];
  for (const name of ['format', 'minimum', 'maximum', 'additionalProperties', 'required']) delete schema[name];
}

function convert(schema: z.ZodType, io: 'input' | 'output'): Json {
  const converted = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => shorten(jsonSchema as Json, io) });
  const { $schema: _dialect, ...rest } = converted;
  return rest;
}

/** The schema of an object without additional properties. */
export function inputSchema(schema: z.ZodObject): Json {
  return convert(schema, 'input');
}

/**
 * The schema of a successful answer, without the fields marked `beside`: they are the same for every tool and described
 * once, in the server's instructions. No field is required: a refusal is another object, and several clients validate
 * refusals against this schema too and would hide them from the model.
 */
export function outputSchema(schema: z.ZodObject): Json {
  return convert(schema, 'output');
}
