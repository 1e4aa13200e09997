/** Stores bodies in an S3-compatible store, sent and fetched in parts. */

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
/** The size of a part in bytes, and how many are sent concurrently. */
interface Parts {
  readonly partSize: number;
  readonly queueSize: number;
}
const mebibyte = 1024 * 1024;
/**
 * The smallest parts that a store accepts, one at a time: uploads of many people share the memory of a node, and each
 * may take hours. A body of 2 GB has 410 parts.
 */
const partsOfDocuments: Parts = { partSize: 5 * mebibyte, queueSize: 1 };
/** Only one backup is written at a time, and one of its files may be larger than 10,000 small parts. */
const partsOfBackups: Parts = { partSize: 8 * mebibyte, queueSize: 2 };

/**
 * Timeouts in milliseconds of connecting, and of a response including the sending of a part before it; each is tried
 * three times.
 */
const patience = { connecting: 5_000, answer: 30_000 } as const;
/** Maximum number of connections. A download holds one for as long as its reader takes; further requests wait. */
const mostConnections = 1_000;
/** How many pages of 1,000 unfinished uploads are examined in one run. */
const mostPages = 20;

function clientOf(
  { endpoint, region, accessKeyId, secretAccessKey, forcePathStyle }: S3Config,
  answerMillis: number = patience.answer,
): S3Client {
  return new S3Client({
    // Without these the SDK waits forever for a store that does not respond, and has only fifty connections.
    requestHandler: {
      connectionTimeout: patience.connecting,
      requestTimeout: answerMillis,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: mostConnections },
      httpsAgent: { maxSockets: mostConnections },
    },
    ...(endpoint && { endpoint }),
    // Without our own keys the SDK uses the machine's credentials.
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey } }),
    region,
    forcePathStyle,
    // Not every compatible store supports the newer checksums; our own SHA-256 is stored with the document.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** Sends `body` in parts; if that fails, all parts are removed. */
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

/** The body of an object, or a range of the body; null when there is no such object. */
async function fetchObject(client: S3Client, Bucket: string, Key: string, Range?: string) {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, Range }));
    return Body ? (Body.transformToWebStream() as ReadableStream<Uint8Array>) : null;
  } catch (error) {
    if (error instanceof NoSuchKey) return null;
    throw error;
  }
}

/**
 * Returns a function that aborts uploads below a prefix that were started before `before` and whose names match
 * `isOurs`. Each call continues where the last one stopped, and begins again when it has reached the end: otherwise
 * uploads behind many that are in progress would never be looked at.
 */
function abortingUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  isOurs: (name: string) => boolean = () => true,
): (before: Date) => Promise<void> {
  let after: { KeyMarker?: string; UploadIdMarker?: string } = {};
  return async (before) => {
    for (let page = 0; page < mostPages; page += 1) {
      const { Uploads, IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(
        new ListMultipartUploadsCommand({ Bucket, Prefix, ...after }),
      );
      const isLast = !IsTruncated || !NextKeyMarker;
      // Before the uploads are aborted: one that cannot be is not what the next call begins with.
      after = isLast ? {} : { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
      for (const { Key, UploadId, Initiated } of Uploads ?? []) {
        if (Key && UploadId && Initiated && Initiated < before && isOurs(Key.slice(Prefix.length)))
          await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      }
      if (isLast) return;
    }
  };
}

/** Stores bodies in the configured bucket; `answerMillis` is the timeout of a response. */
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

    tidy: abortingUploads(client, Bucket, folder),

    async close() {
      client.destroy();
    },
  };
}

/**
 * The files below `prefix` of a bucket, under names that the caller chooses; see BackupDestination in
 * server/backup/destination.ts.
 */
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
    /** A bucket is opened anew for each backup, so each begins with the first unfinished upload. */
    tidy: (before: Date, isOurs: (name: string) => boolean) => abortingUploads(client, Bucket, prefix, isOurs)(before),
    async close(): Promise<void> {
      client.destroy();
    },
  };
}
