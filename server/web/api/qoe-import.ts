/**
 * Accounting snapshots from files: a preview that stores nothing, an import that stores all or nothing, and a template
 * to fill in.
 */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import {
  accountLines,
  linesToRemember,
  rememberedLines,
  type AccountLines,
} from '../../domain/diligence/account-lines.ts';
import {
  completeSnapshot,
  failAbandonedSnapshots,
  failSnapshot,
  importsInto,
  processSnapshot,
  requestSnapshot,
  snapshotOnPage,
  snapshotTypes,
} from '../../domain/diligence/snapshots.ts';
import { bodyType, boundedBytes } from '../../http/bounded-body.ts';
import { isTooDeep } from '../../http/json-text.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { originOf } from '../../http/origin.ts';
import { withinDeal } from '../../domain/visibility/deal-scope.ts';
import { asPerson, asPersonWithin, personIdOf } from '../../http/person.ts';
import { invalid, notAllowed, problemOf, tooLarge } from '../../http/problem.ts';
import { writesMonthFirst } from './books/day-order.ts';
import { booksTemplate, readBooks, type ReadBooks } from './books/read.ts';
import { csvHeaders, unreadable } from './csv.ts';
import { partiesOf } from './file-queue.ts';
import { line, optional, pathId, query } from './input.ts';
import { withDeal } from './visible-record.ts';
import { orNotFound } from './problems.ts';

/** Maximum size of a file of accounts, in bytes and in words. The page states it, too. */
export const largestBooksFile = { bytes: 5_242_880, words: '5 MB' } as const;
const choose = { error: 'Choose what is in the file.' };

const About = z.object({
  snapshot_type: z.enum(snapshotTypes, choose),
  filename: optional(line(lengths.accounting_snapshots.source_name)),
});
const Template = z.object({ snapshot_type: z.enum(['profit_and_loss', 'customer_revenue'], choose) });

/** The reason why a file with errors is not stored. */
function reasonOf({ faults, export: exported }: ReadBooks): string {
  const [first] = faults;
  const count = new Set(faults.map(({ row }) => row)).size;
  const rows = count === 1 ? 'One row has' : `${count} rows have`;
  // In an export each month is a column, so the row alone does not identify the cell.
  const column = exported && first?.column ? `, column ${first.column}` : '';
  return `${rows} errors. Row ${first?.row}${column}: ${first?.message}`.slice(0, lengths.accounting_snapshots.failure);
}

const largestChoice = 524_288;

/** The line chosen for each account of an export in the preview. */
const Choice = z
  .array(z.object({ account: z.string().min(1).max(200), line: z.enum(accountLines).nullable() }))
  .max(1_000, 'At most 1,000 accounts.');

function readChoice(sent: File | string | null): AccountLines | null {
  if (sent === null) return null;
  const wrong = () =>
    invalid([{ path: 'account_lines', message: 'Choose for each account which line it counts toward.' }]);
  if (typeof sent !== 'string' || isTooDeep(sent)) throw wrong();
  let value: unknown;
  try {
    value = JSON.parse(sent);
  } catch {
    throw wrong();
  }
  const choice = Choice.safeParse(value);
  if (!choice.success) throw wrong();
  return new Map(choice.data.map(({ account, line: to }) => [account, to]));
}

/** Maximum number of parts in a form, and bytes in the header of each: parsing each part is slow. */
const formLimits = { parts: 2, head: 2_048 };

/** Whether a form has at most a file and a choice, each with a short header (RFC 2046, 5.1.1). */
function isPlainForm(bytes: Uint8Array, contentType: string): boolean {
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  if (!boundary) return false;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const mark = `--${boundary[1] ?? boundary[2]}`;
  let parts = 0;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) {
    const end = body.subarray(at, at + formLimits.head).indexOf('\r\n\r\n');
    const isLast = body.toString('latin1', at + mark.length, at + mark.length + 2) === '--';
    if (end === -1 && !isLast) return false;
    parts += 1;
    if (parts > formLimits.parts + 1) return false;
  }
  return true;
}

/** The file in the body: by itself, or in a form (RFC 7578) with the lines chosen for its accounts. */
async function fileOf(c: Context): Promise<{ bytes: Uint8Array; chosen: AccountLines | null }> {
  const largerThanTaken = () => tooLarge(`The file is larger than ${largestBooksFile.words}: split it.`);
  const { type } = bodyType(c);
  const isForm = type === 'multipart/form-data';
  const bytes = await boundedBytes(c, isForm ? largestBooksFile.bytes + largestChoice : largestBooksFile.bytes);
  if (bytes === null) throw largerThanTaken();
  if (!isForm) return { bytes, chosen: null };
  const noForm = () =>
    unreadable('Send a form with two parts: the file, and the line that each account counts toward.');
  const headers = { 'Content-Type': c.req.header('content-type') ?? '' };
  if (!isPlainForm(bytes, headers['Content-Type'])) throw noForm();
  const form = await new Response(new Uint8Array(bytes), { headers }).formData().catch(() => {
    throw noForm();
  });
  const file = form.get('file');
  if (!(file instanceof File)) throw noForm();
  if (file.size > largestBooksFile.bytes) throw largerThanTaken();
  return { bytes: await file.bytes(), chosen: readChoice(form.get('account_lines')) };
}

/** The import routes, below /api/web. */
export function qoeImportRoutes(services: Services) {
  /** Reads the file in the body. Throws 403 unless the caller is an editor, before the file is read. */
  const read = async (c: Context, dealId: string, type: z.output<typeof About>['snapshot_type']) => {
    const [into, remembered] = await withDeal(services, c, dealId, importsInto(dealId), rememberedLines(dealId));
    if (!into?.editor) throw notAllowed();
    const { bytes, chosen } = await fileOf(c);
    const { signal } = c.req.raw;
    const parties = partiesOf(into.organization_id, personIdOf(c) ?? '');
    const books = await readBooks(bytes, type, {
      parties,
      currency: into.currency,
      chosen,
      remembered,
      writesMonthFirst: writesMonthFirst(c.req.header('accept-language')),
      signal,
    });
    return { books, chosen };
  };

  return new Hono()
    .post('/deals/:id/qoe/snapshots/preview', query(About), async (c) => {
      const { snapshot_type } = c.req.valid('query');
      const {
        export: seen,
        columns,
        left_out,
        rows,
        row_count,
        calendar,
        assumed_day,
        faults,
      } = (await read(c, pathId(c), snapshot_type)).books;
      const told = { columns, left_out, rows, row_count, calendar, assumed_day, faults };
      if (seen === null) return c.json({ ...told, export: null });
      const { lines: _, ...shown } = seen;
      return c.json({ ...told, export: shown });
    })

    .post('/deals/:id/qoe/snapshots', query(About), async (c) => {
      const dealId = pathId(c);
      const { snapshot_type, filename } = c.req.valid('query');
      const { books, chosen } = await read(c, dealId, snapshot_type);
      if (books.export && chosen === null)
        throw unreadable('Look at the preview first, and choose what each account of the export counts as.');
      const lines = books.export && linesToRemember([books.export.lines]);
      const within = withinDeal(dealId);
      const request = requestSnapshot(dealId, snapshot_type, filename, lines, originOf(c));
      const [, id] = await asPersonWithin(services, c, within, failAbandonedSnapshots(), request);
      await asPersonWithin(services, c, within, processSnapshot(id));
      if (books.faults.length > 0)
        await asPersonWithin(services, c, within, failSnapshot(id, reasonOf(books), originOf(c)));
      else
        await asPersonWithin(services, c, within, ...completeSnapshot(dealId, id, books, originOf(c))).catch(
          async (error: unknown) => {
            services.log.warn({ requestId: requestIdOf(c), err: error }, 'the rows of a snapshot could not be stored');
            const reason = problemOf(error)?.message ?? 'The rows could not be stored: upload the file again.';
            await asPersonWithin(services, c, within, failSnapshot(id, reason, originOf(c)));
          },
        );
      const [snapshot] = await withDeal(services, c, dealId, snapshotOnPage(id));
      return c.json(orNotFound(snapshot), 201);
    })

    .get('/qoe/template', query(Template), async (c) => {
      const { snapshot_type } = c.req.valid('query');
      await asPerson(services, c);
      return c.body(booksTemplate(snapshot_type), 200, csvHeaders(snapshot_type.replaceAll('_', '-')));
    });
}
