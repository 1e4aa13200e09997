/**
 * Limits how many files a process receives and sends concurrently: each stays open for as long as the other side takes,
 * which may be hours.
 */

import { queueByShare } from '../lib/fair-queue.ts';

/** For whom a file is sent or received. */
export interface TransferredFor {
  /** The person or the API key. */
  readonly caller: string;
  /** The brokerage of the deal. */
  readonly brokerage: string;
  /** Whether the brokerage is the sandbox of another; sandboxes have limits of their own. */
  readonly isSandbox?: boolean;
}

// Nothing is queued: it may take hours until a slot is free.
const noWaiting = (atOnce: number) => ({ atOnce, all: atOnce });
const retryAfter = 10;

/** The limit of a party, and the error message when it is reached. */
const share = (most: number, who: string, again: string) => ({ most, busy: `${who} ${most} files. ${again}` });

const partiesOf = ({ caller, brokerage, isSandbox = false }: TransferredFor) => ({
  caller,
  brokerage,
  ...(isSandbox && { sandboxes: 'all' }),
});

const sendAgain = 'None of this file was read: send it again when one of them has finished.';
/**
 * With an object store, each upload takes some 17 MB: a part of 5 MB with its copies that are not yet collected. The
 * pages send three files at once. Brokerages leave room, as two at their limit would have all slots: beside one that
 * has 6, the next get 3, 2 and 1.
 */
const uploads = queueByShare(
  noWaiting(12),
  {
    caller: share(4, 'You are already sending', sendAgain),
    brokerage: {
      most: 6,
      leavesRoom: true,
      busy: `People at your brokerage are already sending as many files as it may send now. ${sendAgain}`,
    },
    sandboxes: share(3, 'Test keys are already sending', sendAgain),
  },
  { retryAfter, busy: `Too many files are being sent at once. ${sendAgain}` },
);

const askAgain = 'Request this one again when one of them has finished.';
/**
 * Each download holds a file or a connection to the store, and a read-ahead buffer. Three brokerages at their limit
 * leave slots to others.
 */
const downloads = queueByShare(
  noWaiting(512),
  {
    caller: share(16, 'You are already downloading', askAgain),
    brokerage: share(160, 'People at this brokerage are already downloading', askAgain),
    sandboxes: share(64, 'Test keys are already downloading', askAgain),
  },
  { retryAfter, busy: `Too many files are being downloaded at once. ${askAgain}` },
);

/**
 * Runs `work`, which reads the body of an upload, in a slot. Throws NoRoom of server/lib/fair-queue.ts immediately when
 * none is free.
 */
export const inUploadPlace = <T>(whose: TransferredFor, work: () => Promise<T>): Promise<T> =>
  uploads(partiesOf(whose), work);

/**
 * Takes a slot for a download until `ended`. Throws NoRoom of server/lib/fair-queue.ts immediately when none is free.
 */
export const takeDownloadPlace = (whose: TransferredFor, ended: Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    downloads(partiesOf(whose), () => {
      resolve();
      return ended;
    }).catch(reject);
  });
