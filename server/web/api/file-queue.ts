/** The queues of files that take seconds and much memory to read or write, shared fairly by brokerages and the people in them. */

import { fairQueue, type Party } from '../../lib/fair-queue.ts';

/** Files in one queue are worked on one after the other. */
export const fileQueue = (busy: () => Error) => fairQueue({ atOnce: 1, all: 8, waitMillis: 25_000 }, busy);

/** Who takes a place in such a queue when a person asks for a file of a brokerage's deal, or sends one. */
export const partiesOf = (brokerageId: string, personId: string): readonly Party[] => [
  { name: brokerageId },
  { name: personId, most: 2 },
];
