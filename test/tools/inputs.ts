/** Inputs generated from the schemas of the tools, so that none has to be written for a new tool. */

import { randomUUID } from 'node:crypto';
import { catalog } from '../../server/tools/catalog/index.ts';

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
}

function sampleOf(name: string, { type, enum: words, format, pattern, minimum }: Property): unknown {
  if (words) return words[0];
  if (format === 'uuid') return randomUUID();
  if (format === 'date') return '2026-01-01';
  if (type === 'integer' || type === 'number') return minimum ?? 1;
  // The only pattern in the schemas, which catalog.test.ts ensures, is that of a decimal.
  if (type === 'string') return pattern === undefined ? 'Sales tax' : '12.5';
  throw new Error(`Say here what ${name} can be.`);
}

/** The smallest valid input of a tool; ids are taken from `ids`, or else are those of no record. */
export function leastInput(tool: string, ids: Readonly<Record<string, string>> = {}): Record<string, unknown> {
  const schema = catalog.find(({ name }) => name === tool)?.listed.inputSchema;
  if (!schema) throw new Error(`There is no tool ${tool}.`);
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Property>>;
  return Object.fromEntries(
    (schema.required ?? []).map((name) => [name, ids[name] ?? sampleOf(name, properties[name] ?? {})]),
  );
}
