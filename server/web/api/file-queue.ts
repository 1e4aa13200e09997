/**
 * Queues for files that take seconds and much memory to read or write, shared fairly between brokerages and the people
 * in them.
 */

import { fairQueue, type Party } from '../../lib/fair-queue.ts';

/** A queue that processes one file at a time. */
export const fileQueue = (busy: () => Error) => fairQueue({ atOnce: 1, all: 8, waitMillis: 25_000 }, busy);

/** The parties that take a place in such a queue when a person requests or uploads a file of a brokerage's deal. */
export const partiesOf = (brokerageId: string, personId: string): readonly Party[] => [
  { name: brokerageId },
  { name: personId, most: 2 },
];
