/** The export of a brokerage for its admins: one file of what they may see, read with the policies as on the pages. */

import { Readable } from 'node:stream';
import { Hono, type Context } from 'hono';
import about from '../../../package.json' with { type: 'json' };
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import { openDocuments } from '../../domain/documents/documents.ts';
import { beginExport, mayExport } from '../../domain/people/brokerage-export.ts';
import { brokerageOfCaller, type BrokerageOfCaller } from '../../domain/people/brokerages.ts';
import { exportBrokerage, storedBodies, type ExportSource } from '../../export/brokerage.ts';
import { responseOf } from '../../http/open-response.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere, Problem, retryAfter } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { mustKeepPace } from '../../http/unread-answers.ts';
import { pathId } from './input.ts';

/** How many are written at once by a node, of each brokerage one: each reads all that a brokerage has. */
const atOnce = 2;

const sight =
  'What the admin who made this export may see: everything of the brokerage, and of a sale in which they take no part what its viewers see. Who did what on a deal is not in it; the audit trail has an export of its own.';

/** Reads as the person who asks, anew for each portion: it ends with their session and with their role. */
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
  };
}

/** Its routes, below /api/web. */
export function brokerageExportRoutes(services: Services) {
  /** The brokerages whose archives are being written. */
  const running = new Set<string>();

  /** The brokerage, for a person who may export it. Throws 404 and 403, and 503 while there is no place for one more. */
  async function exportable(c: Context, brokerageId: string): Promise<BrokerageOfCaller> {
    const [brokerage, may] = await asPerson(services, c, brokerageOfCaller(brokerageId), mayExport(brokerageId));
    if (!brokerage) throw nothingThere();
    if (!may) throw notAllowed();
    if (running.size >= atOnce || running.has(brokerageId))
      throw new Problem(503, 'busy', 'Other exports are being made. Try again in a few minutes.', retryAfter(60));
    return brokerage;
  }

  /** Takes a place until what it returns is called, or the answer is closed, however that comes. Nothing may be awaited since {@link exportable}. */
  function takePlace(c: Context, brokerageId: string): () => void {
    const response = responseOf(c);
    let holds = !response.destroyed;
    const leave = () => {
      // By then the place may be that of the next.
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
      // Who asks for the head alone gets no archive: nothing is written, and nothing noted.
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
        // The audit trail has an export of its own; events for webhooks are read by keys alone.
        without: ['audit_records', 'change_events'],
      };
      async function* body(): AsyncGenerator<Uint8Array> {
        try {
          yield* exportBrokerage(task);
        } catch (error) {
          // A client that disconnects is no failure of the service.
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
