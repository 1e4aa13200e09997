/**
 * Two nodes behind HAProxy, and then behind nginx, with one process each and with two, are replaced one after the other
 * while eight clients write.
 */

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { table } from '../bench/table.ts';
import type { Drill } from './drill.ts';
import { needed, noProxy, proxies, startStack } from './stack.ts';
import { outcomes, saidBy, tally, type Writers } from './writers.ts';

const writers = 8;

/** The drill: nothing fails, nothing is lost or duplicated. */
export const rolling: Drill = {
  title: `two nodes behind HAProxy and nginx, with PgBouncer and Redis, are replaced one after the other, ${writers} clients write`,
  needs: needed,
  missing: noProxy,
  async run(directory, say) {
    const rows: string[][] = [];
    let held = true;
    const stacks = proxies().flatMap((kind) => [1, 2].map((workers) => ({ kind, workers })));
    for (const { kind, workers } of stacks) {
      const name = `${kind}, WORKERS=${workers}`;
      const stack = await startStack(kind, path.join(directory, `${kind}-${workers}`), workers);
      let writing: Writers | undefined;
      try {
        writing = await stack.write({ count: writers, insist: false });
        const seconds: string[] = [];
        for (const place of [0, 1]) {
          await pause(2_000);
          const began = performance.now();
          await stack.nodes[place]?.stop();
          await stack.restart(place);
          seconds.push(((performance.now() - began) / 1000).toFixed(1));
          // Until the proxy uses the node again.
          await pause(3_000);
        }
        await writing.stop();
        const { failed, acknowledged, lost, duplicated } = await tally(writing, stack.owner);
        const figures = [failed.length, acknowledged, lost, duplicated].map(String);
        for (const text of saidBy(failed)) say(`${name} answered: ${text}`);
        rows.push([name, ...figures, seconds.join(', '), outcomes(failed)]);
        held &&= failed.length + lost + duplicated === 0;
      } finally {
        await writing?.stop();
        await stack.close();
      }
    }
    const heads = ['', 'failed', 'acknowledged', 'lost', 'duplicated', 's to replace each node', 'failures'];
    for (const line of table(heads, rows).split('\n')) say(line);
    return held;
  },
};
