/**
 * Which plans made by PostgreSQL the bench of large platforms (bench/scale-plans.ts) reports as reading a whole table.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookedAt } from '../../bench/scale-plans.ts';
import { openService, type TestService } from '../harness.ts';

const rows = 30_000;
let service: TestService;
let client: pg.Client;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(path.join(os.tmpdir(), 'dealkeep-plans-'));
  service = await openService();
  client = new pg.Client(service.connections.owner);
  await client.connect();
  await client.query('create temporary table many (n int primary key, word text)');
  await client.query(`insert into many select n, 'word ' || n from generate_series(1, ${rows}) n`);
  await client.query('create index many_by_word on many (word)');
  await client.query('analyze many');
});
afterAll(async () => {
  await client?.end();
  await service?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** The scans found in the plan of a query with these settings off, logged in the format of auto_explain. */
async function scansOf(query: string, ...off: readonly string[]): Promise<readonly string[]> {
  for (const setting of off) await client.query(`set ${setting} = off`);
  const explained = `explain (analyze, buffers, timing off, format json) ${query}`;
  const found = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: object }[] }>(explained);
  await client.query('reset all');
  const [plan] = found.rows[0]?.['QUERY PLAN'] ?? [];
  const log = path.join(directory, 'postgres.log');
  writeFileSync(log, `2026-01-01 00:00:00 UTC LOG:  duration: 1.000 ms  plan:\n${JSON.stringify(plan)}\n`);
  return lookedAt(log, 0, new Map([['many', rows]])).scans.map(({ node }) => node);
}

test('a complete scan of a table or of its index is reported', async () => {
  expect(await scansOf('select * from many')).toEqual(['Seq Scan on many']);
  expect(await scansOf('select * from many order by word', 'enable_seqscan', 'enable_sort')).toEqual([
    'Index Scan on many by many_by_word',
  ]);
  expect(await scansOf('select count(n) from many', 'enable_seqscan', 'enable_bitmapscan')).toEqual([
    'Index Only Scan on many by many_pkey',
  ]);
});

test('a scan ended by a limit or narrowed by a condition is not reported, except below a sort', async () => {
  expect(await scansOf('select * from many order by word limit 6000', 'enable_seqscan', 'enable_sort')).toEqual([]);
  expect(await scansOf('select * from many where n < 9000', 'enable_seqscan', 'enable_bitmapscan')).toEqual([]);
  const sorted = 'select * from (select * from many order by word offset 0) x order by length(word) limit 5';
  expect(await scansOf(sorted, 'enable_seqscan')).toEqual(['Index Scan on many by many_by_word']);
});
