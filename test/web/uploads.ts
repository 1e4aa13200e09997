/** Files for tests of the data room, and functions that upload and fetch them as a signed-in person. */

import { deflateRawSync, crc32 } from 'node:zlib';
import { floorPlan, pdf } from '../../database/demo/bodies.ts';
import type { TestService } from '../harness.ts';
import type { Answer, SignedIn } from './person.ts';

/** A PDF of one page. */
export const aPdf = (): Buffer => pdf('Lease', 'The shop is let from year to year.').bytes;
/**
 * A PDF of two pages, with dummy data in place of scans. It is so large that the second page's contents, in the middle
 * of that data, are fetched only when somebody looks at it.
 */
export function aLargePdf(): Buffer {
  const stream = (body: string) => `<< /Length ${body.length} >>\nstream\n${body}\nendstream`;
  const page = (contents: number) =>
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${contents} 0 R /Resources << /Font << /F1 7 0 R >> >> >>`;
  const scans = stream('0'.repeat(2_000_000));
  const objects: readonly (readonly [number: number, object: string])[] = [
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>'],
    [3, page(5)],
    [4, page(6)],
    [5, stream('BT /F1 15 Tf 56 732 Td (First page) Tj ET')],
    [7, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>'],
    [8, scans],
    [6, stream('BT /F1 15 Tf 56 732 Td (Second page) Tj ET')],
    [9, scans],
  ];
  let file = '%PDF-1.4\n';
  const offsets = new Map<number, number>();
  for (const [number, object] of objects) {
    offsets.set(number, file.length);
    file += `${number} 0 obj\n${object}\nendobj\n`;
  }
  const entries = Array.from({ length: 9 }, (_, at) => `${String(offsets.get(at + 1)).padStart(10, '0')} 00000 n \n`);
  return Buffer.from(
    `${file}xref\n0 10\n0000000000 65535 f \n${entries.join('')}trailer\n<< /Size 10 /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`,
    'latin1',
  );
}

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

/** Uploads a file to a deal's data room; a stream is sent as it is produced. */
export async function upload(
  service: Pick<TestService, 'origin'>,
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

/** Requests the body of a document as the person. */
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
