/** The files that the data room accepts, by name and by content. */

import { describe, expect, test } from 'vitest';
import { headBytes, kindOf } from '../../server/documents/kinds.ts';
import { aPdf, aPng, aZip } from '../web/uploads.ts';

const kind = (name: string, content: Buffer | string) => {
  const bytes = Buffer.from(content);
  return kindOf(name, bytes.subarray(0, headBytes), bytes.length <= headBytes);
};

const contentTypes = (main: string) =>
  `<?xml version="1.0"?><Types><Override PartName="/x" ContentType="application/${main}.main+xml"/></Types>`;
const spreadsheet = 'vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const compound = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1000)]);
const large = Buffer.alloc(headBytes, 'x');
const openText = ['mimetype', 'application/vnd.oasis.opendocument.text'] as const;
/** An older Office file with a project of macros in its directory. */
const withProject = Buffer.concat([compound, Buffer.from('_VBA_PROJECT_CUR', 'utf16le'), Buffer.alloc(1000)]);

describe('an accepted file gets the media type of its content', () => {
  test.each([
    ['Lease.pdf', aPdf(), 'application/pdf'],
    ['LEASE.PDF', aPdf(), 'application/pdf'],
    ['Plan.png', aPng(), 'image/png'],
    [
      'Books.xlsx',
      aZip(['[Content_Types].xml', contentTypes(spreadsheet)], ['xl/workbook.xml', '']),
      `application/${spreadsheet}`,
    ],
    ['Books.xlsx', aZip(['xl/workbook.xml', 'a'], ['xl/media/1.png', large]), `application/${spreadsheet}`],
    ['Letter.odt', aZip(openText), 'application/vnd.oasis.opendocument.text'],
    [
      'Letter.odt',
      aZip(openText, ['Basic/Standard/script-lb.xml', 'a'], ['Scripts/', '']),
      'application/vnd.oasis.opendocument.text',
    ],
    ['Old.xls', compound, 'application/vnd.ms-excel'],
    ['With an attachment.msg', withProject, 'application/vnd.ms-outlook'],
    ['Photos.zip', aZip(['a.png', aPng()]), 'application/zip'],
    ['Letter.rtf', String.raw`{\rtf1\ansi Dear}`, 'application/rtf'],
    ['Staff.csv', 'Name,Wage\r\nÅsa,36.25\r\n', 'text/csv'],
    ['Staff.csv', Buffer.from('Name;Wage\r\n\xc5sa;36,25\r\n', 'latin1'), 'text/csv'],
    ['Staff.csv', Buffer.from('\ufeffName\tWage\r\n', 'utf16le'), 'text/csv'],
    ['Models.txt', 'BMW\nPK\u2013something\n', 'text/plain'],
    ['Notes.md', '# Notes <b>bold</b>\n', 'text/plain'],
  ])('%s', async (name, content, media) => {
    expect(await kind(name, content)).toBe(media);
  });

  test('text whose inspected beginning ends in the middle of a character', async () => {
    expect(await kind('Long.txt', Buffer.from(`x${'é'.repeat(headBytes)}`))).toBe('text/plain');
  });
});

describe('a file is rejected with an explanation', () => {
  const program = Buffer.concat([Buffer.from('MZ\u0090\u0000\u0003', 'latin1'), Buffer.alloc(300)]);
  test.each([
    ['a program', 'setup.exe', program, /\.exe are not accepted.*PDF/],
    ['a program by another name', 'Lease.pdf', program, /contains a program/],
    ['a program called text', 'readme.txt', program, /does not contain text/],
    [
      'a program for other machines',
      'Lease.pdf',
      Buffer.concat([Buffer.from('\u007fELF', 'latin1'), Buffer.alloc(200)]),
      /a program/,
    ],
    ['an archive of a program', 'Photos.zip', aZip(['META-INF/MANIFEST.MF', 'x']), /a program/],
    ['an image by another name', 'Scan.jpg', aPng(), /ends in \.jpg but contains something else \(image\/png\)/],
    ['a PDF called a workbook', 'Books.xlsx', aPdf(), /contains a PDF/],
    ['any archive called a workbook', 'Books.xlsx', aZip(['a.txt', 'a']), /contains a ZIP archive/],
    [
      'a workbook called a letter',
      'Letter.docx',
      aZip(['[Content_Types].xml', contentTypes(spreadsheet)]),
      /something else/,
    ],
    ['macros', 'Books.xlsx', aZip(['[Content_Types].xml', contentTypes('vnd.ms-excel.sheet.macroEnabled')]), /macros/],
    [
      'macros that are not announced',
      'Books.xlsx',
      aZip(['xl/workbook.xml', 'a'], ['xl/vbaProject.bin', 'a']),
      /macros/,
    ],
    ['macros in an older workbook', 'Old.xls', withProject, /macros/],
    ['macros in an OpenDocument text', 'Letter.odt', aZip(openText, ['Basic/Standard/Module1.xml', 'a']), /macros/],
    ['a page', 'page.html', '<!doctype html><p>Hello', /\.html are not accepted/],
    ['a page called text', 'page.txt', '\n\n<!-- hello --> <HTML><script>alert(1)</script>', /web page or a program/],
    [
      'a page in UTF-16 called a table',
      'page.csv',
      Buffer.from('\ufeff<script>alert(1)</script>', 'utf16le'),
      /web page/,
    ],
    ['a script called text', 'run.txt', '#!/bin/sh\nrm -rf /\n', /a program/],
    [
      'a drawing, however plain',
      'Plan.svg',
      '<svg xmlns="http://www.w3.org/2000/svg"><rect width="4"/></svg>',
      /as PDF or PNG/,
    ],
    [
      'a drawing with a script by a name of its own',
      'Plan.SVG',
      '<svg xmlns:é="http://www.w3.org/2000/svg"><é:script>a()</é:script></svg>',
      /as PDF or PNG/,
    ],
    ['a drawing in another encoding', 'Plan.svg', '\u001b$B<svg>\u001b(B<script>a()</script></svg>', /as PDF or PNG/],
    [
      'a drawing called a picture',
      'Plan.png',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>a()</script></svg>',
      /ends in .png/,
    ],
    ['a drawing called text', 'Plan.txt', '\ufeff<?xml version="1.0"?><svg><script>a()</script></svg>', /web page/],
    ['a file without an ending', 'README', 'Hello', /needs an ending/],
    ['nothing', 'Lease.pdf', Buffer.alloc(0), /is empty/],
  ])('%s', async (_what, name, content, message) => {
    await expect(kind(name, content)).rejects.toThrow(message);
  });
});
