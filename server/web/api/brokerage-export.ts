/** A brokerage's admin takes along, as one file, what they may see there: through the policies, as on the pages. */

import { Readable } from 'node:stream';
import { Hono, type Context } from 'hono';
import about from '../../../package.json' with { type: 'json' };
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import { openDocument } from '../../domain/documents/documents.ts';
import { beginExport, mayExport } from '../../domain/people/brokerage-export.ts';
import { brokerageOfCaller } from '../../domain/people/brokerages.ts';
import { exportBrokerage, type ExportSource } from '../../export/brokerage.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere, Problem, retryAfter } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { isStorageKey } from '../../storage/storage.ts';
import { pathId } from './input.ts';

/** How many are written at once by a node: each reads all that a brokerage has. */
const atOnce = 2;

const sight =
  'What the admin who made this export may see: everything of the brokerage, and of a sale in which they take no part what its viewers see. Who did what on a deal is not in it; the audit trail has an export of its own.';

/** Reads as whoever asks, anew for each portion: it ends with their session and with their role. */
function personsSource(services: Services, c: Context, brokerageId: string): ExportSource {
  return {
    async run<T>(statement: Statement<T>) {
      const [brokerage, answer] = await asPerson(services, c, brokerageOfCaller(brokerageId), statement);
      if (brokerage?.role !== 'admin') throw nothingThere();
      return answer as T;
    },
    async body(table, document) {
      const [opened] = await asPerson(
        services,
        c,
        openDocument(table === 'documents' ? 'simple' : 'production', document, false),
      );
      return opened && isStorageKey(opened.storage_key) ? services.storage.read(opened.storage_key) : null;
    },
  };
}

export function brokerageExportRoutes(services: Services) {
  let running = 0;
  return new Hono()
    .post('/brokerages/:id/export', async (c) => {
      const brokerageId = pathId(c);
      const [brokerage, may] = await asPerson(services, c, brokerageOfCaller(brokerageId), mayExport(brokerageId));
      if (!may) throw brokerage ? notAllowed() : nothingThere();
      return c.json({ may });
    })

    .get('/brokerages/:id/export', async (c) => {
      const brokerageId = pathId(c);
      if (running >= atOnce)
        throw new Problem(503, 'busy', 'Other exports are being made. Try again in some minutes.', retryAfter(60));
      const [brokerage, begun] = await asPerson(
        services,
        c,
        brokerageOfCaller(brokerageId),
        beginExport(brokerageId, originOf(c)),
      );
      if (!brokerage) throw nothingThere();
      if (!begun) throw notAllowed();
      const now = services.clock();
      const { id, slug, name } = brokerage;
      const task = {
        brokerage: { id, slug, name },
        source: personsSource(services, c, brokerageId),
        release: about.version,
        now,
        sight,
        without: ['audit_records'],
      };
      async function* body(): AsyncGenerator<Uint8Array> {
        running += 1;
        try {
          yield* exportBrokerage(task);
        } catch (error) {
          services.log.warn({ err: error, requestId: requestIdOf(c) }, 'the export of a brokerage broke off');
          throw error;
        } finally {
          running -= 1;
        }
      }
      c.header('Content-Type', 'application/zip');
      c.header('Content-Disposition', `attachment; filename="${slug}-${now.toISOString().slice(0, 10)}.zip"`);
      return c.body(Readable.toWeb(Readable.from(body(), { objectMode: false })) as ReadableStream<Uint8Array>);
    });
}
