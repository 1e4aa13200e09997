/**
 * Many concurrent uploads and downloads, and a failing store: through the interfaces of the service, with an object
 * store behind it.
 */

import http, { type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { KeyScope } from '../../server/domain/clients/key-scopes.ts';
import { brokerage, dealScopesOf, issueKey, type Key, type KeyOptions } from '../rest/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { aPdf, fetchBody, upload } from '../web/uploads.ts';
import { openS3Server, type S3Server } from './s3-server.ts';

let s3: S3Server;
let web: WebScene;
let dealScopes: readonly KeyScope[];
beforeAll(async () => {
  s3 = await openS3Server();
  web = await openScene({ config: { s3: s3.config } });
  dealScopes = await dealScopesOf(web.service);
  await web.service.sql('update deals set keys_admitted = true where id = $1', [web.scene.deal]);
});
afterAll(async () => {
  await web?.close();
  await s3?.close();
});

const sending = new Set<http.ClientRequest>();
/** Aborts the uploads in progress. */
async function stopAll(): Promise<void> {
  const closed = [...sending].map((request) => new Promise((resolve) => void request.once('close', resolve)));
  for (const request of sending) request.destroy();
  sending.clear();
  await Promise.all(closed);
}
afterEach(async () => {
  s3.stallOn(null);
  await stopAll();
});

const aboutRest = '?filename=Lease.pdf&category=legal&confidentiality=nda_gated';
const restPath = (deal: string) => `/api/v1/deals/${deal}/documents${aboutRest}`;
const bearer = ({ token }: Key) => ({ authorization: `Bearer ${token}` });

interface UploadAnswer {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** Sends the first half of a file and then nothing; resolves to the response, if there is one. */
function sendSlowly(path: string, headers: Record<string, string>): Promise<UploadAnswer> {
  const { hostname, port } = new URL(web.service.origin);
  const request = http.request({
    hostname,
    port,
    path,
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/octet-stream', 'content-length': 2_000_000 },
  });
  sending.add(request);
  const pdf = Buffer.concat([aPdf(), Buffer.alloc(1_000_000)]);
  request.write(pdf);
  return new Promise((resolve) => {
    request.on('error', () => {});
    request.on('response', (response: IncomingMessage) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.on('close', () => {
        sending.delete(request);
        request.destroy();
        resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], text });
      });
    });
  });
}

/**
 * Begins uploads one after the other, each once the service has announced the previous one to the database; returns the
 * responses, which are added as they arrive.
 */
async function begin(count: number, path: string, headers: Record<string, string>): Promise<UploadAnswer[]> {
  const announced = async () => Number((await web.service.sql('select count(*) as n from vault.uploads'))[0]?.['n']);
  const answers: UploadAnswer[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const before = await announced();
    void sendSlowly(path, headers).then((answer) => answers.push(answer));
    await expect.poll(announced).toBe(before + 1);
  }
  return answers;
}

const newKey = (options: KeyOptions = {}) =>
  issueKey(
    web.service,
    { id: web.scene.brokerage, admin: web.scene.people['admin']! },
    { scopes: dealScopes, ...options },
  );

/** Creates another brokerage with a deal that its keys reach. */
async function elsewhere() {
  const other = await brokerage(web.service);
  const key = await other.key({ scopes: dealScopes });
  const opened = await fetch(`${web.service.restUrl}/deals`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'Orchard' }),
  });
  expect(opened.status).toBe(201);
  const { id } = (await opened.json()) as { id: string };
  return { deal: id, key: () => other.key({ scopes: dealScopes }) };
}

test('slow uploads are limited per key, per brokerage and in total, and rejected before the file is read', async () => {
  const path = restPath(web.scene.deal);
  const flooding = bearer(await newKey());
  const begun = [await begin(4, path, flooding)];
  const ofKey = await sendSlowly(path, flooding);
  expect(ofKey).toMatchObject({ status: 429, retryAfter: '10' });
  expect(JSON.parse(ofKey.text)).toMatchObject({ error: { code: 'rate_limited', details: { retry_after: 10 } } });

  begun.push(await begin(2, path, bearer(await newKey())));
  const ofBrokerage = { status: 429, retryAfter: '10' };
  expect(await sendSlowly(path, bearer(await newKey()))).toMatchObject(ofBrokerage);
  const onPage = `/api/web/deals/${web.scene.deal}/documents${aboutRest}`;
  expect(await sendSlowly(onPage, (await web.as('broker')).headers)).toMatchObject(ofBrokerage);

  // Others find half of the rest, so that there is room for people of a third and a fourth brokerage.
  for (const count of [3, 2, 1]) {
    const other = await elsewhere();
    const key = await other.key();
    begun.push(await begin(count, restPath(other.deal), bearer(key)));
    if (count > 1) expect(await sendSlowly(restPath(other.deal), bearer(key))).toMatchObject(ofBrokerage);
  }
  const last = await elsewhere();
  const ofAll = await sendSlowly(restPath(last.deal), bearer(await last.key()));
  expect(ofAll).toMatchObject({ status: 503, retryAfter: '10' });
  expect(begun.flat()).toEqual([]);

  await stopAll();
  await expect
    .poll(async () => (await upload(web.service, await web.as('broker'), web.scene.deal, aPdf())).status)
    .toBe(201);
});

test('who has added all the documents of a day is refused before the file is read, for each kind of documents', async () => {
  const { service, scene } = web;
  const onPage = `/api/web/deals/${scene.deal}/documents${aboutRest}`;
  const refused = { status: 409, text: expect.stringContaining('"too_many_today"') };
  const fill = (person: string | null) =>
    service.sql(
      `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, uploaded_by)
       select $1, 'Full.pdf', 'legal', 'nda_gated', 1, 'application/pdf', gen_random_uuid()::text, $2 from generate_series(1, 1000)`,
      [scene.deal, person],
    );
  const { headers } = await web.as('seller');
  const key = bearer(await newKey());
  await fill(scene.people['seller']!);
  await fill(null);
  try {
    expect(await sendSlowly(onPage, headers)).toMatchObject(refused);
    expect(await sendSlowly(restPath(scene.deal), key)).toMatchObject(refused);
    expect(await begin(1, `${onPage}&diligence_request=Leases`, headers)).toEqual([]);
    expect(await begin(1, `${restPath(scene.deal)}&diligenceRequest=Leases`, key)).toEqual([]);
    expect(await begin(1, onPage, (await web.as('broker')).headers)).toEqual([]);
  } finally {
    await stopAll();
    await service.sql(`delete from documents where filename = 'Full.pdf'`);
  }
});

test('slow downloads are limited per key, per brokerage and in total, until one of them ends', async () => {
  /** Begins downloads, of which only the beginning is sent; returns their statuses, and a function that ends them. */
  async function download(count: number, id: string, headers: Record<string, string>, page = false) {
    const url = `${web.service.origin}/api/${page ? 'web/documents/simple' : 'v1/documents'}/${id}/content`;
    const stop = new AbortController();
    const answers = await Promise.all(
      Array.from({ length: count }, () => fetch(url, { headers, signal: stop.signal })),
    );
    return {
      // A response without any reference is ended by garbage collection.
      held: answers,
      answers: [...new Set(answers.map(({ status, headers: said }) => `${status} ${said.get('retry-after')}`))],
      text: answers[0]!.status === 200 ? '' : await answers[0]!.text(),
      stop: () => stop.abort(),
    };
  }
  const broker = await web.as('broker');
  const { id } = (await upload(web.service, broker, web.scene.deal, aPdf())).body;
  const open = [];
  s3.stallOn(/^GET /);

  const flooding = bearer(await newKey());
  open.push(await download(16, id, flooding));
  const ofKey = await download(1, id, flooding);
  expect(ofKey.answers).toEqual(['429 10']);
  expect(JSON.parse(ofKey.text)).toMatchObject({ error: { code: 'rate_limited', details: { retry_after: 10 } } });

  for (let nth = 1; nth < 10; nth += 1) open.push(await download(16, id, bearer(await newKey())));
  expect((await download(1, id, bearer(await newKey()))).answers).toEqual(['429 10']);
  expect((await download(1, id, broker.headers, true)).answers).toEqual(['429 10']);

  const bodyIn = async (deal: string, key: Key) => {
    const sent = await fetch(`${web.service.origin}${restPath(deal)}`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/octet-stream' },
      body: new Uint8Array(aPdf()),
    });
    expect(sent.status).toBe(201);
    return ((await sent.json()) as { id: string }).id;
  };
  let left = 512 - 160;
  while (left > 0) {
    const other = await elsewhere();
    const document = await bodyIn(other.deal, await other.key());
    for (let nth = 0; nth < 10 && left > 0; nth += 1, left -= 16)
      open.push(await download(16, document, bearer(await other.key())));
  }
  const last = await elsewhere();
  const lastKey = await last.key();
  const document = await bodyIn(last.deal, lastKey);
  expect((await download(1, document, bearer(lastKey))).answers).toEqual(['503 10']);
  expect(open.flatMap(({ answers }) => answers)).toEqual(open.map(() => '200 null'));

  open[0]!.stop();
  s3.stallOn(null);
  await expect.poll(async () => (await download(1, document, bearer(lastKey))).answers).toEqual(['200 null']);
  for (const { stop } of open) stop();
});

test('a storage failure gives 503 with Retry-After for uploads and downloads, by session and by API key', async () => {
  const broker = await web.as('broker');
  const { deal } = web.scene;
  const { status, body: kept } = await upload(web.service, broker, deal, aPdf());
  expect(status).toBe(201);
  const key = bearer(await newKey());
  const pdf = new Uint8Array(aPdf());
  const at = `${web.service.origin}/api`;
  const uploads: Record<string, () => Promise<Response>> = {
    page: () =>
      fetch(`${at}/web/deals/${deal}/documents${aboutRest}`, { method: 'POST', headers: broker.headers, body: pdf }),
    key: () =>
      fetch(`${at}/v1/deals/${deal}/documents${aboutRest}`, {
        method: 'POST',
        headers: { ...key, 'content-type': 'application/octet-stream' },
        body: pdf,
      }),
  };
  const downloads: Record<string, () => Promise<Response>> = {
    content: () => fetchBody(web.service, broker, kept),
    preview: () => fetchBody(web.service, broker, kept, 'preview'),
    part: () => fetchBody(web.service, broker, kept, 'content', { range: 'bytes=1-3' }),
    key: () => fetch(`${at}/v1/documents/${kept.id}/content`, { headers: key }),
  };
  const answersTo = async (asked: typeof downloads) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(asked).map(async ([name, ask]) => {
          const response = await ask();
          await response.arrayBuffer();
          return [name, [response.status, response.headers.get('retry-after')]];
        }),
      ),
    );
  const away = [503, '5'];
  s3.failOn(/^(PUT|GET|DELETE) /);
  const asked = s3.requests.length;
  const [up, down] = [await answersTo(uploads), await answersTo(downloads)];
  s3.failOn(null);
  expect(up).toEqual({ page: away, key: away });
  expect(down).toEqual({ content: away, preview: away, part: away, key: away });
  // Nothing was stored, so nothing is removed before the response.
  expect(s3.requests.slice(asked).filter((request) => request.startsWith('DELETE'))).toEqual([]);
  expect(web.service.log.filter((line) => line.includes('the document store is unavailable'))).toHaveLength(6);
  expect(await answersTo({ content: downloads['content']!, key: downloads['key']! })).toEqual({
    content: [200, null],
    key: [200, null],
  });
  // Errors of the sender are still reported as errors of the sender.
  const refused = await upload(web.service, broker, deal, Buffer.from('MZ'), { filename: 'a.exe' });
  expect(refused.status).toBe(415);
});
