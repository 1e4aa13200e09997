/** The files of the demo are valid, and match their rows. */

import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { fileTypeFromBuffer } from 'file-type';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoBodies } from '../../database/demo/load.ts';
import { openDemoService, type DemoService } from './service.ts';

let it: DemoService;
beforeAll(async () => {
  it = await openDemoService();
});
afterAll(() => it?.service.close());

test('every document row matches its stored file, and every stored file has a row', async () => {
  const all = await it.service.sql(
    `select storage_key, media_type, size_bytes::int, encode(sha256, 'hex') as sha256 from documents where removed_at is null
     union all select storage_key, media_type, size_bytes::int, encode(sha256, 'hex') from production_documents order by 1`,
  );
  // The sandbox's files are part of the program.
  const rows = all.filter(({ storage_key }) => !String(storage_key).startsWith('sandbox-'));
  const bodies = [...demoBodies()].map(({ storageKey, mediaType, bytes }) => ({
    storage_key: storageKey,
    media_type: mediaType,
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }));
  expect(bodies.toSorted((a, b) => (a.storage_key < b.storage_key ? -1 : 1))).toEqual(rows);
  expect(rows.length).toBeGreaterThan(25);
});

test('every file has its declared type, and a matching filename', async () => {
  const names = await it.service.sql<{ storage_key: string; filename: string }>(
    'select storage_key, filename from documents union all select storage_key, filename from production_documents',
  );
  const nameOf = new Map(names.map(({ storage_key, filename }) => [storage_key, filename]));
  const kinds = new Set<string>();
  for (const { storageKey, mediaType, bytes } of demoBodies()) {
    kinds.add(mediaType);
    if (mediaType === 'text/csv') {
      expect(nameOf.get(storageKey)).toMatch(/\.csv$/);
      // Throws when a row has more or fewer fields than the heading.
      expect(parse(bytes, { columns: true }).length).toBeGreaterThan(1);
    } else {
      expect(await fileTypeFromBuffer(bytes)).toMatchObject({ mime: mediaType });
      expect(nameOf.get(storageKey)).toMatch(mediaType === 'image/png' ? /\.png$/ : /\.pdf$/);
    }
  }
  expect(kinds.size).toBe(3);
});

test('the cross-reference table of every PDF points at its objects', () => {
  for (const { mediaType, bytes } of demoBodies()) {
    if (mediaType !== 'application/pdf') continue;
    const text = bytes.toString('latin1');
    const table = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
    expect(text.slice(table, table + 5)).toBe('xref\n');
    const offsets = [...text.slice(table).matchAll(/^(\d{10}) 00000 n $/gm)].map(([, offset]) => Number(offset));
    expect(offsets).toHaveLength(6);
    for (const [index, offset] of offsets.entries())
      expect(text.slice(offset)).toMatch(new RegExp(`^${index + 1} 0 obj\\n`));
    const [, length, stream = ''] = /\/Length (\d+) >>\nstream\n(.*)\nendstream/s.exec(text) ?? [];
    expect(stream).toHaveLength(Number(length));
  }
});
