/**
 * The export of a brokerage for its admins: one file with everything that they may see, read under the same policies as
 * the pages.
 */

import { Readable } from 'node:stream';
import { Hono, type Context } from 'hono';
import about from '../../../package.json' with { type: 'json' };
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import { openDocuments } from '../../domain/documents/documents.ts';
import { beginExport, dealsWithoutCaller, mayExport } from '../../domain/people/brokerage-export.ts';
import { brokerageOfCaller, type BrokerageOfCaller } from '../../domain/people/brokerages.ts';
import { exportBrokerage, storedBodies, type ExportSource } from '../../export/brokerage.ts';
import { responseOf } from '../../http/open-response.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere, Problem, retryAfter } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { mustKeepPace } from '../../http/unread-answers.ts';
import { pathId } from './input.ts';

/** Maximum number of exports that a node writes at once, one per brokerage: each reads all data of a brokerage. */
const atOnce = 2;

const sight =
  'This export contains what the admin who made it can see: everything of the brokerage, but for a deal they are not on, only what its viewers see. It does not say who did what on a deal; the audit trail has its own export.';

/**
 * Reads as the requesting person, authenticated again for each portion, so that the export ends with their session or
 * their role.
 */
function personsSource(services: Services, c: Context, brokerageId: string): ExportSource {
  return {
    async run<T>(statement: Statement<T>) {
      const [answer, brokerage] = await asPerson(services, c, statement, brokerageOfCaller(brokerageId));
      if (brokerage?.role !== 'admin') throw nothingThere();
      return answer as T;
    },
    async open(table, documents) {
      const [opened] = await asPerson(
        services,
        c,
        openDocuments(table === 'documents' ? 'simple' : 'production', documents),
      );
      return storedBodies(services.storage, opened);
    },
    async inPart(deals) {
      const [found] = await asPerson(services, c, dealsWithoutCaller(deals));
      return found.map(({ id }) => id);
    },
  };
}

/** The export routes, below /api/web. */
export function brokerageExportRoutes(services: Services) {
  /** The brokerages whose exports are being written. */
  const running = new Set<string>();

  /** The brokerage, for a person who may export it. Throws 404 or 403, and 503 while the limit is reached. */
  async function exportable(c: Context, brokerageId: string): Promise<BrokerageOfCaller> {
    const [brokerage, may] = await asPerson(services, c, brokerageOfCaller(brokerageId), mayExport(brokerageId));
    if (!brokerage) throw nothingThere();
    if (!may) throw notAllowed();
    if (running.size >= atOnce || running.has(brokerageId))
      throw new Problem(503, 'busy', 'Other exports are being made. Try again in a few minutes.', retryAfter(60));
    return brokerage;
  }

  /**
   * Reserves a place until the returned function is called or the response is closed for any reason. There must be no
   * `await` between {@link exportable} and this call.
   */
  function takePlace(c: Context, brokerageId: string): () => void {
    const response = responseOf(c);
    let holds = !response.destroyed;
    const leave = () => {
      // After the first call the place may belong to the next export.
      if (holds) running.delete(brokerageId);
      holds = false;
    };
    if (holds) running.add(brokerageId);
    response.once('close', leave);
    mustKeepPace(response);
    return leave;
  }

  return new Hono()
    .post('/brokerages/:id/export', async (c) => {
      await exportable(c, pathId(c));
      return c.json({ may: true });
    })

    .get('/brokerages/:id/export', async (c) => {
      const brokerageId = pathId(c);
      const { id, slug, name } = await exportable(c, brokerageId);
      const now = services.clock();
      c.header('Content-Type', 'application/zip');
      c.header('Content-Disposition', `attachment; filename="${slug}-${now.toISOString().slice(0, 10)}.zip"`);
      // A HEAD request writes and records no export.
      if (c.req.method === 'HEAD') return c.body(null);
      const leave = takePlace(c, brokerageId);
      const [begun] = await asPerson(services, c, beginExport(brokerageId, originOf(c)));
      if (!begun) throw notAllowed();
      const task = {
        brokerage: { id, slug, name },
        source: personsSource(services, c, brokerageId),
        release: about.version,
        now,
        sight,
        // The audit trail has an export of its own; only API keys read webhook events.
        without: ['audit_records', 'change_events'],
      };
      async function* body(): AsyncGenerator<Uint8Array> {
        try {
          yield* exportBrokerage(task);
        } catch (error) {
          // A client that disconnects is not a failure of the service.
          if (!responseOf(c).destroyed)
            services.log.warn({ err: error, requestId: requestIdOf(c) }, 'the export of a brokerage was interrupted');
          throw error;
        } finally {
          leave();
        }
      }
      return c.body(Readable.toWeb(Readable.from(body(), { objectMode: false })) as ReadableStream<Uint8Array>);
    });
}
