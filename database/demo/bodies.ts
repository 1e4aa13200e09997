/** Makes small but real files as the bodies of the demo's documents. */

import { crc32, deflateSync } from 'node:zlib';

export interface Body {
  readonly mediaType: 'application/pdf' | 'text/csv' | 'image/png';
  readonly bytes: Buffer;
}

const lineLength = 92;

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > lineLength) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

const pdfText = (text: string): string => `(${text.replace(/[\\()]/g, String.raw`\$&`)}) Tj`;

/** Returns a PDF of one page (ISO 32000): a heading and paragraphs in Helvetica. Latin-1 only. */
export function pdf(heading: string, ...paragraphs: readonly string[]): Body {
  const lines = paragraphs.flatMap((paragraph) => [...wrap(paragraph), '']);
  const page = [
    'BT /F2 15 Tf 56 732 Td',
    pdfText(heading),
    '/F1 10 Tf 14 TL 0 -14 Td',
    ...lines.map((line) => `T* ${pdfText(line)}`),
    'ET',
  ].join('\n');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 6 0 R /Resources << /Font << /F1 4 0 R /F2 5 0 R >> >> >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>',
    `<< /Length ${Buffer.byteLength(page, 'latin1')} >>\nstream\n${page}\nendstream`,
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = Buffer.byteLength(file, 'latin1');
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = Buffer.byteLength(file, 'latin1');
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const offset of offsets) file += `${String(offset).padStart(10, '0')} 00000 n \n`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return { mediaType: 'application/pdf', bytes: Buffer.from(file, 'latin1') };
}

const csvField = (field: string): string => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

/**
 * Returns comma-separated values (RFC 4180), whose first row is the heading; `|` separates the fields of each row
 * given.
 */
export function csv(...rows: readonly string[]): Body {
  const lines = rows.map((row) => row.split('|').map(csvField).join(','));
  return { mediaType: 'text/csv', bytes: Buffer.from(`${lines.join('\r\n')}\r\n`) };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/**
 * Returns a drawing of rooms, each [left, top, width, height] in pixels, as a black and white PNG of 640 by 400 pixels.
 */
export function floorPlan(...rooms: readonly (readonly [number, number, number, number])[]): Body {
  const [width, height, wall] = [640, 400, 3];
  const stride = width / 8 + 1;
  const pixels = Buffer.alloc(stride * height, 0xff);
  for (let y = 0; y < height; y += 1) pixels[y * stride] = 0; // each line starts with its filter: none
  const blacken = (left: number, top: number, right: number, bottom: number) => {
    for (let y = top; y < bottom; y += 1) {
      for (let x = left; x < right; x += 1) {
        const at = y * stride + 1 + (x >> 3);
        pixels[at] = pixels.readUInt8(at) & ~(0x80 >> (x & 7));
      }
    }
  };
  for (const [left, top, across, down] of rooms) {
    const [right, bottom] = [left + across, top + down];
    blacken(left, top, right, top + wall);
    blacken(left, bottom - wall, right, bottom);
    blacken(left, top, left + wall, bottom);
    blacken(right - wall, top, right, bottom);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(1, 8); // one bit a pixel, grayscale
  const bytes = Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return { mediaType: 'image/png', bytes };
}
