/**
 * The Redis of two nodes is killed and comes back while eight clients write: the service continues, and logs each
 * change once.
 */

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Service } from '../bench/processes.ts';
import { table } from '../bench/table.ts';
import type { Drill } from './drill.ts';
import { needed, noProxy, proxies, startStack } from './stack.ts';
import { outcomes, saidBy, tally, type Writers } from './writers.ts';

const writers = 8;
/** What each node logs, once each. */
const words = {
  'limits: away': 'the shared rate limit store is unavailable',
  'limits: back': 'the shared rate limit store is available again',
  'changes: away': 'changes do not arrive through Redis',
} as const;

/** The drill: nothing fails, nothing is lost or duplicated, and each node logs each of the words once. */
export const redis: Drill = {
  title: `the Redis of two nodes is killed and comes back after 5 s, ${writers} clients write`,
  needs: needed,
  missing: noProxy,
  async run(directory, say) {
    const [kind = 'haproxy'] = proxies();
    const stack = await startStack(kind, path.join(directory, kind));
    let writing: Writers | undefined;
    try {
      writing = await stack.write({ count: writers, insist: false });
      await pause(3_000);
      await stack.redis.stop();
      await pause(5_000);
      await stack.redis.start();
      const saidOf = (node: Service, word: string) =>
        node
          .output()
          .split('\n')
          .filter((line) => line.includes(word)).length;
      const saidAll = () => stack.nodes.map((node) => Object.values(words).map((word) => saidOf(node, word)));
      // A node reconnects within two seconds, asks Redis again at the next need, and waits two more seconds before it
      // reports Redis as back.
      for (const giveUp = Date.now() + 30_000; saidAll().flat().includes(0) && Date.now() < giveUp;) await pause(200);
      await pause(3_000);
      await writing.stop();
      const { failed, acknowledged, lost, duplicated } = await tally(writing, stack.owner);
      const said = saidAll();
      const figures = [failed.length, acknowledged, lost, duplicated].map(String);
      const heads = ['failed', 'acknowledged', 'lost', 'duplicated', 'failures'];
      for (const line of table(heads, [[...figures, outcomes(failed)]]).split('\n')) say(line);
      for (const text of saidBy(failed)) say(`answered: ${text}`);
      const rows = said.map((counts, at) => [`node ${at + 1}`, ...counts.map(String)]);
      for (const line of table(['said in the log', ...Object.keys(words)], rows).split('\n')) say(line);
      return failed.length + lost + duplicated === 0 && said.flat().every((count) => count === 1);
    } finally {
      await writing?.stop();
      await stack.close();
    }
  },
};
