/** Both document stores, tested against the same requirements. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openFileStorage } from '../../server/storage/files.ts';
import { openS3Storage } from '../../server/storage/s3.ts';
import { newStorageKey, type Storage } from '../../server/storage/storage.ts';
import { openS3Server, type S3Server } from './s3-server.ts';

let directory: string;
let s3: S3Server;
const stores: Record<string, Storage> = {};

beforeAll(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'documents-'));
  s3 = await openS3Server();
  stores['files'] = openFileStorage(path.join(directory, 'documents'));
  stores['S3'] = openS3Storage(s3.config);
});
afterAll(async () => {
  await stores['S3']?.close();
  await s3?.close();
  await rm(directory, { recursive: true, force: true });
});

/** The number of documents in the store, finished or not. */
const contents: Record<string, () => Promise<number>> = {
  files: async () => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).length;
  },
  S3: async () => s3.objects.size + s3.unfinished.size,
};

async function* inParts(bytes: Buffer, size: number, failAt = Infinity): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    if (at >= failAt) throw new Error('The sender is gone.');
    yield bytes.subarray(at, at + size);
  }
}

async function readAll(storage: Storage, key: string, span?: { first: number; last: number }): Promise<Buffer | null> {
  const body = await storage.read(key, span);
  return body && Buffer.from(await new Response(body).arrayBuffer());
}

describe.each(['files', 'S3'])('document storage in %s', (name) => {
  const store = () => stores[name]!;

  test('returns a stored document in full and by byte range', async () => {
    const key = newStorageKey();
    const body = randomBytes(300_000);
    await store().write(key, inParts(body, 7_001));
    expect(await readAll(store(), key)).toEqual(body);
    expect(await readAll(store(), key, { first: 0, last: 0 })).toEqual(body.subarray(0, 1));
    expect(await readAll(store(), key, { first: 100_000, last: 200_000 })).toEqual(body.subarray(100_000, 200_001));
  });

  test('stores a document larger than one part of an upload', async () => {
    const key = newStorageKey();
    const body = randomBytes(21_000_000);
    await store().write(key, inParts(body, 65_536));
    expect((await readAll(store(), key))?.equals(body)).toBe(true);
  });

  test('has no document under a key that was never written or was removed', async () => {
    const key = newStorageKey();
    expect(await store().read(key)).toBeNull();
    await store().write(key, inParts(Buffer.from('a'), 1));
    await store().remove(key);
    await store().remove(key);
    expect(await store().read(key)).toBeNull();
  });

  test.each([2_000_000, 12_000_000])('stores nothing of an upload that breaks off after %i bytes', async (failAt) => {
    const before = await contents[name]!();
    const key = newStorageKey();
    const writing = store().write(key, inParts(randomBytes(20_000_000), 65_536, failAt));
    await expect(writing).rejects.toThrow('The sender is gone.');
    expect(await contents[name]!()).toBe(before);
    expect(await store().read(key)).toBeNull();
  });

  test('rejects keys that are not in its own format', async () => {
    for (const key of ['../../etc/passwd', 'a/../../b'.padEnd(20, 'c'), '', 'x'.repeat(65), 'UPPER'.repeat(5)]) {
      await expect(store().write(key, inParts(Buffer.from('a'), 1))).rejects.toThrow('not a storage key');
      await expect(Promise.resolve().then(() => store().read(key))).rejects.toThrow('not a storage key');
    }
  });
});

test('file storage deletes uploads left by a dead process, and keeps recent ones', async () => {
  const incoming = path.join(directory, 'documents/incoming');
  const left = path.join(incoming, 'left-by-a-dead-process');
  await writeFile(left, 'half of it');
  await utimes(left, new Date(0), new Date(0));
  await writeFile(path.join(incoming, 'still-coming'), 'half of it');
  await stores['files']!.tidy(new Date(Date.now() - 86_400_000));
  expect(await readdir(incoming)).toEqual(['still-coming']);
});

test('abandoned multipart uploads in S3 are aborted, also when they fill more than one page of the listing', async () => {
  s3.failOn(/DELETE .*uploadId/);
  const writing = stores['S3']!.write(newStorageKey(), inParts(randomBytes(20_000_000), 65_536, 12_000_000));
  await expect(writing).rejects.toThrow();
  s3.failOn(null);
  expect(s3.unfinished.size).toBe(1);
  for (let made = 0; made < 50; made += 1) s3.beginUpload(`documents/${newStorageKey()}`);
  await stores['S3']!.tidy(new Date(0));
  expect(s3.unfinished.size).toBe(51);
  await stores['S3']!.tidy(new Date());
  expect(s3.unfinished.size).toBe(0);
});

test('an abandoned multipart upload in S3 is aborted although more uploads in progress precede it than are examined in one run', async () => {
  const storage = openS3Storage(s3.config);
  onTestFinished(async () => {
    s3.unfinished.clear();
    await storage.close();
  });
  const begun = new Date();
  const inProgress = Array.from({ length: 450 }, () => s3.beginUpload(`documents/1${newStorageKey()}`, begun));
  const abandoned = s3.beginUpload(`documents/2${newStorageKey()}`);
  const before = new Date(begun.getTime() - 60_000);
  await storage.tidy(before);
  await storage.tidy(before);
  expect(s3.unfinished.has(abandoned)).toBe(false);
  // From here on it begins again.
  const another = s3.beginUpload(`documents/0${newStorageKey()}`);
  await storage.tidy(before);
  expect(s3.unfinished.has(another)).toBe(false);
  expect([...s3.unfinished.keys()].toSorted()).toEqual(inProgress.toSorted());
});

test('an upload that fails in S3 is reported and leaves no parts behind', async () => {
  const before = await contents['S3']!();
  s3.failOn(/PUT .*partNumber=2/);
  await expect(stores['S3']!.write(newStorageKey(), inParts(randomBytes(20_000_000), 65_536))).rejects.toThrow();
  s3.failOn(null);
  expect(await contents['S3']!()).toBe(before);
});

test('requests to an S3 server that accepts connections but never responds time out', async () => {
  const silent = createServer(() => {});
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const storage = openS3Storage({ ...s3.config, endpoint: `http://127.0.0.1:${port}` }, 100);
  onTestFinished(async () => {
    await storage.close();
    silent.close();
  });
  await expect(storage.read(newStorageKey())).rejects.toThrow();
  await expect(storage.write(newStorageKey(), inParts(randomBytes(1_000), 1_000))).rejects.toThrow();
});

test('unread downloads from S3 do not block other downloads', async () => {
  const key = newStorageKey();
  await stores['S3']!.write(key, inParts(randomBytes(2_000_000), 65_536));
  const bodies = await Promise.all(Array.from({ length: 60 }, () => stores['S3']!.read(key)));
  await Promise.all(bodies.map((body) => body?.cancel()));
  expect(bodies).not.toContain(null);
});
