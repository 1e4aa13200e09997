/** Two nodes behind a real proxy, with PgBouncer in transaction mode in front of PostgreSQL, and Redis for limits and changes. */

import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { openCluster, urlOf, type Cluster } from '../bench/cluster.ts';
import { freePort } from '../bench/free-port.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import { certificate, isInstalled, startProxy, startProxyWith, type ProxyKind } from './proxies.ts';
import { newKey, startWriters, type Writers } from './writers.ts';

/** Programs that the stack needs besides one of the {@link proxies}. */
export const needed: readonly string[] = ['openssl', 'pgbouncer', 'redis-server'];

/** The proxies that are installed on this machine. */
export const proxies = (): ProxyKind[] => (['haproxy', 'nginx'] as const).filter(isInstalled);

/** A sentence when no proxy is installed; null otherwise. */
export const noProxy = (): string | null => (proxies().length > 0 ? null : 'There is neither nginx nor HAProxy here');

/** Seconds that a stopping node keeps answering: twice what HAProxy takes to notice. */
const drainSeconds = 4;

/** A port of this machine that leads to PostgreSQL, whose own socket is accessible to its own user only. */
async function relay({ host, port }: Cluster['server']): Promise<[port: number, stop: () => Promise<void>]> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {}).on('close', () => (sockets.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return [(server.address() as net.AddressInfo).port, stop];
}

/** PgBouncer with ten connections to PostgreSQL for all nodes; it does not run as root. */
async function startPooler(
  directory: string,
  server: Cluster['server'],
): Promise<[url: string, stop: () => Promise<void>]> {
  const port = await freePort();
  const own = path.join(directory, 'pgbouncer');
  mkdirSync(own);
  const [behind, stopRelay] = await relay(server);
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  writeFileSync(path.join(own, 'users'), `"${server.user}" "${server.password}"\n`);
  writeFileSync(
    path.join(own, 'ini'),
    `[databases]\n${server.database} = host=127.0.0.1 port=${behind}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
      `listen_port = ${port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = ${own}/users\n` +
      'pool_mode = transaction\ndefault_pool_size = 10\nmax_client_conn = 200\n',
  );
  if (user) for (const name of ['', 'users', 'ini']) chownSync(path.join(own, name), user.uid, user.gid);
  const stop = await startProxyWith('pgbouncer', [`${own}/ini`], port, user);
  return [urlOf({ ...server, host: '127.0.0.1', port }), () => stop().then(stopRelay)];
}

export interface Stack {
  readonly nodes: readonly Service[];
  /** A connection of the owner directly to the database. */
  readonly owner: pg.ClientConfig;
  /** Clients that write through the proxy. */
  write(options: { count: number; insist: boolean }): Promise<Writers>;
  /** Starts the node at this index again, at its port. */
  restart(place: number): Promise<void>;
  readonly redis: { stop(): Promise<void>; start(): Promise<void> };
  close(): Promise<void>;
}

/** Makes `directory` and starts the whole stack in it. */
export async function startStack(kind: ProxyKind, directory: string, workers = 1): Promise<Stack> {
  mkdirSync(directory);
  // PgBouncer, as another user, must be able to reach its files through this directory.
  chmodSync(path.dirname(directory), 0o711);
  const { cert: ca } = certificate(directory);
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const each of closers.toReversed()) await each();
  };
  try {
    const cluster = await openCluster();
    closers.push(() => cluster.close());
    const owner = new pg.Client(cluster.owner);
    await owner.connect();
    const key = await newKey(owner).finally(() => owner.end());
    const [pooled, stopPooler] = await startPooler(directory, cluster.server);
    closers.push(stopPooler);

    const redisPort = await freePort();
    const redisArgs = ['--port', `${redisPort}`, '--bind', '127.0.0.1', '--save', '', '--dir', directory];
    const startRedis = () => startProxyWith('redis-server', redisArgs, redisPort);
    let stopRedis = await startRedis();
    closers.push(() => stopRedis('SIGKILL'));

    const [port, a, b] = [await freePort(), await freePort(), await freePort()] as const;
    const start = (own: number) =>
      startDealkeep(pooled, {
        PORT: String(own),
        BASE_URL: `https://localhost:${port}`,
        TRUSTED_PROXIES: '127.0.0.1',
        DATA_DIR: path.join(directory, 'data'),
        DATABASE_PREPARE: 'off',
        DATABASE_LISTEN_URL: urlOf(cluster.server),
        REDIS_URL: `redis://127.0.0.1:${redisPort}`,
        RATE_LIMIT_STORE: 'redis',
        DRAIN_SECONDS: String(drainSeconds),
        WORKERS: String(workers),
      });
    const nodes: Service[] = [];
    closers.push(() => Promise.all(nodes.map((node) => node.stop())));
    for (const own of [a, b]) nodes.push(await start(own));
    closers.push(await startProxy(kind, { directory, port, nodes: [a, b] }));
    return {
      nodes,
      owner: cluster.owner,
      write: (options) => startWriters([`https://localhost:${port}`], { key, ca, ...options }),
      async restart(place) {
        nodes[place] = await start(place === 0 ? a : b);
      },
      redis: {
        stop: () => stopRedis('SIGKILL'),
        async start() {
          stopRedis = await startRedis();
        },
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
