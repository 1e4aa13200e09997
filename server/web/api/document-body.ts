/** Sends the body of a document so that it is a file and never a page, whole or in part. */

import type { Context } from 'hono';
import type { Services } from '../../services.ts';
import { headOfDocument, openDocument, previewedTypes, type DocumentSource } from '../../domain/documents/documents.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { isStorageKey, type Span } from '../../storage/storage.ts';
import { withinDocument } from '../../domain/visibility/within.ts';
import { asPersonWithin } from '../../http/person.ts';
import { nothingThere, Problem } from '../../http/problem.ts';

/** `filename` for a Content-Disposition: in ASCII for whoever reads no more, and exactly (RFC 6266, RFC 8187). */
export function disposition(how: 'attachment' | 'inline', filename: string): string {
  const plain = filename.replace(/[^\u0020-\u007e]|["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${how}; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/**
 * The part that a Range header asks for (RFC 9110, 14.2): null for the whole, which is also the answer to what we do not
 * understand and to several parts at once; 'none' when there is no such part.
 */
export function spanOf(header: string | undefined, size: number): Span | 'none' | null {
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

/** Whether a request goes on with what was begun: it asks for something else than the beginning. */
const readsOn = (c: Context): boolean => /^bytes=(?!0+-)/.test(c.req.header('range') ?? '');

function bodyHeaders(c: Context, how: 'attachment' | 'inline', filename: string, etag: string | null): void {
  c.header('Content-Disposition', disposition(how, filename));
  // Whatever a browser makes of it, it runs nothing, loads nothing, and belongs to no site.
  c.header(
    'Content-Security-Policy',
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  );
  c.header('Cross-Origin-Resource-Policy', 'same-origin');
  c.header('Accept-Ranges', 'bytes');
  if (etag !== null) c.header('ETag', etag);
}

/**
 * Opens a document for the person and sends it, as a file to keep or for the application to show. Throws 404 when there
 * is none that they may open, and 415 when the application cannot show it.
 */
export async function sendDocument(
  services: Services,
  c: Context,
  source: DocumentSource,
  id: string,
  how: 'attachment' | 'inline',
): Promise<Response> {
  // Of a request for the head alone nobody would read the body to its end, and so close it; nor was anything opened.
  const headOnly = c.req.method === 'HEAD';
  const asked = headOnly ? headOfDocument(source, id) : openDocument(source, id, readsOn(c));
  const [opened] = await asPersonWithin(services, c, withinDocument(source, id), asked);
  if (!opened) throw nothingThere();
  const { filename, media_type, sha256, storage_key } = opened;
  if (how === 'inline' && !(previewedTypes as readonly string[]).includes(media_type))
    throw new Problem(415, 'no_preview', 'This kind of file cannot be shown here. Download it instead.');

  const size = Number(opened.size_bytes);
  const etag = sha256 && `"${sha256}"`;
  const sameBody = [undefined, etag].includes(c.req.header('if-range'));
  const span = sameBody ? spanOf(c.req.header('range'), size) : null;
  if (span === 'none') {
    c.header('Content-Range', `bytes */${size}`);
    throw new Problem(416, 'no_such_part', 'The file has no such part.');
  }
  // A record that was brought in by hand may name a place where no body can be: nothing is there.
  const body = isStorageKey(storage_key) ? await services.storage.read(storage_key, span ?? undefined) : null;
  if (body === null && !headOnly) {
    services.log.error({ requestId: requestIdOf(c), document: id }, 'the body of a document is missing from the store');
    const message =
      'The file itself is missing from the store. Ask the brokerage to have it brought back, or uploaded again.';
    throw new Problem(500, 'body_missing', message);
  }
  bodyHeaders(c, how, filename, etag);
  c.header('Content-Type', media_type);
  c.header('Content-Length', String(span ? span.last - span.first + 1 : size));
  if (span) c.header('Content-Range', `bytes ${span.first}-${span.last}/${size}`);
  const status = span ? 206 : 200;
  return body === null ? c.body(null, status) : c.body(body, status);
}
