/** A large document passes through the service without being held in its memory. */

import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type WebScene } from '../web/scene.ts';
import { aPdf, fetchBody } from '../web/uploads.ts';

let web: WebScene;
beforeAll(async () => {
  web = await openScene();
});
afterAll(() => web?.close());

const megabyte = 1_048_576;
const size = 300 * megabyte;

/**
 * Watches the memory of this process, which is both the service and its client; the returned function ends this and
 * returns the highest increase in bytes.
 */
function watchMemory(): () => number {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let highest = before;
  const looking = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 20);
  return () => {
    clearInterval(looking);
    return highest - before;
  };
}

/** Sends the beginning of a PDF and then the same part over and over, each once the previous one has been sent. */
async function sendLongPdf(): Promise<{
  status: number | undefined;
  body: { id: string; source: string; size_bytes: string };
}> {
  const part = Buffer.alloc(megabyte, 7);
  function* parts(): Generator<Buffer> {
    const start = aPdf();
    yield start;
    for (let left = size - start.length; left > 0; left -= megabyte) yield part.subarray(0, Math.min(left, megabyte));
  }
  const { hostname, port } = new URL(web.service.origin);
  const query = new URLSearchParams({ filename: 'Scans.pdf', category: 'other', confidentiality: 'public' });
  const { headers } = await web.as('broker');
  const path = `/api/web/deals/${web.scene.deal}/documents?${query}`;
  const sending = request({ hostname, port, path, method: 'POST', headers: { ...headers, 'content-length': size } });
  const [[response]] = (await Promise.all([
    once(sending, 'response'),
    pipeline(Readable.from(parts(), { objectMode: true, highWaterMark: 1 }), sending),
  ])) as [[IncomingMessage], unknown];
  return { status: response.statusCode, body: JSON.parse((await response.toArray()).join('')) };
}

test('a document of 300 MB is uploaded and downloaded without being held in memory', async () => {
  const broker = await web.as('broker');
  const up = watchMemory();
  const { status, body } = await sendLongPdf();
  const whileUp = up();
  expect(status).toBe(201);
  expect(body.size_bytes).toBe(String(size));

  const down = watchMemory();
  const response = await fetchBody(web.service, broker, body);
  let got = 0;
  for await (const part of response.body!) got += part.byteLength;
  const whileDown = down();
  expect(got).toBe(size);
  expect(whileUp).toBeLessThan(200 * megabyte);
  expect(whileDown).toBeLessThan(200 * megabyte);
});
