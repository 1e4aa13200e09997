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
  Object.assign(schema, one, { type: [one['type'], 'null'] }, words);
}

function shorten(schema: Json, io: 'input' | 'output'): void {
  joinNull(schema);
  if (formats.has(String(schema['format']))) delete schema['pattern'];
  if (io === 'input') return;
  // To whoever reads an answer an id is just text, and whole numbers are what JSON can hold.
  if (schema['format'] === 'uuid') delete schema['format'];
  for (const name of ['minimum', 'maximum', 'additionalProperties']) delete schema[name];
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
 * What a success holds. A refusal is another object, and several clients hold refusals to this schema too and would
 * hide them from the model: so nothing is required at its root.
 */
export function outputSchema(schema: z.ZodObject): Json {
  const { required: _all, ...rest } = convert(schema, 'output');
  return rest;
}
