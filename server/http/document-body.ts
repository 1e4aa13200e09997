/** Sends the body of a document, whole or in part, as a file and never as a page. */

import type { ServerResponse } from 'node:http';
import type { Context } from 'hono';
import { takeDownloadPlace, type TransferredFor } from '../documents/transfer-places.ts';
import type { OpenedDocument } from '../domain/documents/documents.ts';
import type { Services } from '../services.ts';
import { isStorageKey, type Span } from '../storage/storage.ts';
import { responseOf } from './open-response.ts';
import { Problem } from './problem.ts';
import { requestIdOf } from './request-id.ts';

/** Content-Disposition with the `filename` in ASCII for old clients, and exactly (RFC 6266, RFC 8187). */
export function disposition(how: 'attachment' | 'inline', filename: string): string {
  const plain = filename.replace(/[^\u0020-\u007e]|["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${how}; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/**
 * The part that a Range header asks for (RFC 9110, 14.2): null for the whole body, also for unsupported ranges and for
 * several parts at once; 'none' when there is no such part.
 */
function spanOf(header: string | undefined, size: number): Span | 'none' | null {
  const match = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(header ?? '');
  if (!match) return null;
  const [, from = '', to = ''] = match;
  if (from === '') {
    if (to === '') return null;
    const length = Math.min(Number(to), size);
    return length === 0 ? 'none' : { first: size - length, last: size - 1 };
  }
  if (to !== '' && Number(to) < Number(from)) return null;
  if (Number(from) >= size) return 'none';
  return { first: Number(from), last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}

/** Whether a request resumes a download: its range does not start at the beginning. */
export const readsOn = (c: Context): boolean => /^bytes=(?!0+-)/.test(c.req.header('range') ?? '');

/**
 * The policy for files that people uploaded: however a browser treats them, they run nothing, load nothing, and have an
 * opaque origin.
 */
export const sandboxPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

function bodyHeaders(c: Context, how: 'attachment' | 'inline', filename: string, etag: string | null): void {
  c.header('Content-Disposition', disposition(how, filename));
  c.header('Content-Security-Policy', sandboxPolicy);
  c.header('Cross-Origin-Resource-Policy', 'same-origin');
  c.header('Accept-Ranges', 'bytes');
  if (etag !== null) c.header('ETag', etag);
}

const closed = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => (response.closed ? resolve() : void response.once('close', () => resolve())));

/**
 * Opens the body, or a part of it of `length` bytes, once a download slot is free. The stream fails when the stored file
 * ends before: the client would wait for the rest, and take what it has for the whole when the connection ends.
 */
async function openBody(
  { storage, log }: Services,
  c: Context,
  id: string,
  { storage_key }: OpenedDocument,
  whose: TransferredFor,
  span: Span | undefined,
  length: number,
): Promise<ReadableStream<Uint8Array>> {
  await takeDownloadPlace(whose, closed(responseOf(c)));
  // A record that was imported by hand may have a key under which no body can be stored: its body is missing.
  const body = isStorageKey(storage_key) ? await storage.read(storage_key, span) : null;
  if (body === null) {
    log.error({ requestId: requestIdOf(c), document: id }, 'the file of a document is missing from the store');
    const message = 'The file itself is missing from the store. Ask the brokerage to restore it or upload it again.';
    throw new Problem(500, 'body_missing', message);
  }
  let left = length;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, sent) {
        left -= part.byteLength;
        sent.enqueue(part);
      },
      flush(sent) {
        if (left <= 0) return;
        log.error(
          { requestId: requestIdOf(c), document: id, left },
          'the file of a document in the store is too short',
        );
        sent.error(new Error('The stored file is too short.'));
      },
    }),
  );
}

/**
 * Sends the body of an opened document, or the requested part, as a file to keep or for the application to show. Throws
 * 416 with `noSuchPart` when there is no such part, and NoRoom of server/lib/fair-queue.ts when too many are being
 * sent.
 */
export async function sendBody(
  services: Services,
  c: Context,
  id: string,
  opened: OpenedDocument,
  whose: TransferredFor,
  how: 'attachment' | 'inline',
  noSuchPart: () => Problem = () => new Problem(416, 'no_such_part', 'The range is outside the file.'),
): Promise<Response> {
  // For HEAD nobody would read the body to its end, so that it would never be closed.
  const headOnly = c.req.method === 'HEAD';
  const { filename, media_type, sha256 } = opened;
  const size = Number(opened.size_bytes);
  const etag = sha256 && `"${sha256}"`;
  const sameBody = [undefined, etag].includes(c.req.header('if-range'));
  const span = sameBody ? spanOf(c.req.header('range'), size) : null;
  if (span === 'none') {
    c.header('Content-Range', `bytes */${size}`);
    throw noSuchPart();
  }
  const length = span ? span.last - span.first + 1 : size;
  const body = headOnly ? null : await openBody(services, c, id, opened, whose, span ?? undefined, length);
  bodyHeaders(c, how, filename, etag);
  c.header('Content-Type', media_type);
  c.header('Content-Length', String(length));
  if (span) c.header('Content-Range', `bytes ${span.first}-${span.last}/${size}`);
  const status = span ? 206 : 200;
  if (body === null) return c.body(null, status);
  return c.body(body, status);
}
