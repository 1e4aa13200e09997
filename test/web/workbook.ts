/** Minimal XLSX workbooks for tests. */

import { crc32, deflateRawSync } from 'node:zlib';

type Cell = string | { readonly number: string } | { readonly time: string };

const letter = (index: number): string => String.fromCharCode(65 + index);
const head = '<?xml version="1.0" encoding="UTF-8"?>';
const office = 'http://schemas.openxmlformats.org';

function sheet(rows: readonly (readonly Cell[])[]): string {
  const cells = (row: readonly Cell[], at: number) =>
    row
      .map((cell, index) =>
        typeof cell === 'string'
          ? `<c r="${letter(index)}${at}" t="inlineStr"><is><t>${cell}</t></is></c>`
          : 'time' in cell
            ? `<c r="${letter(index)}${at}" t="d"><v>${cell.time}</v></c>`
            : `<c r="${letter(index)}${at}"><v>${cell.number}</v></c>`,
      )
      .join('');
  const data = rows.map((row, index) => `<row r="${index + 1}">${cells(row, index + 1)}</row>`).join('');
  return `${head}<worksheet xmlns="${office}/spreadsheetml/2006/main"><sheetData>${data}</sheetData></worksheet>`;
}

/** A ZIP archive; `declared` is a false uncompressed size for each file. */
export function archive(files: Record<string, string>, declared?: number): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const body = Buffer.from(text);
    const packed = deflateRawSync(body);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(body), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(declared ?? body.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), packed]);
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), common, place, Buffer.from(name)]));
    parts.push(local);
    at += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...parts, listed, Buffer.from('PK\u0005\u0006'), end]);
}

/** Prepends data to an archive that the archive's central directory does not list. */
export function withHiddenStart(hidden: Buffer, seen: Buffer): Buffer {
  const moved = Buffer.from(seen);
  const end = moved.lastIndexOf('PK\u0005\u0006');
  let place = moved.readUInt32LE(end + 16);
  moved.writeUInt32LE(place + hidden.length, end + 16);
  for (; place < end; place += 46 + moved.readUInt16LE(place + 28))
    moved.writeUInt32LE(moved.readUInt32LE(place + 42) + hidden.length, place + 42);
  return Buffer.concat([hidden, moved]);
}

/** The files of a workbook with these sheets. */
export function workbook(sheets: Record<string, readonly (readonly Cell[])[]>): Record<string, string> {
  const names = Object.keys(sheets);
  const each = (text: (name: string, number: number) => string) =>
    names.map((name, index) => text(name, index + 1)).join('');
  const relations = `${office}/officeDocument/2006/relationships`;
  return {
    '[Content_Types].xml': `${head}<Types xmlns="${office}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>`,
    '_rels/.rels': `${head}<Relationships xmlns="${office}/package/2006/relationships"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `${head}<workbook xmlns="${office}/spreadsheetml/2006/main" xmlns:r="${relations}"><sheets>${each((name, number) => `<sheet name="${name}" sheetId="${number}" r:id="rId${number}"/>`)}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships xmlns="${office}/package/2006/relationships">${each((_, number) => `<Relationship Id="rId${number}" Type="${relations}/worksheet" Target="worksheets/sheet${number}.xml"/>`)}</Relationships>`,
    ...Object.fromEntries(
      names.map((name, index) => [`xl/worksheets/sheet${index + 1}.xml`, sheet(sheets[name] ?? [])]),
    ),
  };
}
