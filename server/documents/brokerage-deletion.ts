/** Deletes the brokerages whose deletion is due: their rows, and then the contents of their documents in the store. */

import type { CoreServices } from '../services.ts';
import {
  brokerageToDelete,
  deleteBrokeragePart,
  mailsOfDeletedBrokerage,
} from '../domain/people/brokerage-deletion.ts';
import { plural } from '../lib/plural.ts';
import { deleteUnusedBodies } from './deletion.ts';

/**
 * The number of rows deleted in one transaction: it takes a fraction of a second, so that others do not wait for long.
 */
const rowsAtOnce = 2_000;
/** At most this many transactions per run; the next run continues. */
const mostParts = 5_000;

/** The mails kept in files, by their ids in the outbox. */
interface MailFiles {
  inFiles(): Promise<readonly string[]>;
  remove(ids: readonly string[]): Promise<void>;
}

/**
 * Deletes the brokerages that are due. Each part is a transaction of its own, so that the next run, on any node,
 * continues an interrupted one. Before each part the files of its mails are removed. A brokerage that cannot be deleted
 * is left for the next run and does not delay others; the promise rejects once they are done.
 */
export async function deleteBrokerages(services: CoreServices, mails: MailFiles): Promise<void> {
  const { database, log } = services;
  const skipped: string[] = [];
  const faults: unknown[] = [];
  let finished = 0;
  for (let part = 0; part < mostParts; part += 1) {
    const id = await database.run(brokerageToDelete(skipped));
    if (id === null) break;
    try {
      // Before the rows are deleted: after an interruption the next run still finds the remaining files.
      await mails.remove(await database.run(mailsOfDeletedBrokerage(id, await mails.inFiles())));
      const deleted = await database.run(deleteBrokeragePart(id, rowsAtOnce));
      if (deleted === null) skipped.push(id);
      if (!deleted?.finished) continue;
      finished += 1;
      log.info({ brokerage: id }, 'deleted a brokerage');
    } catch (error) {
      log.error({ err: error, brokerage: id }, 'a brokerage could not be deleted');
      faults.push(error);
      skipped.push(id);
    }
  }
  if (finished > 0) await deleteUnusedBodies(services);
  if (faults.length > 0)
    throw new AggregateError(faults, `${plural(faults.length, 'brokerage')} could not be deleted.`);
}
