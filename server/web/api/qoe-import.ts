/** Accounting snapshots from files: looked at without storing anything, stored whole or not at all, and a template to fill in. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import {
  completeSnapshot,
  failAbandonedSnapshots,
  failSnapshot,
  importsInto,
  processSnapshot,
  requestSnapshot,
  snapshotOnPage,
} from '../../domain/diligence/snapshots.ts';
import { boundedBytes } from '../../http/bounded-body.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { originOf } from '../../http/origin.ts';
import { withinDeal } from '../../domain/visibility/within.ts';
import { asPerson, asPersonWithin } from '../../http/person.ts';
import { notAllowed, Problem, problemOf } from '../../http/problem.ts';
import { booksTemplate, readBooks, type ReadBooks } from './books/read.ts';
import { csvHeaders } from './csv.ts';
import { line, optional, pathId, query } from './input.ts';
import { withDeal } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const largestFile = 5_242_880;
const choose = { error: 'Choose what is in the file.' };

const About = z.object({
  snapshot_type: z.enum(['profit_and_loss', 'customer_revenue', 'full'], choose),
  filename: optional(line(255)),
});
const Template = z.object({ snapshot_type: z.enum(['profit_and_loss', 'customer_revenue'], choose) });

/** Why a file with faults is not stored. */
function reasonOf({ faults }: ReadBooks): string {
  const [first] = faults;
  const count = new Set(faults.map(({ row }) => row)).size;
  const rows = count === 1 ? 'One row has' : `${count} rows have`;
  return `${rows} faults. Row ${first?.row}: ${first?.message}`.slice(0, 2000);
}

export function qoeImportRoutes(services: Services) {
  /** What the file in the body holds. Throws 403 to all but editors, before the file is read. */
  const read = async (c: Context, dealId: string, type: z.output<typeof About>['snapshot_type']) => {
    const [into] = await withDeal(services, c, dealId, importsInto(dealId));
    if (!into?.editor) throw notAllowed();
    const bytes = await boundedBytes(c, largestFile);
    if (bytes === null) throw new Problem(413, 'validation_error', 'The file is larger than 5 MB: split it.');
    return readBooks(bytes, type, { id: dealId, currency: into.currency });
  };

  return new Hono()
    .post('/deals/:id/qoe/snapshots/preview', query(About), async (c) => {
      const { snapshot_type } = c.req.valid('query');
      const { columns, rows, row_count, faults } = await read(c, pathId(c), snapshot_type);
      return c.json({ columns, rows, row_count, faults });
    })

    .post('/deals/:id/qoe/snapshots', query(About), async (c) => {
      const dealId = pathId(c);
      const { snapshot_type, filename } = c.req.valid('query');
      const books = await read(c, dealId, snapshot_type);
      const within = withinDeal(dealId);
      const request = requestSnapshot(dealId, snapshot_type, filename, originOf(c));
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
