/** REDIS_URL with TLS (rediss://). */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../bench/free-port.ts';
import { withoutRedis } from '../redis.ts';

const withoutTls = withoutRedis ?? (spawnSync('openssl', ['version']).status === 0 ? null : 'openssl is not installed');

/** Starts a Redis that accepts only TLS, with a self-signed certificate. */
async function openRedisWithTls(): Promise<{ url: string; certificate: string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-redis-tls-'));
  const [key, certificate] = [path.join(directory, 'key.pem'), path.join(directory, 'certificate.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  spawnSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', certificate]);
  const port = await freePort();
  const tls = ['--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', key];
  const child = spawn(
    'redis-server',
    [...tls, '--port', '0', '--bind', '127.0.0.1', '--tls-auth-clients', 'no', '--save', '', '--dir', directory],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(directory, { recursive: true, force: true });
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => /Ready to accept connections/.test(text.toString()) && resolve());
    child.once('exit', () => reject(new Error('redis-server did not start with TLS.')));
  });
  return { url: `rediss://127.0.0.1:${port}`, certificate };
}

/**
 * Returns what the Redis at `url` answers to PING, or the name of the error. Runs in a new process, since Node.js reads
 * trusted certificates when it starts.
 */
async function pong(url: string, env: NodeJS.ProcessEnv): Promise<string> {
  const module = path.join(import.meta.dirname, '../../server/redis/connection.ts');
  const program = `
    const { openRedis } = await import(${JSON.stringify(module)});
    const client = await openRedis(${JSON.stringify(url)});
    console.log(await client.ping().catch((error) => error.constructor.name));
    client.destroy();`;
  const args = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
  return stdout.trim();
}

const because = withoutTls === null ? '' : `, but ${withoutTls}`;
test.skipIf(withoutTls !== null)(
  `rediss:// is spoken with a Redis whose certificate is trusted, and with no other${because}`,
  async () => {
    const { url, certificate } = await openRedisWithTls();
    expect(await pong(url, { NODE_EXTRA_CA_CERTS: certificate })).toBe('PONG');
    expect(await pong(url, {})).toMatch(/Error$/);
  },
);
