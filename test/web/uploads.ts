/** Files for tests of the data room, and sending them as a signed-in person. */

import { deflateRawSync, crc32 } from 'node:zlib';
import { floorPlan, pdf } from '../../database/demo/bodies.ts';
import type { TestService } from '../harness.ts';
import type { Answer, SignedIn } from './person.ts';

/** A PDF of one page. */
export const aPdf = (): Buffer => pdf('Lease', 'The shop is let from year to year.').bytes;
/** A PNG of a floor plan. */
export const aPng = (): Buffer => floorPlan([20, 20, 200, 120]).bytes;

/** A ZIP archive of these entries, each [name, content]. */
export function aZip(...entries: readonly (readonly [name: string, content: string | Buffer])[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of entries) {
    const plain = Buffer.from(content);
    const packed = deflateRawSync(plain);
    const label = Buffer.from(name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(plain), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(plain.length, 18);
    fields.writeUInt16LE(label.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), fields, label, packed]);
    const end = Buffer.alloc(14);
    end.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), fields, end, label]));
    parts.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, listed, end]);
}

export interface UploadQuery {
  filename?: string;
  category?: string;
  confidentiality?: string;
  diligence_request?: string;
}

/** Uploads to a deal's data room; a stream is sent as it comes. */
export async function upload(
  service: TestService,
  person: SignedIn,
  dealId: string,
  body: Buffer | ReadableStream<Uint8Array>,
  { filename = 'Lease.pdf', category = 'real_estate', confidentiality = 'nda_gated', ...more }: UploadQuery = {},
  { signal }: { signal?: AbortSignal } = {},
): Promise<Answer> {
  const query = new URLSearchParams({ filename, category, confidentiality, ...more });
  const response = await fetch(`${service.origin}/api/web/deals/${dealId}/documents?${query}`, {
    method: 'POST',
    headers: { ...person.headers, 'content-type': 'application/octet-stream' },
    body: body instanceof Buffer ? new Uint8Array(body) : body,
    ...(signal && { signal }),
    ...(!(body instanceof Buffer) && { duplex: 'half' }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

/** Asks for the body of a document as the person. */
export const fetchBody = (
  service: TestService,
  person: SignedIn,
  document: { source: string; id: string },
  how: 'content' | 'preview' = 'content',
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${service.origin}/api/web/documents/${document.source}/${document.id}/${how}`, {
    headers: { ...person.headers, ...headers },
  });
