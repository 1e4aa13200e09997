/** nginx and HAProxy as the files in deploy/ set them up, in front of two nodes. */

import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../bench/free-port.ts';
import { canLeaveRoot, certificate, isInstalled, startProxy, type ProxyKind } from '../../drill/proxies.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { aPdf } from '../web/uploads.ts';

const megabyte = 1_048_576;

/** Yields a PDF of this many megabytes, in parts. */
function* largeFile(megabytes: number): Generator<Buffer> {
  yield aPdf();
  const part = randomBytes(megabyte);
  for (let n = 0; n < megabytes; n += 1) yield part;
}

describe.each<ProxyKind>(['nginx', 'haproxy'])('%s', (kind) => {
  const missing = [kind, 'openssl'].find((program) => !isInstalled(program));
  if (missing) console.warn(`There is no ${missing} here: the tests behind ${kind} are left out.`);

  describe.skipIf(missing !== undefined)('in front of two nodes', () => {
    let directory: string;
    let web: WebScene;
    let origin: string;
    let ca: string;
    let stop: () => Promise<void>;
    beforeAll(async () => {
      directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-proxy-'));
      ca = certificate(directory).cert;
      const port = await freePort();
      origin = `https://localhost:${port}`;
      web = await openScene({ nodes: 2, config: { baseUrl: origin, trustedProxies: ['127.0.0.1'] } });
      const [a = 0, b = 0] = web.service.nodes.map((node) => Number(new URL(node.origin).port));
      stop = await startProxy(kind, { directory, port, nodes: [a, b] });
    });
    afterAll(async () => {
      await stop?.();
      await web?.close();
      await rm(directory, { recursive: true, force: true });
    });

    async function open(
      where: string,
      {
        method = 'GET',
        headers = {},
        body,
        at = origin,
      }: { method?: string; headers?: Record<string, string>; body?: Readable; at?: string } = {},
    ): Promise<IncomingMessage> {
      const request = https.request(`${at}${where}`, { ca, method, headers, agent: false });
      const answer = new Promise<IncomingMessage>((resolve, reject) => {
        request.once('response', resolve);
        request.once('error', reject);
      });
      if (body) body.pipe(request);
      else request.end();
      return answer;
    }
    async function ask(
      where: string,
      options: Parameters<typeof open>[1] = {},
    ): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
      const answer = await open(where, options);
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part as Buffer);
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(parts).toString() };
    }
    /** Returns the headers of a signed-in person, with the cookie's name for https. */
    async function as(caller: string): Promise<Record<string, string>> {
      const { headers } = await web.as(caller);
      return { ...headers, cookie: headers['cookie']!.replace(/^/, '__Host-') };
    }

    test('serves over TLS, lists deals without a redirect, creates a deal, and hides /metrics', async () => {
      const headers = await as('admin');
      const listed = await ask('/api/web/deals', { headers });
      expect([listed.status, listed.headers.location]).toEqual([200, undefined]);
      expect(listed.headers['strict-transport-security']).toBeDefined();
      const fields = { title: `Sold behind ${kind}`, organization_id: web.scene.brokerage, currency: 'USD' };
      const made = await ask('/api/web/deals', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: Readable.from([JSON.stringify(fields)]),
      });
      expect([made.status, made.text]).toEqual([201, expect.stringContaining('id')]);
      expect((await ask('/readyz')).text).toBe('ready\n');
      expect((await ask('/metrics')).status).toBe(404);
    });

    test.runIf(kind === 'nginx')('logs paths without query strings', async () => {
      const where = '/calendar.ics?token=a-token-that-no-log-may-hold';
      const logOf = (place: string, name: string) => readFile(path.join(place, name), 'utf8');
      const isKeptIn = async (place: string, status: number) => {
        await expect
          .poll(() => logOf(place, 'access.log'))
          .toMatch(new RegExp(`"GET /calendar.ics HTTP/1.1" ${status} `));
        for (const name of ['access.log', 'error.log']) expect(await logOf(place, name)).not.toContain('a-token');
      };
      expect((await ask(where)).status).toBe(404);
      await isKeptIn(directory, 404);

      // A proxy whose nodes are both unavailable.
      const alone = path.join(directory, 'alone');
      await mkdir(alone);
      for (const name of ['cert.pem', 'key.pem']) await copyFile(path.join(directory, name), path.join(alone, name));
      const port = await freePort();
      const stopAlone = await startProxy(kind, { directory: alone, port, nodes: [await freePort(), await freePort()] });
      try {
        expect((await ask(where, { at: `https://localhost:${port}` })).status).toBe(502);
        await isKeptIn(alone, 502);
      } finally {
        await stopAlone();
      }
    });

    test.runIf(kind === 'haproxy' && canLeaveRoot())('drops root privileges when started as root', async () => {
      const users: string[] = [];
      for (const id of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        // A process that has ended meanwhile has no such file any more.
        const of = (name: string) => readFile(`/proc/${id}/${name}`, 'utf8').catch(() => '');
        if ((await of('cmdline')).includes(`${directory}/haproxy.cfg`))
          users.push(/^Uid:\s+(\d+)/m.exec(await of('status'))?.[1] ?? '');
      }
      expect(users).toHaveLength(1);
      expect(users).not.toContain('0');
    });

    test('uploads and downloads a large document at its full size', async () => {
      const headers = await as('broker');
      const query = new URLSearchParams({ filename: 'Large.pdf', category: 'other', confidentiality: 'nda_gated' });
      const up = await ask(`/api/web/deals/${web.scene.deal}/documents?${query}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/octet-stream' },
        body: Readable.from(largeFile(20)),
      });
      expect([up.status, up.text]).toEqual([201, expect.stringContaining('Large.pdf')]);
      const { id } = JSON.parse(up.text) as { id: string };
      const down = await open(`/api/web/documents/simple/${id}/content`, { headers });
      let size = 0;
      for await (const part of down) size += (part as Buffer).length;
      expect([down.statusCode, size]).toEqual([200, aPdf().length + 20 * megabyte]);
    });

    test('delivers a change event to an open page at once', async () => {
      const stream = await open('/api/web/events', { headers: await as('broker') });
      expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
      let heard = '';
      stream.on('data', (part: Buffer) => (heard += part.toString()));
      await expect.poll(() => heard).toContain(': \n');
      await web.service.sql(`update deals set industry = 'Bread' where id = $1`, [web.scene.deal]);
      await expect.poll(() => heard).toContain(web.scene.deal);
      stream.destroy();
    });

    test("forwards the client's address", async () => {
      // This machine is a trusted proxy itself, so the address that it forwards counts.
      await ask('/sign-in', { headers: { 'x-forwarded-for': '203.0.113.9' } });
      const line = web.service.log.findLast((candidate) => candidate.includes('"path":"/sign-in"'));
      expect(JSON.parse(line ?? '{}')).toMatchObject({ address: '203.0.113.9' });
    });
  });
});
