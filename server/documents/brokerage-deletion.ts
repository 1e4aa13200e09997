/** Deletes the brokerages whose day of deletion has come: their rows, and then the bodies of their documents. */

import type { CoreServices } from '../services.ts';
import { brokerageToDelete, deleteBrokeragePart } from '../domain/people/brokerage-deletion.ts';
import { deleteUnusedBodies } from './deletion.ts';

/** How many rows are deleted in one transaction: a fraction of a second, so that others do not wait for long. */
const rowsAtOnce = 2_000;
/** After so many transactions the next run goes on. */
const mostParts = 5_000;

/**
 * Deletes what is due. Each part is a transaction of its own, so that whatever ends this is gone on with by the next run, on any node.
 * `forget` is called with the name of each brokerage of which nothing is left in the database. One that cannot be deleted is left for the next run, and does not
 * hold up others: then this rejects when they are done.
 */
export async function deleteBrokerages(services: CoreServices, forget: (name: string) => Promise<void>): Promise<void> {
  const { database, log } = services;
  const skipped: string[] = [];
  const faults: unknown[] = [];
  let finished = 0;
  for (let part = 0; part < mostParts; part += 1) {
    const id = await database.run(brokerageToDelete(skipped));
    if (id === null) break;
    try {
      const deleted = await database.run(deleteBrokeragePart(id, rowsAtOnce));
      if (deleted === null) skipped.push(id);
      if (!deleted?.finished) continue;
      finished += 1;
      await forget(deleted.name);
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
