/** One of two nodes behind HAProxy, and then behind nginx, is killed with SIGKILL and started again while eight clients write. */

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { table } from '../bench/table.ts';
import type { Drill } from './drill.ts';
import { needed, noProxy, proxies, startStack } from './stack.ts';
import { outcomes, saidBy, tally, type Writers } from './writers.ts';

const writers = 8;
/** Seconds. Only requests that the node was answering fail, and those that the proxy sends it before it notices. */
const longestFailing = 5;

/**
 * The drill: failed requests are answered as failed, nothing acknowledged is lost, nothing is duplicated, and soon no
 * request fails any more.
 */
export const killed: Drill = {
  title: `one of two nodes behind HAProxy and nginx, with PgBouncer and Redis, is killed with SIGKILL, ${writers} clients write`,
  needs: needed,
  missing: noProxy,
  async run(directory, say) {
    const rows: string[][] = [];
    let held = true;
    for (const kind of proxies()) {
      const stack = await startStack(kind, path.join(directory, kind));
      let writing: Writers | undefined;
      try {
        writing = await stack.write({ count: writers, insist: true });
        await pause(3_000);
        const began = performance.now();
        await stack.nodes[0]?.kill();
        await pause(5_000);
        await stack.restart(0);
        await pause(3_000);
        await writing.stop();
        const { failed, acknowledged, lost, duplicated } = await tally(writing, stack.owner);
        const last = failed.length > 0 ? (Math.max(...failed.map(({ ended }) => ended)) - began) / 1000 : 0;
        const replayed = writing.attempts.filter((attempt) => attempt.replayed).length;
        const figures = [failed.length, acknowledged, lost, duplicated, replayed].map(String);
        for (const text of saidBy(failed)) say(`${kind} answered: ${text}`);
        rows.push([kind, ...figures, last.toFixed(1), outcomes(failed)]);
        held &&= lost + duplicated === 0 && last < longestFailing;
      } finally {
        await writing?.stop();
        await stack.close();
      }
    }
    const heads = [
      '',
      'failed',
      'acknowledged',
      'lost',
      'duplicated',
      'found stored',
      'last failure after s',
      'failures',
    ];
    for (const line of table(heads, rows).split('\n')) say(line);
    return held;
  },
};
