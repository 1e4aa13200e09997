/** Deletes the brokerages whose time has come: their rows, and then the bodies of their documents. */

import type { CoreServices } from '../services.ts';
import { deleteBrokeragePart } from '../domain/people/brokerage-deletion.ts';
import { clearBodies } from './clearing.ts';

/** How many rows go in one transaction: a fraction of a second of the database, in which nobody waits for them. */
const rowsAtOnce = 2_000;
/** After so many transactions the next run goes on. */
const mostParts = 5_000;

/**
 * Deletes what is due. Each part is a transaction of its own, so that whatever ends this is gone on with by the next run, on any node.
 * `forget` is called with the name of each brokerage of which nothing is left in the database.
 */
export async function deleteBrokerages(services: CoreServices, forget: (name: string) => Promise<void>): Promise<void> {
  const { database, log } = services;
  let finished = 0;
  for (let part = 0; part < mostParts; part += 1) {
    const deleted = await database.run(deleteBrokeragePart(rowsAtOnce));
    if (deleted === null) break;
    if (!deleted.finished) continue;
    finished += 1;
    await forget(deleted.name);
    log.info({ brokerage: deleted.brokerage }, 'deleted a brokerage');
  }
  if (finished > 0) await clearBodies(services);
}
