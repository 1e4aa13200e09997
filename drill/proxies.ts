/** Runs nginx or HAProxy with the configuration from deploy/, its addresses replaced by those of this machine. */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../bench/free-port.ts';

export type ProxyKind = 'nginx' | 'haproxy';

const deploy = path.join(import.meta.dirname, '../deploy');

/** Whether a program is installed on this machine. */
export const isInstalled = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** Whether a connection to a port of this machine is accepted. */
function answersAt(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Makes a certificate for localhost and its key in `directory`; returns both as PEM. */
export function certificate(directory: string): { readonly cert: string; readonly key: string } {
  const [cert, key] = [path.join(directory, 'cert.pem'), path.join(directory, 'key.pem')];
  const args = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const made = spawnSync('openssl', ['req', '-x509', ...args, ...subject, '-keyout', key, '-out', cert]);
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr}`);
  writeFileSync(path.join(directory, 'both.pem'), readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

/** The file from deploy/ with all replacements made. Throws when it does not contain one of the replaced texts. */
function configuration(file: string, replacements: Readonly<Record<string, string>>): string {
  let text = readFileSync(path.join(deploy, file), 'utf8');
  for (const [what, by] of Object.entries(replacements)) {
    if (!text.includes(what)) throw new Error(`deploy/${file} no longer has "${what}".`);
    text = text.replaceAll(what, by);
  }
  return text;
}

interface ProxyOptions {
  /** A directory for the proxy's files, in which {@link certificate} has put the certificate. */
  readonly directory: string;
  /** The port for https. */
  readonly port: number;
  /** The ports of the two nodes. */
  readonly nodes: readonly [number, number];
}

async function nginx({ directory, port, nodes: [a, b] }: ProxyOptions): Promise<string[]> {
  const site = configuration('nginx.conf', {
    '10.0.0.11:3000': `127.0.0.1:${a}`,
    '10.0.0.12:3000': `127.0.0.1:${b}`,
    'listen 80;': `listen 127.0.0.1:${await freePort()};`,
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    'deals.example.com;': 'localhost;',
    '/var/log/nginx/access.log': `${directory}/access.log`,
    '/var/log/nginx/error.log': `${directory}/error.log`,
    '/etc/ssl/deals.example.com.pem': `${directory}/cert.pem`,
    '/etc/ssl/private/deals.example.com.key': `${directory}/key.pem`,
  });
  writeFileSync(path.join(directory, 'site.conf'), site);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(path.join(directory, name), { recursive: true });
    return `${name}_temp_path ${directory}/${name};`;
  });
  writeFileSync(
    path.join(directory, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1;\ndaemon off;\npid ${directory}/pid;\nerror_log ${directory}/error.log;\n` +
      `events { worker_connections 2048; }\nhttp {\naccess_log off;\n${temporary.join('\n')}\ninclude ${directory}/site.conf;\n}\n`,
  );
  return ['-p', directory, '-e', `${directory}/error.log`, '-c', `${directory}/nginx.conf`];
}

const leavesRoot = '  user haproxy\n  group haproxy\n  chroot /var/lib/haproxy\n';
/** Whether HAProxy can switch to its own user here: only root may, and only the Debian package makes that user. */
export const canLeaveRoot = (): boolean =>
  process.getuid?.() === 0 && existsSync('/var/lib/haproxy') && spawnSync('id', ['haproxy']).status === 0;

async function haproxy({ directory, port, nodes: [a, b] }: ProxyOptions): Promise<string[]> {
  const text = configuration('haproxy.cfg', {
    '10.0.0.11:3000': `127.0.0.1:${a}`,
    '10.0.0.12:3000': `127.0.0.1:${b}`,
    'bind :80': `bind 127.0.0.1:${await freePort()}`,
    'bind :443': `bind 127.0.0.1:${port}`,
    '/etc/ssl/deals.example.com.with-key.pem': `${directory}/both.pem`,
    'maxconn 20000': 'maxconn 2000',
    [leavesRoot]: canLeaveRoot() ? leavesRoot : '',
  });
  writeFileSync(path.join(directory, 'haproxy.cfg'), text);
  return ['-db', '-f', path.join(directory, 'haproxy.cfg')];
}

/** Starts a proxy in front of two nodes and waits until it accepts connections; the returned function stops it. */
export async function startProxy(kind: ProxyKind, options: ProxyOptions): Promise<() => Promise<void>> {
  return startProxyWith(kind, await { nginx, haproxy }[kind](options), options.port);
}

/** Stops the program, with SIGTERM by default. */
export type StopProgram = (signal?: NodeJS.Signals) => Promise<void>;

/**
 * Starts a program with these arguments and waits until it accepts connections at `port`; as root it may run as another
 * `user`.
 */
export async function startProxyWith(
  program: string,
  args: readonly string[],
  port: number,
  user?: { readonly uid: number; readonly gid: number },
): Promise<StopProgram> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...user });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4_000)));
  for (const giveUp = Date.now() + 15_000; !(await answersAt(port)); await pause(50)) {
    if (child.exitCode !== null || Date.now() > giveUp) throw new Error(`${program} did not start: ${said}`);
  }
  return async (signal = 'SIGTERM') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  };
}
