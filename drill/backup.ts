/**
 * Backs up while clients write, destroys everything, restores, and compares: everything acknowledged before the backup
 * began is restored, nothing begun after it ended is, and nothing is restored in part.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { program } from '../bin/program.js';
import { urlOf, type Cluster } from '../bench/cluster.ts';
import { startDealkeep } from '../bench/processes.ts';
import { pdf } from '../database/demo/bodies.ts';
import { startEmbedded } from '../server/database/embedded.ts';
import { migrate } from '../server/database/migrate.ts';
import { mintToken, tokenDigest } from '../server/domain/accounts/secret-tokens.ts';
import { csrfToken } from '../server/http/csrf.ts';
import type { Drill } from './drill.ts';
import { newKey, startWriters } from './writers.ts';

const writers = 8;

/** Runs a `dealkeep` command; returns its output. Rejects when the command fails. */
async function command(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, [...program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`dealkeep ${args.join(' ')} ended with ${code}: ${said}`);
  return said;
}

/** Makes a deal and adds documents to it as its broker, one after the other, until the signal. */
async function addDocuments(origin: string, owner: pg.Client, signal: AbortSignal) {
  const { rows } = await owner.query<{ user_id: string; deal_id: string }>(
    `with d as (insert into deals (organization_id, title, state) select id, 'Drill', 'listed' from brokerages limit 1 returning id)
     insert into participants (deal_id, user_id, role, status) select d.id, u.id, 'broker', 'active' from d, users u limit 1
     returning user_id, deal_id`,
  );
  const session = mintToken();
  await owner.query(`insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password')`, [
    rows[0]?.user_id,
    tokenDigest(session),
  ]);
  const added: { id: string; began: number; ended: number }[] = [];
  const adding = (async () => {
    for (let n = 0; !signal.aborted && n < 900; n += 1) {
      const began = performance.now();
      const query = new URLSearchParams({ filename: `Lease ${n}.pdf`, category: 'other', confidentiality: 'public' });
      const answer = await fetch(`${origin}/api/web/deals/${rows[0]?.deal_id}/documents?${query}`, {
        method: 'POST',
        headers: {
          cookie: `dealkeep=${session}`,
          'x-csrf-token': csrfToken(session),
          origin,
          'content-type': 'application/octet-stream',
        },
        body: new Uint8Array(pdf('Lease', `The shop number ${n} is let from year to year.`).bytes),
      });
      const said = await answer.text();
      if (answer.status === 201)
        added.push({ id: (JSON.parse(said) as { id: string }).id, began, ended: performance.now() });
    }
  })();
  return { added, adding };
}

async function run(directory: string, say: (line: string) => void): Promise<boolean> {
  const place = path.join(directory, 'backups');
  const [lost, restored] = [path.join(directory, 'lost'), path.join(directory, 'restored')];
  mkdirSync(lost, { mode: 0o700 });
  const postgres = await startEmbedded({ dataDir: path.join(lost, 'postgres') });
  let stopPostgres: (() => Promise<void>) | null = () => postgres.stop();
  const over = new AbortController();
  try {
    await migrate(postgres.owner, { serverLogin: postgres.server.user });
    const owner = new pg.Client(postgres.owner);
    owner.on('error', () => {});
    await owner.connect();
    const key = await newKey(owner);
    const env = {
      DATABASE_URL: urlOf(postgres.server as Cluster['server']),
      MIGRATE_DATABASE_URL: urlOf(postgres.owner as Cluster['server']),
      DATA_DIR: path.join(lost, 'data'),
    };
    const node = await startDealkeep(env.DATABASE_URL, { ...env, DRAIN_SECONDS: '0', LOG_LEVEL: 'fatal' });
    const writing = await startWriters([node.origin], { key, count: writers, insist: true });
    const { added, adding } = await addDocuments(node.origin, owner, over.signal);
    await pause(4_000);

    const began = performance.now();
    await command(['backup', '--place', place, '--json'], env);
    const ended = performance.now();
    say(
      `backed up in ${((ended - began) / 1000).toFixed(1)} s while ${writers} clients added contacts and one documents`,
    );
    await pause(2_000);
    over.abort();
    await Promise.all([writing.stop(), adding]);
    await owner.end();
    await node.kill();
    await postgres.stop();
    stopPostgres = null;
    rmSync(lost, { recursive: true, force: true });
    say('killed the node, and removed database and documents');

    // Checks every row and every body of the backup.
    await command(['verify', '--place', place, '--json'], { DATA_DIR: restored });
    await command(['restore', '--place', place, '--json'], { DATA_DIR: restored });
    const again = await startEmbedded({ dataDir: restored });
    stopPostgres = () => again.stop();
    const client = new pg.Client(again.owner);
    await client.connect();
    const { rows: found } = await client.query<{ name: string }>('select display_name as name from contacts');
    const { rows: documents } = await client.query<{ id: string }>('select id from documents');
    const { rows: halves } = await client.query<{ count: number }>(
      `select count(*)::int as count from contacts c full join vault.idempotency_keys k on k.contact_id = c.id
       where (c.id is null or k.contact_id is null) and c.display_name is distinct from 'Warming up'`,
    );
    await client.end();
    await again.stop();
    stopPostgres = null;
    const kept = new Set([...found.map(({ name }) => name), ...documents.map(({ id }) => id)]);
    const all = [
      ...writing.attempts.filter(({ outcome }) => outcome === 201),
      ...added.map((document) => ({ ...document, name: document.id })),
    ];
    const before = all.filter((one) => one.ended < began);
    const after = all.filter((one) => one.began > ended);
    const missing = before.filter(({ name }) => !kept.has(name)).length;
    const late = after.filter(({ name }) => kept.has(name)).length;
    const half = halves[0]?.count ?? -1;
    say(
      `acknowledged before: ${before.length}, of them missing ${missing}; begun after: ${after.length}, of them there ${late}; ` +
        `in between: ${all.length - before.length - after.length}; there by half: ${half}; documents: ${documents.length} of ${added.length}`,
    );
    return before.length > 0 && after.length > 0 && missing + late + half === 0;
  } finally {
    over.abort();
    await stopPostgres?.();
  }
}

export const backup: Drill = {
  title: `back up while ${writers} clients write, destroy, restore, compare`,
  needs: [],
  run,
};
