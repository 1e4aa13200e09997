/** Deletes the brokerages whose day of deletion has come: their rows, and then the bodies of their documents. */

import type { CoreServices } from '../services.ts';
import {
  brokerageToDelete,
  deleteBrokeragePart,
  mailsOfDeletedBrokerage,
} from '../domain/people/brokerage-deletion.ts';
import { deleteUnusedBodies } from './deletion.ts';

/** How many rows are deleted in one transaction: a fraction of a second, so that others do not wait for long. */
const rowsAtOnce = 2_000;
/** After so many transactions the next run goes on. */
const mostParts = 5_000;

/** The mails that are kept in files, by their ids in the outbox. */
interface MailFiles {
  inFiles(): Promise<readonly string[]>;
  remove(ids: readonly string[]): Promise<void>;
}

/**
 * Deletes what is due. Each part is a transaction of its own, so that whatever ends this is gone on with by the next run, on any node.
 * Before each part those of its mails that lie in files are removed. One that cannot be deleted is left for the next run, and does not hold up others: then
 * this rejects when they are done.
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
      // Before their rows go: when this breaks off, the next run finds what is left.
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
  if (faults.length > 0) throw new AggregateError(faults, `${faults.length} brokerages could not be deleted.`);
}
