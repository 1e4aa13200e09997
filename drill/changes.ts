/**
 * 100,000 changes by concurrent long and short transactions, some of them rolled back, while readers follow GET
 * /api/v1/events: each reads every change once, and each record's changes in the order in which they were committed.
 */

import pg from 'pg';
import { openCluster, urlOf } from '../bench/cluster.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import type { Drill } from './drill.ts';
import { followStream, pagesOf } from './stream.ts';
import { newKey } from './writers.ts';

const changes = 100_000;

async function run(_directory: string, say: (line: string) => void): Promise<boolean> {
  const cluster = await openCluster();
  const owner = new pg.Client(cluster.owner);
  let service: Service | undefined;
  try {
    await owner.connect();
    const token = await newKey(owner, ['contacts:read', 'events:read']);
    service = await startDealkeep(urlOf(cluster.server));
    const { rows } = await owner.query<{ id: string }>(`select id from brokerages where slug = 'drill'`);
    const began = performance.now();
    const found = await followStream({
      owner: cluster.owner,
      server: cluster.server,
      brokerage: rows[0]?.id ?? '',
      token,
      changes,
      writers: 12,
      readers: 4,
      pages: pagesOf(service.origin, token),
    });
    const seconds = (performance.now() - began) / 1000;
    const { committed, rolledBack, transactions, publications, faults } = found;
    say(
      `${committed} changes committed and ${rolledBack} rolled back in ${transactions} transactions, ${publications} publications, ${seconds.toFixed(0)} s`,
    );
    say(`read wrongly by four readers: ${faults.length}`);
    for (const fault of faults.slice(0, 10)) say(fault);
    return faults.length === 0 && committed >= changes;
  } finally {
    await service?.stop();
    await owner.end().catch(() => {});
    await cluster.close();
  }
}

export const streamOfChanges: Drill = {
  title: `${changes} changes by long and short transactions, with readers beside them`,
  needs: [],
  run,
};
