/**
 * The data room through the web application's routes: who may add, open, change and remove documents, and how their
 * bodies are transferred.
 */

import { createHash, randomBytes } from 'node:crypto';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteUnusedBodies } from '../../server/documents/deletion.ts';
import { whileChanging } from '../locks.ts';
import { openScene, trail, type WebScene } from './scene.ts';
import { aPdf, aPng, fetchBody, upload, type UploadQuery } from './uploads.ts';

let web: WebScene;
beforeAll(async () => {
  web = await openScene();
});
afterAll(() => web?.close());

const nowhere = '01900000-0000-7000-8000-000000000000';
const roomOf = (deal = web.scene.deal): string => `/deals/${deal}/documents`;
const add = async (
  who: string,
  body: Parameters<typeof upload>[3],
  query?: UploadQuery,
  options?: Parameters<typeof upload>[5],
) => upload(web.service, await web.as(who), web.scene.deal, body, query, options);

/** Names of the files in the store, complete and unfinished ones. */
async function stored(): Promise<string[]> {
  const directory = path.join(web.service.config.dataDir, 'documents');
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

describe('adding documents', () => {
  test('is possible for brokers and sellers, and the confidentiality decides who sees the document', async () => {
    const body = aPdf();
    const { status, body: added } = await add('broker', body, { filename: 'Lease – Dunmore Road.pdf' });
    expect(status).toBe(201);
    expect(added).toMatchObject({
      filename: 'Lease – Dunmore Road.pdf',
      category: 'real_estate',
      confidentiality: 'nda_gated',
      size_bytes: String(body.length),
      media_type: 'application/pdf',
      source: 'simple',
      diligence_request: null,
      uploaded_by_name: 'broker',
      can_preview: true,
      can_edit: true,
      openings: 0,
    });
    expect(JSON.stringify(added)).not.toMatch(/storage/);
    const [row] = await web.service.sql(
      'select encode(sha256, $2) as sha256, storage_key from documents where id = $1',
      [added.id, 'hex'],
    );
    expect(row?.['sha256']).toBe(createHash('sha256').update(body).digest('hex'));
    expect(row?.['storage_key']).toMatch(/^[0-9a-f]{40}$/);
    expect(await trail(web.service, 'document.upload')).toMatchObject([
      { user_id: web.scene.people['broker'], deal_id: web.scene.deal, subject_id: added.id, has_request: true },
    ]);

    const produced = await add('seller', aPng(), {
      filename: 'Floor plan.png',
      confidentiality: 'public',
      diligence_request: 'Plans of the shop',
    });
    expect(produced.body).toMatchObject({ source: 'production', diligence_request: 'Plans of the shop', openings: 0 });

    const sees = async (who: string) => {
      const listed = await (await web.as(who)).ask(roomOf());
      return [added.id, produced.body.id].map((id) => listed.body.items.some((one: { id: string }) => one.id === id));
    };
    for (const who of [
      'broker',
      'seller',
      'exclusive buyer',
      'other buyer',
      "broker's advisor",
      "other buyer's advisor",
    ])
      expect([who, await sees(who)]).toEqual([who, [true, true]]);
    for (const who of ['new buyer', 'viewer', 'admin']) expect([who, await sees(who)]).toEqual([who, [false, true]]);
    expect(await (await web.as('outsider')).ask(roomOf())).toEqual(
      await (await web.as('outsider')).ask(roomOf(nowhere)),
    );
  });

  test('is refused to all other callers before the file is read', async () => {
    const before = await stored();
    for (const who of ['exclusive buyer', 'viewer', "broker's advisor", 'admin']) {
      // A body that never arrives: a server that waited for it would never respond.
      const pending = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(randomBytes(64)) });
      expect([who, (await add(who, pending)).status]).toEqual([who, 403]);
    }
    const outsider = await add('outsider', aPdf());
    expect(outsider.status).toBe(404);
    expect(outsider).toEqual(await upload(web.service, await web.as('outsider'), nowhere, aPdf()));
    expect(await stored()).toEqual(before);
    expect(await web.service.sql('select from vault.uploads')).toHaveLength(0);
  });

  test('rejects an older workbook with macros with 415, and stores nothing of it', async () => {
    const before = await stored();
    const project = Buffer.from('_VBA_PROJECT_CUR', 'utf16le');
    const workbook = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1000), project]);
    expect(await add('broker', workbook, { filename: 'Books.xls' })).toMatchObject({
      status: 415,
      body: { error: { code: 'unsupported_type', message: expect.stringContaining('contains macros') } },
    });
    expect(await stored()).toEqual(before);
  });

  test('requires a name, a category and a confidentiality', async () => {
    const person = await web.as('broker');
    const empty = await person.ask(roomOf(), {});
    expect(empty.status).toBe(400);
    expect(empty.body.error.details.map(({ path: at }: { path: string }) => at)).toEqual([
      'filename',
      'category',
      'confidentiality',
    ]);
  });

  test.each([
    '../../etc/passwd.pdf',
    'a/b.pdf',
    'a\\b.pdf',
    'a\u0000.pdf',
    'a\nb.pdf',
    '.htaccess.pdf',
    'lease.pdf.',
    'lease\u202efdp.exe.pdf',
    'lease\u2066.pdf',
    '\u200f\u200b',
    '\u200e.pdf',
    `${'x'.repeat(252)}.pdf`,
  ])('rejects the file name %j', async (filename) => {
    const { status, body } = await add('broker', aPdf(), { filename });
    expect(status).toBe(400);
    expect(body.error.details[0].path).toBe('filename');
  });

  test('stores a file name without marks that have no width, and with those of Persian words and emoji', async () => {
    const named = async (filename: string) => (await add('broker', aPdf(), { filename })).body.filename;
    expect(await named('\u200fחוזה שכירות\u200e.pdf\u200f')).toBe('חוזה שכירות.pdf');
    expect(await named('Lease\u200b of\u00ad the \ufeffshop.pdf')).toBe('Lease of the shop.pdf');
    for (const kept of ['نامه\u200cها.pdf', '👩\u200d🍳.pdf']) expect(await named(kept)).toBe(kept);
  });

  test('rejects a Content-Length of more than 2 GB with 413', async () => {
    const person = await web.as('broker');
    const { hostname, port } = new URL(web.service.origin);
    const query = new URLSearchParams({ filename: 'a.pdf', category: 'tax', confidentiality: 'public' });
    const status = await new Promise((resolve, reject) => {
      const sending = request(
        {
          hostname,
          port,
          method: 'POST',
          path: `/api/web${roomOf()}?${query}`,
          headers: { ...person.headers, 'content-length': '2147483649' },
        },
        (response) => {
          resolve(response.statusCode);
          sending.destroy();
        },
      );
      sending.on('error', reject);
      sending.write('%PDF-1.4');
    });
    expect(status).toBe(413);
  });

  test('leaves no file and no row behind if the upload is aborted', async () => {
    const before = await stored();
    const stop = new AbortController();
    let parts = 0;
    const endless = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await wait(1);
        // An aborted `fetch` continues to read the stream; further data would take processor time from the following
        // tests.
        if (stop.signal.aborted) return;
        controller.enqueue(parts === 0 ? aPdf() : randomBytes(262_144));
        if ((parts += 1) < 20) return;
        // Before any data has arrived, there is no file that could be left behind.
        await expect.poll(stored).not.toEqual(before);
        stop.abort();
      },
    });
    await expect(add('broker', endless, {}, { signal: stop.signal })).rejects.toThrow();
    await expect.poll(stored).toEqual(before);
    expect(await web.service.sql(`select from documents where size_bytes > 1000000`)).toHaveLength(0);
    // A client that disconnects is no error of the service.
    expect(web.service.log.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  test('stores nothing if the uploader is removed from the deal during the upload', async () => {
    const before = await stored();
    const mine = `where deal_id = $1 and user_id = $2`;
    const values = [web.scene.deal, web.scene.people['seller']];
    let told = false;
    const slow = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (!told) {
          told = true;
          controller.enqueue(Buffer.concat([aPdf(), randomBytes(400_000)]));
          return;
        }
        await expect.poll(() => web.service.sql('select from vault.uploads')).not.toHaveLength(0);
        await web.service.sql(`update participants set status = 'removed' ${mine}`, values);
        controller.close();
      },
    });
    try {
      expect((await add('seller', slow)).status).toBe(404);
    } finally {
      await web.service.sql(`update participants set status = 'invited' ${mine}`, values);
      await web.service.sql(`update participants set status = 'active' ${mine}`, values);
    }
    expect(await stored()).toEqual(before);
  });
});

describe('opening documents', () => {
  const body = aPdf();
  let lease: { id: string; source: string };
  beforeAll(async () => {
    lease = (await add('broker', body, { filename: 'Lease "draft" – Ångström (2).pdf' })).body;
  });
  const openings = async (who = 'broker') => (await web.as(who)).ask(`/documents/simple/${lease.id}/openings`);

  test('sends the whole file as an attachment, with headers that prevent it from being executed', async () => {
    const response = await fetchBody(web.service, await web.as('other buyer'), lease);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(body);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': String(body.length),
      'content-disposition': `attachment; filename="Lease _draft_ _ _ngstr_m (2).pdf"; filename*=UTF-8''Lease%20%22draft%22%20%E2%80%93%20%C3%85ngstr%C3%B6m%20%282%29.pdf`,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
      etag: `"${createHash('sha256').update(body).digest('hex')}"`,
    });
    expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*; sandbox$/);
  });

  test.each([
    ['same-origin', 'SAMEORIGIN', "frame-ancestors 'self'"],
    ['same-site', 'DENY', "frame-ancestors 'none'"],
    ['cross-site', 'DENY', "frame-ancestors 'none'"],
  ])('allows a refused download to be framed only from the same origin: %s', async (site, frames, ancestors) => {
    const { headers } = await web.as('other buyer');
    const response = await fetch(`${web.service.origin}/api/web/documents/simple/${nowhere}/content`, {
      headers: { ...headers, 'sec-fetch-dest': 'iframe', 'sec-fetch-site': site },
    });
    expect([response.status, response.headers.get('x-frame-options')]).toEqual([404, frames]);
    expect(response.headers.get('content-security-policy')).toContain(ancestors);
    expect(await response.json()).toMatchObject({
      error: { message: 'It does not exist, or you do not have access to it.' },
    });
  });

  test('answers HEAD requests with headers only, without reading the file or recording an opening', async () => {
    const { headers } = await web.as('other buyer');
    const before = (await openings()).body.items;
    const { storage } = web.service.nodes[0]!.services;
    const { read } = storage;
    let reads = 0;
    storage.read = (...asked) => {
      reads += 1;
      return read(...asked);
    };
    try {
      const url = `${web.service.origin}/api/web/documents/simple/${lease.id}/content`;
      const head = await fetch(url, { method: 'HEAD', headers });
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(body.length)]);
      expect(head.headers.get('content-disposition')).toMatch(/^attachment; /);
      const part = await fetch(url, { method: 'HEAD', headers: { ...headers, range: 'bytes=0-3' } });
      expect([part.status, part.headers.get('content-length')]).toEqual([206, '4']);
      expect(reads).toBe(0);
      expect((await openings()).body.items).toEqual(before);
      const hidden = await fetch(url, { method: 'HEAD', headers: (await web.as('new buyer')).headers });
      expect(hidden.status).toBe(404);
    } finally {
      storage.read = read;
    }
  });

  test('previews PDFs inline, and refuses other types with 415', async () => {
    const response = await fetchBody(web.service, await web.as('other buyer'), lease, 'preview');
    expect(response.headers.get('content-disposition')).toMatch(/^inline; /);
    expect(response.headers.get('content-security-policy')).toMatch(/; sandbox$/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const list = (await add('broker', Buffer.from('Item,Count\r\nVan,14\r\n'), { filename: 'Vans.csv' })).body;
    expect(list).toMatchObject({ can_preview: false, media_type: 'text/csv' });
    expect((await fetchBody(web.service, await web.as('broker'), list, 'preview')).status).toBe(415);
  });

  test('is answered with the 404 of a missing document where the caller may not open it', async () => {
    for (const who of ['new buyer', 'viewer', 'admin', 'outsider']) {
      const person = await web.as(who);
      for (const how of ['content', 'preview'] as const) {
        const hidden = await fetchBody(web.service, person, lease, how);
        const missing = await fetchBody(web.service, person, { source: 'simple', id: nowhere }, how);
        expect([who, hidden.status, await hidden.text()]).toEqual([who, 404, await missing.text()]);
      }
    }
    const nobody = await fetch(`${web.service.origin}/api/web/documents/simple/${lease.id}/content`);
    expect(nobody.status).toBe(401);
    expect((await fetchBody(web.service, await web.as('broker'), { ...lease, source: 'production' })).status).toBe(404);
    expect((await fetchBody(web.service, await web.as('broker'), { ...lease, source: 'other' })).status).toBe(404);
  });

  test('serves byte ranges', async () => {
    const person = await web.as('exclusive buyer');
    const part = async (range: string, more: Record<string, string> = {}) => {
      const response = await fetchBody(web.service, person, lease, 'content', { range, ...more });
      const bytes = Buffer.from(await response.arrayBuffer());
      return [response.status, response.headers.get('content-range'), bytes] as const;
    };
    const size = body.length;
    expect(await part('bytes=0-9')).toEqual([206, `bytes 0-9/${size}`, body.subarray(0, 10)]);
    expect(await part('bytes=10-')).toEqual([206, `bytes 10-${size - 1}/${size}`, body.subarray(10)]);
    expect(await part('bytes=-6')).toEqual([206, `bytes ${size - 6}-${size - 1}/${size}`, body.subarray(-6)]);
    expect(await part(`bytes=5-${size + 50}`)).toEqual([206, `bytes 5-${size - 1}/${size}`, body.subarray(5)]);
    for (const none of [`bytes=${size}-`, 'bytes=-0'])
      expect((await part(none)).slice(0, 2)).toEqual([416, `bytes */${size}`]);
    for (const odd of ['bytes=9-3', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-'])
      expect(await part(odd)).toEqual([200, null, body]);
    expect((await part('bytes=0-9', { 'if-range': '"another"' }))[0]).toBe(200);
    const etag = `"${createHash('sha256').update(body).digest('hex')}"`;
    expect((await part('bytes=0-9', { 'if-range': etag }))[0]).toBe(206);
  });

  test('is recorded for brokers and sellers, with range requests counted as one opening', async () => {
    const [{ id }] = [(await add('broker', aPdf(), { filename: 'Watched.pdf' })).body];
    const watched = { source: 'simple', id };
    const buyer = await web.as('other buyer');
    const read = async (range?: string) =>
      void (await (await fetchBody(web.service, buyer, watched, 'preview', range ? { range } : {})).arrayBuffer());
    await read();
    await read('bytes=100-200');
    await read('bytes=200-');
    await read('bytes=-10');
    const opened = async () => (await (await web.as('seller')).ask(`/documents/simple/${id}/openings`)).body.items;
    expect(await opened()).toMatchObject([{ user_id: web.scene.people['other buyer'], user_name: 'other buyer' }]);
    await read('bytes=0-');
    expect(await opened()).toHaveLength(2);
    web.service.clock.advance(2 * 3_600_000);
    await read('bytes=200-');
    expect(await opened()).toHaveLength(3);
    const listed = (await (await web.as('broker')).ask(roomOf())).body.items.find(
      (one: { id: string }) => one.id === id,
    );
    expect(listed.openings).toBe(3);
    const asBuyer = (await buyer.ask(roomOf())).body.items.find((one: { id: string }) => one.id === id);
    expect(asBuyer).toMatchObject({ openings: null, can_edit: false });
    expect((await buyer.ask(`/documents/simple/${id}/openings`)).status).toBe(403);
    expect((await openings('outsider')).status).toBe(404);
  });

  test('is exported for a deal with the documents that were removed since, for its brokers and sellers alone', async () => {
    const gone = (await add('broker', aPdf(), { filename: 'Replaced.pdf' })).body;
    await (await fetchBody(web.service, await web.as('other buyer'), { source: 'simple', id: gone.id })).arrayBuffer();
    const file = async (who: string) => {
      const exported = await fetch(`${web.service.origin}/api/web${roomOf()}/openings`, await web.as(who));
      return { status: exported.status, lines: (await exported.text()).trim().split('\r\n') };
    };
    const before = await file('broker');
    expect(before.lines[0]).toMatch(/opened_at,person,document,removed_at,/);
    expect(before.lines[1]).toMatch(/^[^,]+,other buyer,Replaced\.pdf,,/);
    expect((await (await web.as('broker')).ask(`/documents/simple/${gone.id}`, undefined, 'DELETE')).status).toBe(204);
    expect((await file('seller')).lines[1]).toMatch(/^[^,]+,other buyer,Replaced\.pdf,\d{4}-/);
    expect((await file('seller')).lines).toHaveLength(before.lines.length);
    expect((await file('other buyer')).status).toBe(403);
    expect((await file('outsider')).status).toBe(404);
  });
});

describe('the list', () => {
  test('is filtered by category, confidentiality and search words', async () => {
    await add('broker', aPdf(), { filename: 'Payroll 2025.pdf', category: 'employees', confidentiality: 'public' });
    await add('broker', aPng(), { filename: 'Yard.png', diligence_request: 'Photographs of the yard' });
    const person = await web.as('broker');
    const names = async (query: string) =>
      (await person.ask(`${roomOf()}?${query}`)).body.items.map((one: { filename: string }) => one.filename);
    expect(await names('category=employees')).toEqual(['Payroll 2025.pdf']);
    expect(await names('category=Employees')).toEqual(['Payroll 2025.pdf']);
    expect(await names('search=p%C3%A1yroll,')).toEqual(['Payroll 2025.pdf']);
    expect(await names('search=PAYROLL')).toEqual(['Payroll 2025.pdf']);
    expect(await names('search=graphs OF the yard')).toEqual(['Yard.png']);
    expect(await names('search=2025%20%20payroll%20')).toEqual(['Payroll 2025.pdf']);
    expect(await names('search=payroll%20yard')).toEqual([]);
    expect(await names('search=%25')).toEqual([]);
    expect((await person.ask(`${roomOf()}?search=${'x'.repeat(201)}`)).body.error).toMatchObject({
      details: [{ path: 'search', message: 'At most 200 characters.' }],
    });
    expect(await names('confidentiality=selected_buyer_only')).toEqual([
      'selected_buyer_only.pdf',
      'selected_buyer_only.pdf',
    ]);
    expect((await person.ask(`${roomOf()}?confidentiality=secret`)).status).toBe(400);
  });
});

describe('changing documents', () => {
  test('brokers and sellers can change the name, category and confidentiality', async () => {
    const { id } = (await add('broker', aPdf(), { filename: 'Draft.pdf' })).body;
    const at = `/documents/simple/${id}`;
    const change = async (who: string, body: unknown) => (await web.as(who)).ask(at, body, 'PATCH');
    expect(await change('seller', { confidentiality: 'selected_buyer_only' })).toMatchObject({
      status: 200,
      body: { filename: 'Draft.pdf', confidentiality: 'selected_buyer_only' },
    });
    expect(
      (await (await web.as('other buyer')).ask(roomOf())).body.items.map((one: { id: string }) => one.id),
    ).not.toContain(id);
    expect((await change('broker', { filename: 'Final.pdf', category: 'legal' })).body).toMatchObject({
      filename: 'Final.pdf',
      category: 'legal',
    });
    expect((await change('broker', { filename: '../x.pdf' })).status).toBe(400);
    expect((await change('broker', {})).status).toBe(400);
    expect((await change('broker', { size_bytes: '1' })).status).toBe(400);
    expect((await change('exclusive buyer', { category: 'tax' })).status).toBe(403);
    expect(await change('other buyer', { category: 'tax' })).toEqual(
      await (await web.as('other buyer')).ask(`/documents/simple/${nowhere}`, { category: 'tax' }, 'PATCH'),
    );
  });

  test('a new name must keep its file extension', async () => {
    const { id } = (await add('broker', aPdf(), { filename: 'Draft.pdf' })).body;
    const renamed = await (await web.as('broker')).ask(`/documents/simple/${id}`, { filename: 'Draft.exe' }, 'PATCH');
    expect(renamed).toMatchObject({ status: 400, body: { error: { details: [{ path: 'filename' }] } } });
  });

  test('a download ends with an error when the stored file is too short, and the error is logged', async () => {
    const { id } = (await add('broker', aPdf(), { filename: 'Short.pdf' })).body;
    await web.service.sql('update documents set size_bytes = size_bytes + 100 where id = $1', [id]);
    for (const range of [undefined, { range: 'bytes=3-' }]) {
      const answer = await fetchBody(web.service, await web.as('broker'), { source: 'simple', id }, 'content', range);
      await expect(answer.arrayBuffer()).rejects.toThrow();
    }
    const noted = web.service.log.filter((line) => line.includes('in the store is too short'));
    expect(noted).toHaveLength(2);
    expect(noted[0]).toContain(id);
  });

  test('a document whose stored file is missing is answered with an error, and the error is logged', async () => {
    const { id } = (await add('broker', aPdf(), { filename: 'Lost.pdf' })).body;
    for (const key of ['0'.repeat(40), '../no_key']) {
      await web.service.sql('update documents set storage_key = $2 where id = $1', [id, key]);
      const answer = await fetchBody(web.service, await web.as('broker'), { source: 'simple', id });
      expect([answer.status, await answer.json()]).toMatchObject([
        500,
        { error: { code: 'body_missing', message: expect.stringContaining('missing from the store') } },
      ]);
      const noted = web.service.log.filter((line) => line.includes('the file of a document is missing from the store'));
      expect(noted.at(-1)).toContain(id);
    }
    expect(web.service.log.filter((line) => line.includes('a request failed'))).toEqual([]);
    await web.service.sql('delete from documents where id = $1', [id]);
  });

  test('a removed document is hidden from everybody and can be restored for an hour', async () => {
    const { id } = (await add('broker', aPdf(), { filename: 'Wrong deal.pdf', confidentiality: 'public' })).body;
    const at = `/documents/simple/${id}`;
    expect((await (await web.as('exclusive buyer')).ask(at, undefined, 'DELETE')).status).toBe(403);
    expect((await (await web.as('outsider')).ask(at, undefined, 'DELETE')).status).toBe(404);
    expect((await (await web.as('seller')).ask(at, undefined, 'DELETE')).status).toBe(204);
    for (const who of ['broker', 'exclusive buyer'])
      expect((await fetchBody(web.service, await web.as(who), { source: 'simple', id })).status).toBe(404);
    expect((await (await web.as('exclusive buyer')).ask(`${at}/restore`, {})).status).toBe(404);
    expect((await (await web.as('broker')).ask(`${at}/restore`, {})).body).toMatchObject({
      filename: 'Wrong deal.pdf',
    });
    expect((await fetchBody(web.service, await web.as('viewer'), { source: 'simple', id })).status).toBe(200);
    expect(await trail(web.service, 'document.restore')).toMatchObject([{ subject_id: id, deal_id: web.scene.deal }]);

    await (await web.as('broker')).ask(at, undefined, 'DELETE');
    web.service.clock.advance(61 * 60_000);
    expect((await (await web.as('broker')).ask(`${at}/restore`, {})).status).toBe(404);
  });

  test('removed documents are listed for an hour, only for brokers and sellers', async () => {
    const listed = async (who: string) => (await web.as(who)).ask(`${roomOf()}/removed`);
    const take = async (filename: string, more = {}) => {
      const { id, source } = (await add('broker', aPdf(), { filename, ...more })).body;
      const { status } = await (await web.as('seller')).ask(`/documents/${source}/${id}`, undefined, 'DELETE');
      expect(status).toBe(204);
      return { id, source, filename };
    };
    web.service.clock.advance(61 * 60_000);
    expect((await listed('broker')).body.items).toEqual([]);
    const leased = await take('Wrong lease.pdf', { confidentiality: 'public' });
    const produced = await take('Wrong returns.pdf', { diligence_request: 'Tax returns' });
    for (const who of ['broker', 'seller'])
      expect((await listed(who)).body.items).toEqual(
        [produced, leased].map((one) => ({
          ...one,
          removed_at: expect.any(String),
          removed_by_name: 'seller',
        })),
      );
    for (const who of ['exclusive buyer', 'other buyer', 'viewer', 'admin'])
      expect([who, (await listed(who)).body]).toEqual([who, { items: [] }]);
    expect((await listed('outsider')).status).toBe(404);

    const { status } = await (await web.as('broker')).ask(`/documents/simple/${leased.id}/restore`, {});
    expect([status, (await listed('seller')).body.items]).toMatchObject([200, [produced]]);
    web.service.clock.advance(59 * 60_000);
    expect((await listed('broker')).body.items).toMatchObject([produced]);
    web.service.clock.advance(2 * 60_000);
    expect((await listed('broker')).body.items).toEqual([]);
  });

  test('however many documents are removed within an hour, all are listed, the last removed first', async () => {
    web.service.clock.advance(61 * 60_000);
    const removed: string[] = [];
    for (let number = 1; number <= 22; number += 1) {
      const filename = `Scan ${number}.pdf`;
      const { id, source } = (await add('broker', aPdf(), { filename })).body;
      const { status } = await (await web.as('broker')).ask(`/documents/${source}/${id}`, undefined, 'DELETE');
      expect(status).toBe(204);
      removed.unshift(filename);
    }
    const { items } = (await (await web.as('seller')).ask(`${roomOf()}/removed`)).body;
    expect(items.map(({ filename }: { filename: string }) => filename)).toEqual(removed);
  });

  test('stored files are deleted a week after removal unless under legal hold, as are unfinished uploads', async () => {
    const { id } = (await add('broker', aPdf(), { filename: 'Old.pdf' })).body;
    const [row] = await web.service.sql('select storage_key from documents where id = $1', [id]);
    await (await web.as('broker')).ask(`/documents/simple/${id}`, undefined, 'DELETE');
    await add('broker', Buffer.from('MZ'), { filename: 'a.pdf' });
    // An upload may take two days.
    const half = path.join(web.service.config.dataDir, 'documents/incoming/half');
    const begun = new Date(web.service.clock.now().getTime() - 47 * 3_600_000);
    await writeFile(half, 'half of it');
    await utimes(half, begun, begun);
    await deleteUnusedBodies(web.service.services);
    expect(await stored()).toEqual(expect.arrayContaining([row?.['storage_key'], 'half']));
    expect(await web.service.sql('select from vault.uploads')).not.toHaveLength(0);
    web.service.clock.advance(8 * 86_400_000);
    // A legal hold is placed after the body was selected for deletion, and still protects it.
    await whileChanging(
      web.service,
      [
        ['lock table vault.legal_holds in exclusive mode', []],
        [`insert into vault.legal_holds (kind, subject_id) values ('deal', $1)`, [web.scene.deal]],
      ],
      () => deleteUnusedBodies(web.service.services),
    );
    expect(await stored()).toContain(row?.['storage_key']);
    await web.service.sql('delete from vault.legal_holds');
    // For two days after a restore, which lost the holds placed since the backup, nothing is deleted.
    await web.service.sql(
      'insert into vault.document_store (id, claimed_at, marked_at) values (gen_random_uuid(), app.now(), app.now())',
    );
    await deleteUnusedBodies(web.service.services);
    expect(await stored()).toContain(row?.['storage_key']);
    web.service.clock.advance(2 * 86_400_000 + 60_000);
    await deleteUnusedBodies(web.service.services);
    expect(await stored()).not.toContain(row?.['storage_key']);
    expect(await stored()).not.toContain('half');
    expect(await web.service.sql('select from vault.uploads')).toHaveLength(0);
    expect(await web.service.sql('select key from app.bodies_to_clear() key')).toEqual([]);
  });
});
