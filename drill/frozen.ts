/**
 * The PostgreSQL of a node freezes for 15 s, as on a machine that hangs, while eight clients write: requests are
 * refused in time, the node itself keeps answering, and nothing is lost when PostgreSQL continues.
 */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { urlOf } from '../bench/cluster.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import { startEmbedded } from '../server/database/embedded.ts';
import { migrate } from '../server/database/migrate.ts';
import type { Drill } from './drill.ts';
import { freeze } from './postgres.ts';
import { longest, newKey, outcomes, startWriters, tally, type Attempt, type Writers } from './writers.ts';

const writers = 8;
const frozenMillis = 15_000;
/** Seconds. A silent connection is closed after 10 s; the rest allows for a busy machine that notices late. */
const longestWait = 12;
/** Seconds. /readyz gives up after 2 s. */
const longestReady = 6;

/** Requests `url` ten times a second until the signal. */
async function watch(url: string, signal: AbortSignal): Promise<Attempt[]> {
  const seen: Attempt[] = [];
  while (!signal.aborted) {
    const began = performance.now();
    const outcome = await fetch(url).then(
      async (answer) => (await answer.text(), answer.status),
      () => 'no answer',
    );
    seen.push({ name: url, began, ended: performance.now(), outcome, replayed: false });
    await pause(100);
  }
  return seen;
}

/**
 * The drill: every request is answered within 12 s, /readyz within 6 s, /healthz always with 200, and nothing is lost
 * or duplicated.
 */
export const frozen: Drill = {
  title: `PostgreSQL stands still for ${frozenMillis / 1000} s, ${writers} clients write`,
  needs: ['ps'],
  async run(directory, say) {
    const postgres = await startEmbedded({ dataDir: path.join(directory, 'postgres') });
    const over = new AbortController();
    let stopped: number[] = [];
    let writing: Writers | undefined;
    let node: Service | undefined;
    const goOn = () => {
      for (const each of stopped) process.kill(each, 'SIGCONT');
      stopped = [];
    };
    try {
      await migrate(postgres.owner, { serverLogin: postgres.server.user });
      const owner = new pg.Client(postgres.owner);
      await owner.connect();
      const key = await newKey(owner).finally(() => owner.end());
      node = await startDealkeep(urlOf(postgres.server), {
        DATA_DIR: path.join(directory, 'data'),
        RATE_LIMIT_STORE: 'postgres',
        DRAIN_SECONDS: '0',
        LOG_LEVEL: 'fatal',
      });
      writing = await startWriters([node.origin], { key, count: writers, insist: true });
      const watching = Promise.all(
        ['/healthz', '/readyz'].map((where) => watch(`${node?.origin}${where}`, over.signal)),
      );
      await pause(3_000);

      const pid = Number(readFileSync(path.join(postgres.directory, 'postmaster.pid'), 'utf8').split('\n')[0]);
      stopped = freeze(pid);
      // Waits for responses that were sent before.
      await pause(200);
      const froze = performance.now();
      await pause(frozenMillis);
      const thawed = performance.now();
      goOn();
      const isBack = () => writing?.attempts.find(({ ended, outcome }) => ended > thawed && outcome === 201);
      for (const giveUp = Date.now() + 60_000; !isBack(); await pause(20))
        if (Date.now() > giveUp) throw new Error('Nothing was acknowledged within a minute.');
      await pause(3_000);
      await writing.stop();
      over.abort();
      const [health = [], ready = []] = await watching;

      const { failed, acknowledged, lost, duplicated } = await tally(writing, postgres.owner);
      const during = (attempts: readonly Attempt[]) => attempts.filter(({ ended }) => ended > froze && ended < thawed);
      const lastFailed = Math.max(thawed, ...failed.map(({ ended }) => ended));
      say(
        `answered while it stood still: ${outcomes(during(writing.attempts))}; the longest took ${longest(writing.attempts).toFixed(1)} s`,
      );
      say(`/healthz: ${outcomes(during(health))}, at most ${longest(during(health)).toFixed(2)} s`);
      say(`/readyz: ${outcomes(during(ready))}, at most ${longest(during(ready)).toFixed(2)} s`);
      say(
        `the first write was acknowledged ${(((isBack()?.ended ?? 0) - thawed) / 1000).toFixed(1)} s after it went on, the last failure answered after ${((lastFailed - thawed) / 1000).toFixed(1)} s`,
      );
      say(`acknowledged ${acknowledged}, lost ${lost}, duplicated ${duplicated}; failed in all: ${outcomes(failed)}`);
      const refused = failed.every(({ outcome }) => outcome === 503) && longest(writing.attempts) < longestWait;
      const probed = health.every(({ outcome }) => outcome === 200) && longest(during(ready)) < longestReady;
      return refused && probed && lost + duplicated === 0;
    } finally {
      goOn();
      over.abort();
      await writing?.stop();
      await node?.stop();
      await postgres.stop();
    }
  },
};
