/** A small server with as much of S3 as a document store needs, in place of a real store in tests. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { S3Config } from '../../server/config/config.ts';

export interface S3Server {
  /** The configuration with which a service stores its documents here. */
  readonly config: S3Config;
  readonly objects: Map<string, Buffer>;
  /** Multipart uploads that were neither completed nor aborted. */
  readonly unfinished: Map<string, Map<number, Buffer>>;
  /** Every request so far, as "PUT /bucket/key?partNumber=1". */
  readonly requests: string[];
  /** Begins a multipart upload, in 2020 or at `begun`, like a process that then dies; returns its id. */
  beginUpload(key: string, begun?: Date): string;
  /** From now on, matching requests get a 500. */
  failOn(pattern: RegExp | null): void;
  /** From now on, the body of the response to a matching request stops after its first byte. */
  stallOn(pattern: RegExp | null): void;
  close(): Promise<void>;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const xml = (response: ServerResponse, status: number, text: string) =>
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);

/** Starts the server on a port of 127.0.0.1; no bucket has to be created first. */
export async function openS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const unfinished = new Map<string, Map<number, Buffer>>();
  const keys = new Map<string, string>();
  const beginnings = new Map<string, Date>();
  const requests: string[] = [];
  let failing: RegExp | null = null;
  let stalling: RegExp | null = null;

  /** ListObjectsV2, twenty at a time. */
  function listing(prefix: string, delimiter: string | null, token: string | null): string {
    const all = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    const begin = Number(token ?? 0);
    const page = all.slice(begin, begin + 20);
    const isCut = begin + 20 < all.length;
    const folderOf = (key: string) => key.slice(0, key.indexOf(delimiter ?? '', prefix.length) + 1);
    const inFolder = (key: string) => delimiter !== null && key.includes(delimiter, prefix.length);
    const folders = new Set(page.filter(inFolder).map(folderOf));
    const contents = page
      .filter((key) => !inFolder(key))
      .map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size></Contents>`);
    const common = [...folders].map((folder) => `<CommonPrefixes><Prefix>${folder}</Prefix></CommonPrefixes>`);
    const next = isCut ? `<NextContinuationToken>${begin + 20}</NextContinuationToken>` : '';
    return `<ListBucketResult>${contents.join('')}${common.join('')}<IsTruncated>${isCut}</IsTruncated>${next}</ListBucketResult>`;
  }

  function beginUpload(key: string, begun = new Date('2020-01-01')): string {
    const id = randomUUID();
    beginnings.set(id, begun);
    unfinished.set(id, new Map());
    keys.set(id, key);
    return id;
  }

  /** ListMultipartUploads, twenty at a time, in the order of their keys and, for the same key, of their ids. */
  function listingOfUnfinished(afterKey: string | null, afterId: string | null): string {
    const places = [...unfinished.keys()].map((id) => ({ id, key: keys.get(id) ?? '' }));
    const order = ({ key, id }: { key: string; id: string }) => `${key} ${id}`;
    const all = places
      .toSorted((one, other) => (order(one) < order(other) ? -1 : 1))
      .filter((place) => afterKey === null || order(place) > `${afterKey} ${afterId}`);
    const page = all.slice(0, 20);
    const rows = page.map(
      ({ key, id }) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${beginnings.get(id)?.toISOString()}</Initiated></Upload>`,
    );
    const last = page.at(-1);
    const next =
      all.length > 20 &&
      last &&
      `<NextKeyMarker>${last.key}</NextKeyMarker><NextUploadIdMarker>${last.id}</NextUploadIdMarker>`;
    return `<ListMultipartUploadsResult>${rows.join('')}${next || ''}<IsTruncated>${Boolean(next)}</IsTruncated></ListMultipartUploadsResult>`;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://s3');
    const query = url.searchParams;
    const said = `${request.method} ${url.pathname}${url.search}`;
    requests.push(said);
    if (!request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 Credential=test-key/'))
      return void xml(response, 403, '<Error><Code>AccessDenied</Code></Error>');
    const body = await bodyOf(request);
    if (failing?.test(said)) return void xml(response, 500, '<Error><Code>InternalError</Code></Error>');
    const key = decodeURIComponent(url.pathname.replace(/^\/[^/]+\//, ''));
    const upload = query.get('uploadId') ?? '';
    const parts = unfinished.get(upload);
    const store = (content: Buffer) => {
      objects.set(key, content);
      response.writeHead(200, { etag: '"1"' }).end();
    };

    if (request.method === 'POST' && query.has('uploads')) {
      const id = beginUpload(key);
      xml(response, 200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    } else if (request.method === 'PUT' && parts) {
      parts.set(Number(query.get('partNumber')), body);
      response.writeHead(200, { etag: `"${query.get('partNumber')}"` }).end();
    } else if (request.method === 'POST' && parts) {
      unfinished.delete(upload);
      objects.set(key, Buffer.concat([...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part)));
      xml(response, 200, '<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>');
    } else if (request.method === 'DELETE' && upload) {
      unfinished.delete(upload);
      response.writeHead(204).end();
    } else if (request.method === 'GET' && query.has('uploads')) {
      xml(response, 200, listingOfUnfinished(query.get('key-marker'), query.get('upload-id-marker')));
    } else if (request.method === 'GET' && query.has('list-type')) {
      xml(response, 200, listing(query.get('prefix') ?? '', query.get('delimiter'), query.get('continuation-token')));
    } else if (request.method === 'PUT') {
      store(body);
    } else if (request.method === 'DELETE') {
      objects.delete(key);
      response.writeHead(204).end();
    } else {
      const found = objects.get(key);
      if (!found) return void xml(response, 404, '<Error><Code>NoSuchKey</Code><Message>none</Message></Error>');
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      const part = first ? found.subarray(Number(first), Number(last) + 1) : found;
      response.writeHead(first ? 206 : 200, { 'content-length': part.length });
      if (stalling?.test(said)) response.write(part.subarray(0, 1));
      else response.end(part);
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    config: {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'us-east-1',
      bucket: 'sales',
      accessKeyId: 'test-key',
      secretAccessKey: randomUUID(),
      forcePathStyle: true,
    },
    objects,
    unfinished,
    requests,
    beginUpload,
    failOn: (pattern) => void (failing = pattern),
    stallOn: (pattern) => void (stalling = pattern),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
