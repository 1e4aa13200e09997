/** Inputs made from the schemas of the tools, so that a tool more needs none written down. */

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
  // The one pattern that there is, to which catalog.test.ts holds the list, is that of a decimal.
  if (type === 'string') return pattern === undefined ? 'Sales tax' : '12.5';
  throw new Error(`Say here what ${name} can be.`);
}

/** The least that a tool takes; ids are those of `ids`, or else of nothing. */
export function leastInput(tool: string, ids: Readonly<Record<string, string>> = {}): Record<string, unknown> {
  const schema = catalog.find(({ name }) => name === tool)?.listed.inputSchema;
  if (!schema) throw new Error(`There is no tool ${tool}.`);
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Property>>;
  return Object.fromEntries(
    (schema.required ?? []).map((name) => [name, ids[name] ?? sampleOf(name, properties[name] ?? {})]),
  );
}
