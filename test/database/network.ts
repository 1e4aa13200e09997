/** A faulty network and a pooler between the server and PostgreSQL. */

import { spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

/**
 * A network between the server and PostgreSQL that can go silent, or break after this many bytes of responses; it
 * counts the connections made.
 */
export async function startNetwork(to: pg.ClientConfig) {
  const state = { silent: false, breakAfter: Infinity, opened: 0 };
  const sockets = new Set<net.Socket>();
  const relay = net.createServer((near) => {
    state.opened += 1;
    const far = net.connect(`${to.host}/.s.PGSQL.${to.port}`);
    let passed = 0;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [near, far].forEach((end) => end.destroy()));
    }
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => {
      if (state.silent) return;
      if (passed + chunk.length > state.breakAfter) near.end(chunk.subarray(0, state.breakAfter - passed));
      else near.write(chunk);
      passed += chunk.length;
    });
  });
  /** Closes the open connections; new ones can be made. */
  const cut = () => sockets.forEach((socket) => socket.destroy());
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  return {
    state,
    connection: { ...to, host: '127.0.0.1', port: (relay.address() as net.AddressInfo).port },
    cut,
    async stop() {
      cut();
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}

/** PgBouncer in transaction mode with two connections to PostgreSQL, and further settings. */
export async function startPooler(to: pg.ClientConfig, settings = '') {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'pooler-'));
  // The socket of PostgreSQL is accessible to its own user only.
  const network = await startNetwork(to);
  const write = (name: string, text: string) => writeFileSync(path.join(directory, name), text);
  write('users', `"${to.user}" "${to.password}"\n`);
  write(
    'ini',
    `[databases]\n${to.database} = host=127.0.0.1 port=${network.connection.port}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = ${directory}\n` +
      `listen_port = 6432\nauth_type = scram-sha-256\nauth_file = ${directory}/users\npool_mode = transaction\ndefault_pool_size = 2\n${settings}`,
  );
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;
  if (user) for (const name of ['', 'users', 'ini']) chownSync(path.join(directory, name), user.uid, user.gid);
  const child = spawn('pgbouncer', ['-q', `${directory}/ini`], { stdio: 'ignore', ...user });
  const connection = { ...to, host: directory, port: 6432 };
  for (let tries = 0; ; tries += 1) {
    const client = new pg.Client(connection);
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      break;
    } catch (error) {
      if (tries > 100) throw error;
      await pause(50);
    }
  }
  return {
    connection,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
      await network.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
