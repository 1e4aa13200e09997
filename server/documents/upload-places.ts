/** How many uploads a process takes at once: each holds parts of its file in memory for as long as its sender takes, which may be hours. */

import { fairQueue, NoRoom, type Party } from '../fair-queue.ts';

/** Altogether; for a store of objects each takes some 17 MB, a part of 5 MB with what is copied and not collected yet. */
const atOnce = 12;
/** Of each party: two that flood leave a place to others, and the pages send three files at once. */
const shares = { sender: 4, brokerage: 6, sandboxes: 3 } as const;

/** Whose upload it is. */
export interface UploadedFor {
  /** The person or the API key. */
  readonly sender: string;
  /** Whose deal it is. */
  readonly brokerage: string;
  /** Whether the brokerage is the sandbox of another, which has places of its own. */
  readonly isSandbox?: boolean;
}

interface UploadParty extends Party {
  readonly kind: keyof typeof shares;
}

const party = (kind: keyof typeof shares, of: string): UploadParty => ({
  kind,
  name: `${kind} ${of}`,
  most: shares[kind],
});

const againSeconds = 10;
const again = 'Nothing of this file was read: send it again when one of them has ended.';
const busy = {
  sender: `You are sending ${shares.sender} files already. ${again}`,
  brokerage: `Your brokerage is sending ${shares.brokerage} files already. ${again}`,
  sandboxes: `Test keys are sending ${shares.sandboxes} files already. ${again}`,
  all: `Too many files are being sent at this moment. ${again}`,
} as const;

// Nobody waits for a place: it may take hours until one is free.
const places = fairQueue<UploadParty>(
  { atOnce, all: atOnce },
  (of) => new NoRoom(of ? 'own' : 'all', againSeconds, busy[of?.kind ?? 'all']),
);

/** Does `work`, which reads the body of an upload, at a place for it. Throws {@link NoRoom} at once where there is none. */
export const inUploadPlace = <T>(
  { sender, brokerage, isSandbox = false }: UploadedFor,
  work: () => Promise<T>,
): Promise<T> =>
  places(
    [party('sender', sender), party('brokerage', brokerage), ...(isSandbox ? [party('sandboxes', 'of all')] : [])],
    work,
  );
