/** Downloads reports as a person does, and reads them with other libraries than those that wrote them. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import readWorkbook from 'read-excel-file/node';
import { expect, vi } from 'vitest';
import type { TestService } from '../harness.ts';
import type { SignedIn } from '../web/person.ts';

/** Returns the processes that this one has started to write reports. */
export async function writers(): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  return stdout
    .split('\n')
    .filter((line) => line.includes('report-writer'))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, parent]) => (pid && parent === process.pid ? [pid] : []));
}

/** Waits until no process writes reports. */
export const noWriters = () => vi.waitFor(async () => expect(await writers()).toEqual([]), 25_000);

/** Kills every process that writes reports. */
export async function endWriters(): Promise<void> {
  for (const pid of await writers())
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // It may have ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  await noWriters();
}

/** Changes a value in the reports of every deal, so that none is served from the cache. */
export const changeAll = (service: TestService) =>
  service.sql('update deals set asking_price = coalesce(asking_price, 0) + 1');

export interface File {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Requests a report as the browser does. */
export async function download(
  service: TestService,
  person: SignedIn,
  deal: string,
  format: string,
  method = 'GET',
  signal: AbortSignal | null = null,
): Promise<File> {
  const response = await fetch(`${service.origin}/api/web/deals/${deal}/report.${format}`, {
    method,
    signal,
    headers: person.headers,
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

export type Value = string | number | boolean | Date | null;
export type Sheets = ReadonlyMap<string, readonly (readonly Value[])[]>;

/** Returns the sheets of a workbook by name, formulas as their results. */
export async function sheetsOf(bytes: Buffer): Promise<Sheets> {
  const found = (await readWorkbook(bytes)) as unknown as { sheet: string; data: Value[][] }[];
  return new Map(found.map(({ sheet, data }) => [sheet, data]));
}

/** Returns the row of a sheet that begins with this text; empty without one. */
export const rowOf = (sheets: Sheets, sheet: string, first: string): readonly Value[] =>
  sheets.get(sheet)?.find(([cell]) => cell === first) ?? [];

/** The text of a document, by page and as a whole, and its properties. */
export interface Printed {
  readonly pages: readonly string[];
  readonly text: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly width: number;
  readonly tags: string;
}

/** Reads a document as PDF viewers do. */
export async function printedOf(bytes: Uint8Array): Promise<Printed> {
  const document = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise;
  const pages: string[] = [];
  let tags = '';
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    pages.push(
      items
        .map((item) => ('str' in item ? item.str : ''))
        .join(' ')
        .replace(/\s+/g, ' '),
    );
    tags += JSON.stringify(await page.getStructTree());
  }
  const { info } = (await document.getMetadata()) as unknown as { info: Record<string, unknown> };
  const width = (await document.getPage(1)).view[2] ?? 0;
  return { pages, text: pages.join(' '), info, width, tags };
}

/** The path of LibreOffice, where it is installed. */
export const office = [
  '/usr/bin/soffice',
  '/usr/bin/libreoffice',
  '/Applications/LibreOffice.app/Contents/MacOS/soffice',
].find(existsSync);
if (!office) console.warn('There is no soffice here: the tests that have LibreOffice compute are left out.');

/** Filters with which LibreOffice reads CSV, computing its formulas, and writes it: commas, quotes, UTF-8. */
const csv = {
  in: 'CSV:44,34,76,1,,0,false,true,false,false,false,-1,true',
  out: 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false',
};

/** Returns the file as saved by LibreOffice, with everything in it recalculated. */
export async function recalculated(bytes: Buffer, from: 'xlsx' | 'csv'): Promise<Buffer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-office-'));
  try {
    await writeFile(path.join(directory, `in.${from}`), bytes);
    await promisify(execFile)(office ?? '', [
      `-env:UserInstallation=file://${directory}/profile`,
      '--headless',
      ...(from === 'csv' ? [`--infilter=${csv.in}`] : []),
      '--convert-to',
      from === 'csv' ? csv.out : from,
      '--outdir',
      path.join(directory, 'out'),
      path.join(directory, `in.${from}`),
    ]);
    return await readFile(path.join(directory, `out/in.${from}`));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
