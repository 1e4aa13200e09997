/** Bodies in an S3-compatible store, sent and fetched in parts. */

import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  NoSuchKey,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { S3Config } from '../config/config.ts';
import { checkedKey, type Storage } from './storage.ts';

const folder = 'documents/';
/** How bodies are sent: how large a part is, and how many are sent at once. */
interface Parts {
  readonly partSize: number;
  readonly queueSize: number;
}
const mebibyte = 1024 * 1024;
/** The least that a store takes, one at a time: uploads of many people share the memory of a node, and each may take hours. A body of 2 GB has 410. */
const partsOfDocuments: Parts = { partSize: 5 * mebibyte, queueSize: 1 };
/** One backup is written at a time, and a file of one may be larger than 10,000 small parts. */
const partsOfBackups: Parts = { partSize: 8 * mebibyte, queueSize: 2 };

/** How long a connection may take, and the answer to a request, with sending a part before it, in milliseconds; each is tried three times. */
const patience = { connecting: 5_000, answer: 30_000 } as const;
/** How many connections there may be. A download holds one for as long as its reader takes, and who finds none waits. */
const mostConnections = 1_000;
/** How many pages of unfinished uploads, of 1,000 each, are looked through at once; the next run goes on. */
const mostPages = 20;

function clientOf(
  { endpoint, region, accessKeyId, secretAccessKey, forcePathStyle }: S3Config,
  answerMillis: number = patience.answer,
): S3Client {
  return new S3Client({
    // Without these the SDK waits for ever for a store that says nothing, and has fifty connections.
    requestHandler: {
      connectionTimeout: patience.connecting,
      requestTimeout: answerMillis,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: mostConnections },
      httpsAgent: { maxSockets: mostConnections },
    },
    ...(endpoint && { endpoint }),
    // Without keys of our own the SDK looks for those of the machine.
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey } }),
    region,
    forcePathStyle,
    // Not every compatible store knows the newer checksums; our own SHA-256 is kept with the document.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** Sends `body` in parts; one that fails is taken back, parts and all. */
async function send(
  client: S3Client,
  Bucket: string,
  Key: string,
  body: AsyncIterable<Uint8Array>,
  parts: Parts,
): Promise<void> {
  const source = Readable.from(body, { objectMode: false });
  const upload = new Upload({
    client,
    params: { Bucket, Key, Body: source, ContentType: 'application/octet-stream' },
    ...parts,
    leavePartsOnError: false,
  });
  await upload.done().finally(() => source.destroy());
}

/** The body of an object, or a part of it; null when there is none. */
async function fetchObject(client: S3Client, Bucket: string, Key: string, Range?: string) {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, Range }));
    return Body ? (Body.transformToWebStream() as ReadableStream<Uint8Array>) : null;
  } catch (error) {
    if (error instanceof NoSuchKey) return null;
    throw error;
  }
}

/** Ends uploads below a prefix that were begun before `before`, of files with these names. */
async function abortUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  before: Date,
  isOurs: (name: string) => boolean = () => true,
): Promise<void> {
  let after: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (let page = 0; page < mostPages; page += 1) {
    const { Uploads, IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix, ...after }),
    );
    for (const { Key, UploadId, Initiated } of Uploads ?? []) {
      if (Key && UploadId && Initiated && Initiated < before && isOurs(Key.slice(Prefix.length)))
        await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    }
    if (!IsTruncated || !NextKeyMarker) return;
    after = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
  }
}

/** Keeps bodies in the bucket that the configuration names; `answerMillis` is how long the answer to a request may take. */
export function openS3Storage(config: S3Config, answerMillis?: number): Storage {
  const client = clientOf(config, answerMillis);
  const Bucket = config.bucket;
  const keyOf = (key: string) => `${folder}${checkedKey(key)}`;

  return {
    async write(key, body) {
      await send(client, Bucket, keyOf(key), body, partsOfDocuments);
    },

    read: async (key, span) => fetchObject(client, Bucket, keyOf(key), span && `bytes=${span.first}-${span.last}`),

    async remove(key) {
      await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(key) }));
    },

    tidy: (before) => abortUploads(client, Bucket, folder, before),

    async close() {
      client.destroy();
    },
  };
}

/** The files below `prefix` of a bucket, under names of one's own; see BackupDestination in server/backup/destination.ts. */
export function openBucket(config: S3Config, prefix: string) {
  const client = clientOf(config);
  const Bucket = config.bucket;

  async function* pages(Prefix: string, Delimiter?: string) {
    for (let ContinuationToken: string | undefined; ;) {
      const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix, Delimiter, ContinuationToken }));
      yield page;
      ContinuationToken = page.NextContinuationToken;
      if (!page.IsTruncated || ContinuationToken === undefined) return;
    }
  }

  return {
    write: (name: string, body: AsyncIterable<Uint8Array>) =>
      send(client, Bucket, `${prefix}${name}`, body, partsOfBackups),
    read: async (name: string): Promise<AsyncIterable<Uint8Array> | null> =>
      fetchObject(client, Bucket, `${prefix}${name}`),
    async *list(inner: string): AsyncGenerator<{ name: string; size: number }> {
      for await (const { Contents } of pages(`${prefix}${inner}/`)) {
        for (const { Key, Size } of Contents ?? [])
          if (Key !== undefined) yield { name: Key.slice(prefix.length), size: Size ?? 0 };
      }
    },
    async folders(): Promise<string[]> {
      const found: string[] = [];
      for await (const { CommonPrefixes } of pages(prefix, '/'))
        found.push(...(CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix.slice(prefix.length, -1)));
      return found;
    },
    async remove(name: string): Promise<void> {
      await client.send(new DeleteObjectCommand({ Bucket, Key: `${prefix}${name}` }));
    },
    tidy: (before: Date, isOurs: (name: string) => boolean) => abortUploads(client, Bucket, prefix, before, isOurs),
    async close(): Promise<void> {
      client.destroy();
    },
  };
}
