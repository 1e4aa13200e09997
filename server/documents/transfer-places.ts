/** How many files a process takes and sends at once: each is held open for as long as the other side takes, which may be hours. */

import { queueByShare } from '../lib/fair-queue.ts';

/** Whose file is sent or taken. */
export interface TransferredFor {
  /** The person or the API key. */
  readonly caller: string;
  /** Whose deal it is. */
  readonly brokerage: string;
  /** Whether the brokerage is the sandbox of another, which has places of its own. */
  readonly isSandbox?: boolean;
}

// Nobody waits for a place: it may take hours until one is free.
const noWaiting = (atOnce: number) => ({ atOnce, all: atOnce });
const retryAfter = 10;

/** A party has at most so many places, and is told that it has them already. */
const share = (most: number, who: string, again: string) => ({ most, busy: `${who} ${most} files already. ${again}` });

const partiesOf = ({ caller, brokerage, isSandbox = false }: TransferredFor) => ({
  caller,
  brokerage,
  ...(isSandbox && { sandboxes: 'all' }),
});

const sendAgain = 'Nothing of this file was read: send it again when one of them has ended.';
/** For a store of objects each takes some 17 MB, a part of 5 MB with what is copied and not collected yet. Two that flood leave a place to others, and the pages send three files at once. */
const uploads = queueByShare(
  noWaiting(12),
  {
    caller: share(4, 'You are sending', sendAgain),
    brokerage: share(6, 'Your brokerage is sending', sendAgain),
    sandboxes: share(3, 'Test keys are sending', sendAgain),
  },
  { retryAfter, busy: `Too many files are being sent at this moment. ${sendAgain}` },
);

const askAgain = 'Ask for this one again when one of them has arrived.';
/** Each holds a file or a connection to the store, and what is read ahead. Three brokerages that flood leave places to others. */
const downloads = queueByShare(
  noWaiting(512),
  {
    caller: share(16, 'You are downloading', askAgain),
    brokerage: share(160, 'People of this brokerage are downloading', askAgain),
    sandboxes: share(64, 'Test keys are downloading', askAgain),
  },
  { retryAfter, busy: `Too many files are being downloaded at this moment. ${askAgain}` },
);

/** Does `work`, which reads the body of an upload, at a place for it. Throws NoRoom of server/lib/fair-queue.ts at once where there is none. */
export const inUploadPlace = <T>(whose: TransferredFor, work: () => Promise<T>): Promise<T> =>
  uploads(partiesOf(whose), work);

/** Takes a place for a download until `ended`. Throws NoRoom of server/lib/fair-queue.ts at once where there is none. */
export const takeDownloadPlace = (whose: TransferredFor, ended: Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    downloads(partiesOf(whose), () => {
      resolve();
      return ended;
    }).catch(reject);
  });
