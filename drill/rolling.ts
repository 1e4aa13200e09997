/** Two nodes behind the real HAProxy are replaced one after the other while eight clients write. */

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openCluster, urlOf } from '../bench/cluster.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import type { Drill } from './drill.ts';
import { freePort } from '../bench/free-port.ts';
import { certificate, startProxy } from './proxies.ts';
import { newKey, startWriters, tally, type Writers } from './writers.ts';

const writers = 8;
const drainSeconds = 4;

/** The drill: nothing failed, nothing lost, nothing twice. */
export const rolling: Drill = {
  title: `two nodes behind HAProxy are replaced one after the other, ${writers} clients write`,
  needs: ['haproxy', 'openssl'],
  async run(directory, say) {
    const { cert: ca } = certificate(directory);
    const [port, a, b] = [await freePort(), await freePort(), await freePort()];
    const cluster = await openCluster();
    const owner = new pg.Client(cluster.owner);
    await owner.connect();
    const key = await newKey(owner).finally(() => owner.end());
    const node = (own: number) =>
      startDealkeep(urlOf(cluster.server), {
        PORT: String(own),
        BASE_URL: `https://localhost:${port}`,
        TRUSTED_PROXIES: '127.0.0.1',
        DATA_DIR: path.join(directory, 'data'),
        DRAIN_SECONDS: String(drainSeconds),
      });
    const nodes: Service[] = [await node(a), await node(b)];
    const stopProxy = await startProxy('haproxy', { directory, port, nodes: [a, b] });
    let writing: Writers | undefined;
    try {
      writing = await startWriters([`https://localhost:${port}`], { key, count: writers, ca });
      for (const [at, own] of [a, b].entries()) {
        await pause(2_000);
        const began = performance.now();
        await nodes[at]?.stop();
        nodes[at] = await node(own);
        say(`node ${at + 1} replaced in ${((performance.now() - began) / 1000).toFixed(1)} s`);
        // Until HAProxy takes it back.
        await pause(3_000);
      }
      await writing.stop();
      const { failed, acknowledged, lost, duplicated } = await tally(writing, cluster.owner);
      say(`requests failed ${failed.length}, acknowledged ${acknowledged}, lost ${lost}, duplicated ${duplicated}`);
      for (const { name, outcome } of failed.slice(0, 5)) say(`  ${name}: ${outcome}`);
      return failed.length + lost + duplicated === 0;
    } finally {
      await writing?.stop();
      await stopProxy();
      await Promise.all(nodes.map((each) => each.stop()));
      await cluster.close();
    }
  },
};
