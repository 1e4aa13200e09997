/** Reports on a deal as files, with the data that each reader may see. */

import path from 'node:path';
import { Hono, type Context } from 'hono';
import type { Services } from '../../../services.ts';
import { DealCache } from '../../../domain/diligence/caches.ts';
import {
  dealInReport,
  digestOfInput,
  isStillCurrent,
  noteReport,
  reportInput,
  reportReads,
} from '../../../domain/reports/contents.ts';
import { reusedProcess } from '../../../http/worker-process.ts';
import { disposition } from '../../../http/document-body.ts';
import { originOf } from '../../../http/origin.ts';
import { Problem, retryAfter } from '../../../http/problem.ts';
import { fileQueue, partiesOf } from '../file-queue.ts';
import { pathId } from '../input.ts';
import { orNotFound } from '../problems.ts';
import { withPersonAndDeal } from '../visible-record.ts';
import type { ReportFormat, ReportTask, Written, WrittenReport } from './report-writer.ts';

/** Limits for writing one report. */
const limits = { heapMegabytes: 384, millis: 30_000 };

const busy = () => new Problem(503, 'busy', 'Other reports are being written. Try again shortly.', retryAfter(10));

const changed = () =>
  new Problem(503, 'busy', 'The figures changed while this report was being written. Try again.', retryAfter(1));

/** How many times a report is written again when its data changed meanwhile. */
const mostAgain = 2;

const queue = fileQueue(busy);

/** Located beside this module, as source or compiled. */
const writerProgram = path.join(import.meta.dirname, `report-writer${path.extname(import.meta.filename)}`);

/**
 * The process is kept for a while so that the next reports need not wait for its start; a node without requests for
 * reports has no such process.
 */
const write = reusedProcess<WrittenReport>(writerProgram, { idleMillis: 15_000, tasks: 20 });

/**
 * Written reports by a digest of their input, reused when the same report would be written for the current reader.
 * Sizes in bytes.
 */
const cache = new DealCache<Written>({ size: 33_554_432, ofOne: 8_388_608, ofDeal: 8 });

const mediaTypes: Readonly<Record<ReportFormat, string>> = {
  pdf: 'application/pdf',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** A file name that every operating system accepts. */
const fileName = (title: string, day: string, format: ReportFormat): string =>
  `${title
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}<>:"/\\|?*]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 120)
    .toWellFormed()} ${day}.${format}`;

async function sendReport(services: Services, c: Context, format: ReportFormat): Promise<Response> {
  const dealId = pathId(c);
  const [{ user_id }, seen] = await withPersonAndDeal(services, c, dealId, dealInReport(dealId));
  // A HEAD request writes and records no report.
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': mediaTypes[format] });
  const { financing } = services.config.features;
  const { signal } = c.req.raw;
  const read = () => withPersonAndDeal(services, c, dealId, ...reportReads(dealId, financing));
  // Data is read when the report's turn in the queue has come, so that a rejected request reads nothing and waiting
  // ones hold no data.
  const parties = partiesOf(orNotFound(seen).organization_id, user_id);
  const answer = await queue(
    parties,
    async () => {
      const end = performance.now() + limits.millis;
      let [person, ...answers] = await read();
      for (let again = 0; again <= mostAgain; again += 1) {
        const input = reportInput(person.name, answers, financing);
        // The user id is included because people choose their names themselves: the file states when it was written,
        // and thereby when it was requested.
        const digest = `${format} ${person.user_id} ${digestOfInput(input)}`;
        const known = cache.of(dealId).get(digest);
        // The data was read just now and need not be read again.
        if (known) return known;
        const task: ReportTask = { format, input };
        const most = { ...limits, millis: Math.max(0, end - performance.now()) };
        const written = await write(most, task, busy, signal);
        if ('fault' in written) throw new Error(`A report could not be written: ${written.fault}`);
        cache.keep(dealId, digest, written, written.bytes.length);
        // The reader must still be allowed to see the data: while the report was written, rights may have ended and
        // figures may have changed.
        const before = answers;
        [person, ...answers] = await read();
        if (isStillCurrent(before, answers)) return written;
      }
      throw changed();
    },
    signal,
  );
  // Recorded after success: only reports that are sent are recorded.
  await withPersonAndDeal(services, c, dealId, noteReport(dealId, format, originOf(c)));
  return c.body(new Uint8Array(answer.bytes), 200, {
    'Content-Type': mediaTypes[format],
    'Content-Disposition': disposition('attachment', fileName(answer.title, answer.day, format)),
  });
}

/** The report routes, below /api/web. */
export function reportRoutes(services: Services) {
  return new Hono()
    .get('/deals/:id/report.pdf', (c) => sendReport(services, c, 'pdf'))
    .get('/deals/:id/report.xlsx', (c) => sendReport(services, c, 'xlsx'));
}
