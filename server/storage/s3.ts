/** Bodies in an S3-compatible store, sent and fetched in parts. */

import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  NoSuchKey,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { S3Config } from '../config.ts';
import { checkedKey, type Storage } from './storage.ts';

const folder = 'documents/';
/** A body of 2 GB has 256 parts of this size; two of them are in memory at a time. */
const partSize = 8 * 1024 * 1024;
const partsAtOnce = 2;

function clientOf({ endpoint, region, accessKeyId, secretAccessKey, forcePathStyle }: S3Config): S3Client {
  return new S3Client({
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

/** Keeps bodies in the bucket that the configuration names. */
export function openS3Storage(config: S3Config): Storage {
  const client = clientOf(config);
  const Bucket = config.bucket;
  const placeOf = (key: string) => ({ Bucket, Key: `${folder}${checkedKey(key)}` });

  return {
    async write(key, body) {
      const source = Readable.from(body, { objectMode: false });
      const upload = new Upload({
        client,
        params: { ...placeOf(key), Body: source, ContentType: 'application/octet-stream' },
        partSize,
        queueSize: partsAtOnce,
        // An upload that fails is taken back, parts and all.
        leavePartsOnError: false,
      });
      await upload.done().finally(() => source.destroy());
    },

    async read(key, span) {
      const Range = span && `bytes=${span.first}-${span.last}`;
      try {
        const { Body } = await client.send(new GetObjectCommand({ ...placeOf(key), Range }));
        return Body ? (Body.transformToWebStream() as ReadableStream<Uint8Array>) : null;
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    },

    async remove(key) {
      await client.send(new DeleteObjectCommand(placeOf(key)));
    },

    async tidy(before) {
      const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: folder }));
      for (const { Key, UploadId, Initiated } of Uploads ?? []) {
        if (Key && UploadId && Initiated && Initiated < before)
          await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      }
    },

    async close() {
      client.destroy();
    },
  };
}
