/**
 * The primary of a PostgreSQL with a synchronous standby is killed while eight clients write through two nodes, and the
 * standby is promoted. HAProxy routes the nodes to the server that reports that it is the primary, as with Patroni.
 */

import { writeFileSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openCluster, urlOf, type Cluster } from '../bench/cluster.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import type { Drill } from './drill.ts';
import { ask, debianEngine, startPair, type Server } from './postgres.ts';
import { freePort } from '../bench/free-port.ts';
import { startProxyWith } from './proxies.ts';
import { longest, newKey, outcomes, startWriters, tally, type Writers } from './writers.ts';

const writers = 8;

/** Answers 200 for a primary and 503 otherwise, as Patroni does at /primary. */
async function roleOf({ connection }: Server, port: number): Promise<HttpServer> {
  const service = createServer((_, answer) => {
    const isPrimary = ask(connection, 'select not pg_is_in_recovery()').catch(() => false);
    void isPrimary.then((yes) => answer.writeHead(yes ? 200 : 503).end());
  });
  await new Promise<void>((resolve) => void service.listen(port, '127.0.0.1', resolve));
  return service;
}

const proxyConfiguration = (port: number, servers: readonly (readonly [port: number, role: number])[]) => `global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server check inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.map(([own, role], at) => `  server pg${at} 127.0.0.1:${own} port ${role}`).join('\n')}
`;

/** The drill: nothing acknowledged is lost, nothing is duplicated, and writing continues. */
export const failover: Drill = {
  title: `the primary is killed and its synchronous standby promoted, ${writers} clients write through two nodes`,
  needs: ['haproxy', 'ps'],
  missing: () => (debianEngine() ? null : 'There is no PostgreSQL 15 or later from Debian here'),
  async run(directory, say) {
    let cluster: Cluster | undefined;
    let key = '';
    const pair = await startPair(directory, debianEngine() ?? '', async ({ user, password, port }) => {
      cluster = await openCluster(`postgres://${user}:${password}@127.0.0.1:${port}/postgres`);
      const owner = new pg.Client(cluster.owner);
      await owner.connect();
      key = await newKey(owner).finally(() => owner.end());
    });
    if (!cluster) throw new Error('There is no database.');
    const { owner: ownerThen, server } = cluster;
    const closing: (() => Promise<unknown>)[] = [() => pair.standby.stop(), () => pair.primary.stop()];
    let writing: Writers | undefined;
    try {
      await pair.beSynchronous();
      const servers: [number, number][] = [];
      for (const each of [pair.primary, pair.standby]) {
        const role = await freePort();
        const service = await roleOf(each, role);
        closing.unshift(async () => {
          service.closeAllConnections();
          service.close();
        });
        servers.push([each.connection.port, role]);
      }
      const port = await freePort();
      const file = path.join(directory, 'primary.cfg');
      writeFileSync(file, proxyConfiguration(port, servers));
      closing.unshift(await startProxyWith('haproxy', ['-db', '-f', file], port));
      const url = urlOf({ ...server, port });
      for (
        const giveUp = Date.now() + 15_000;
        !(await ask({ connectionString: url }, 'select true').catch(() => false));
        await pause(200)
      )
        if (Date.now() > giveUp) throw new Error('HAProxy did not find the primary.');
      const nodes: Service[] = [];
      for (let n = 0; n < 2; n += 1) {
        const node = await startDealkeep(url, {
          DATA_DIR: path.join(directory, 'data'),
          RATE_LIMIT_STORE: 'postgres',
          DRAIN_SECONDS: '0',
          LOG_LEVEL: 'fatal',
        });
        closing.unshift(() => node.stop());
        nodes.push(node);
      }
      writing = await startWriters(
        nodes.map(({ origin }) => origin),
        { key, count: writers, insist: true },
      );
      await pause(4_000);

      const killed = performance.now();
      const since = (moment: number) => ((moment - killed) / 1000).toFixed(1);
      await pair.primary.kill();
      await ask(pair.standby.connection, 'select pg_promote(true, 30)');
      say(`the standby took over ${since(performance.now())} s after the kill`);
      const isBack = () => writing?.attempts.find(({ began, outcome }) => began > killed && outcome === 201);
      for (const giveUp = Date.now() + 60_000; !isBack(); await pause(20))
        if (Date.now() > giveUp) throw new Error('Nothing was acknowledged within a minute.');
      say(`the first write was acknowledged again after ${since(isBack()?.ended ?? 0)} s`);
      await pause(5_000);
      await writing.stop();

      const { failed, acknowledged, lost, duplicated } = await tally(writing, {
        ...ownerThen,
        port: pair.standby.connection.port,
      });
      const replayed = writing.attempts.filter((attempt) => attempt.replayed).length;
      const lastFailed = Math.max(killed, ...failed.map(({ ended }) => ended));
      say(
        `the last request that failed was answered after ${since(lastFailed)} s; the longest took ${longest(writing.attempts).toFixed(1)} s`,
      );
      say(`acknowledged ${acknowledged}, lost ${lost}, duplicated ${duplicated}`);
      say(
        `requests that failed and were sent again: ${outcomes(failed)}; found stored already when sent again: ${replayed}`,
      );
      return lost + duplicated === 0;
    } finally {
      await writing?.stop();
      for (const close of closing) await close();
    }
  },
};
