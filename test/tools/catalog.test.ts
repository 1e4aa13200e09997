/** What models read of the tools: schemas, annotations, descriptions, and how long they are in all. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { format } from 'prettier';
import { expect, test } from 'vitest';
import { catalog, listedWith } from '../../server/tools/catalog/index.ts';
import { instructions } from '../../server/tools/instructions.ts';
import { tokensIn } from './tokens.ts';

/** The parts of an input's schema that the tests read. */
interface Described {
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
}

test.each(catalog.map((tool) => [tool.name, tool] as const))('%s matches its snapshot', async (name, { listed }) => {
  // After an intended change: review the difference, then run vitest with -u.
  const readable = await format(JSON.stringify(listed), { parser: 'json', printWidth: 120 });
  await expect(readable).toMatchFileSnapshot(`snapshots/${name}.json`);
});

test.each(catalog.map((tool) => [tool.name, tool] as const))(
  '%s has a title, a description, all four annotations, and plain strict object schemas',
  (_name, tool) => {
    const { title, description = '', annotations, inputSchema, outputSchema } = tool.listed;
    expect(title).toMatch(/^[A-Z].{5,60}$/);
    expect(description.length).toBeGreaterThan(80);
    expect(Object.keys(annotations ?? {}).toSorted()).toEqual([
      'destructiveHint',
      'idempotentHint',
      'openWorldHint',
      'readOnlyHint',
    ]);
    expect(annotations?.readOnlyHint).toBe(tool.scope === 'mcp:read');
    expect(tool.denied === undefined).toBe(tool.scope === 'mcp:read');
    for (const schema of [inputSchema, outputSchema]) {
      expect(schema?.type).toBe('object');
      for (const word of ['anyOf', 'oneOf', 'allOf', 'if', '$ref', '$schema', '$defs'])
        expect(schema).not.toHaveProperty(word);
    }
    expect(inputSchema['additionalProperties']).toBe(false);
  },
);

test('the schemas are JSON Schema 2020-12, valid in strict mode', () => {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    formats: { uuid: true, date: true, 'date-time': true },
  });
  for (const { listed } of catalog) {
    expect(ajv.validateSchema(listed.inputSchema)).toBe(true);
    ajv.compile(listed.inputSchema);
    ajv.compile(listed.outputSchema ?? {});
  }
});

test('the table of docs/tools.md lists each tool in catalog order, with title, kind and feature', async () => {
  const page = await readFile(path.join(import.meta.dirname, '../../docs/tools.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(svc_\w+)` +\| (.+?) +\| (reads|writes) +\| (?:`(\w+)`)? +\|$/gm)];
  expect(rows.map(([, ...cells]) => cells)).toEqual(
    catalog.map(({ name, listed, scope, feature }) => [
      name,
      listed.title,
      scope === 'mcp:read' ? 'reads' : 'writes',
      feature,
    ]),
  );
});

test('the only pattern in the schemas is the short one of decimal numbers', () => {
  const patterns = [...JSON.stringify(catalog.map((tool) => tool.listed)).matchAll(/"pattern":"((?:[^"\\]|\\.)*)"/g)];
  expect(patterns.map(([, pattern]) => pattern)).toEqual(['^[+-]?([0-9]+(\\\\.[0-9]*)?|\\\\.[0-9]+)$']);
});

test.each([true, false])('the whole list stays under 5,000 tokens, with features on: %s', (on) => {
  const tools = catalog.map((tool) => listedWith(tool, { findings: on, financing: on }));
  // The limit for 19 tools. Each further tool may add 250, up to the 6,000 that the specification allows.
  const most = Math.min(6000, 5000 + 250 * (tools.length - 19));
  expect(tokensIn(JSON.stringify({ tools }))).toBeLessThanOrEqual(most);
});

test('the description of each input states its allowed values', () => {
  const inputs = catalog.flatMap(({ name, listed }) =>
    Object.entries((listed.inputSchema.properties ?? {}) as Record<string, Described>).map(([input, schema]) => ({
      of: `${name}.${input}`,
      schema,
    })),
  );
  expect(inputs.length).toBeGreaterThan(40);
  for (const { of, schema } of inputs) {
    const { description = '', enum: words = [], format: form } = schema;
    expect([of, description.length > 3]).toEqual([of, true]);
    for (const word of words) expect([of, description]).toEqual([of, expect.stringContaining(word)]);
    if (form === 'date') expect([of, description]).toEqual([of, expect.stringContaining('YYYY-MM-DD')]);
  }
});

test('the description of a tool that is turned off says so first', () => {
  for (const tool of catalog) {
    const { description = '' } = listedWith(tool, { findings: false, financing: false });
    expect([tool.name, description.startsWith('Turned off')]).toEqual([tool.name, tool.feature !== undefined]);
    expect(listedWith(tool, { findings: true, financing: true })).toBe(tool.listed);
  }
});

test('the first paragraph of the instructions is complete and has at most 512 characters', () => {
  const [first = ''] = instructions.split('\n\n');
  expect(first.length).toBeLessThanOrEqual(512);
  expect(first).toMatch(/\.$/);
});

test('descriptions state what a tool does, without orders to the model', () => {
  for (const { name, listed } of catalog) {
    const texts = JSON.stringify(listed).matchAll(/"description":"((?:[^"\\]|\\.)*)"/g);
    for (const [, text] of texts)
      expect([name, text]).not.toMatchObject([
        name,
        expect.stringMatching(
          /\b(you (must|should|are)|always|do not|don't|ignore|instead of asking|important)\b|[<>{}]|!/i,
        ),
      ]);
  }
});

test('the schema of svc_questions_create lists the categories of a question', () => {
  const input = catalog.find((tool) => tool.name === 'svc_questions_create')?.listed.inputSchema.properties?.[
    'category'
  ];
  expect(input).toEqual({
    description: expect.any(String),
    type: 'string',
    enum: [
      'financials',
      'operations',
      'customers',
      'employees',
      'legal',
      'tax',
      'real_estate',
      'technology',
      'transaction',
      'other',
    ],
  });
});

test('the descriptions contain the terms of the trade', () => {
  const said = catalog.map(({ listed }) => listed.description).join('\n');
  for (const word of [
    'LOI',
    'CIM',
    'pipeline',
    'gross margin',
    'TTM',
    'highest bid',
    'add-back',
    'risk',
    'adjusted EBITDA',
  ])
    expect(said).toContain(word);
});
