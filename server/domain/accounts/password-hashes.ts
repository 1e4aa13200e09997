/** Argon2id (RFC 9106) in the PHC string format, a few at a time in a fair queue: each one takes 19 MiB and about 40 ms of a core. */

import { argon2, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { queueByShare } from '../../lib/fair-queue.ts';

/**
 * Whom a hash is made for: the account (or the browser that it knows), and the address that asks, as
 * addressGroup of server/http groups them. Nobody where the command line asks.
 */
export interface HashedFor {
  readonly account?: string;
  readonly address?: string;
}

const derive = promisify(argon2);
const mostUseMillis = 2_000;
// The thread pool also serves files and look-ups: some of it stays free.
const atOnce = Math.max(1, Math.min(3, availableParallelism()));
const mayWait = 200;
/** Of one account, and of one address, that many wait or are under way at most. */
const queue = queueByShare(
  { atOnce, all: atOnce + mayWait },
  {
    account: { most: 10, busy: 'This account is being signed in to too often at once: try again in a moment.' },
    address: {
      most: 20,
      busy: 'Too many people are signing in from your network at once: try again in a moment.',
    },
  },
  { retryAfter: 2, busy: 'Too many people are signing in at this moment: try again in a moment.' },
);

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const recipePattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)$/;

/**
 * Returns what `use` makes of {@link hashByRecipe}. The next hash begins when that is done, so that what is counted of one
 * guess is known before the next, or after two seconds, so that a database that does not answer holds up nobody else.
 */
export async function usingHash<T>(
  password: string,
  recipe: string,
  who: HashedFor,
  use: (phc: string) => Promise<T>,
): Promise<T> {
  const [, memory, passes, parallelism, salt = ''] = recipePattern.exec(recipe) ?? [];
  if (!salt) throw new Error('not a recipe of argon2id');
  return queue(who, async (makeWay) => {
    const hash = await derive('argon2id', {
      message: Buffer.from(password.normalize('NFC')),
      nonce: Buffer.from(salt, 'base64'),
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      tagLength: 32,
    });
    const timer = setTimeout(makeWay, mostUseMillis);
    try {
      return await use(`${recipe}$${unpadded(hash)}`);
    } finally {
      clearTimeout(timer);
    }
  });
}

/**
 * The hash of a password by a recipe (parameters and salt), as the whole PHC string. The password is brought to NFC,
 * so that it is the same from every keyboard, and never cut. `who` is left out where no request asks for it. Throws
 * NoRoom of server/lib/fair-queue.ts in a flood.
 */
export function hashByRecipe(password: string, recipe: string, who: HashedFor = {}): Promise<string> {
  return usingHash(password, recipe, who, (phc) => Promise.resolve(phc));
}

/** The hash of a new password, with a fresh salt. Throws NoRoom of server/lib/fair-queue.ts in a flood. */
export function hashPassword(password: string, parameters: string, who: HashedFor = {}): Promise<string> {
  return hashByRecipe(password, `${parameters}$${unpadded(randomBytes(16))}`, who);
}

/** Whether a hash was made with other parameters than these, which new ones have. */
export function isOutdated(phc: string, parameters: string): boolean {
  return !phc.startsWith(`${parameters}$`);
}
