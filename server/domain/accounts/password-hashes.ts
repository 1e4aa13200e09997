/**
 * Argon2id (RFC 9106) in the PHC string format, a few at a time in a fair queue: each hash takes 19 MiB and about 40 ms
 * of a core.
 */

import { argon2, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { queueByShare } from '../../lib/fair-queue.ts';

/**
 * The parties for whom a hash is computed: the account (or a browser known to it), and the requesting address as
 * grouped by addressGroup of server/http. Empty for the command line.
 */
export interface HashedFor {
  readonly account?: string;
  readonly address?: string;
}

const derive = promisify(argon2);
const mostUseMillis = 2_000;
// Leaves threads of the pool free, which also serves files and DNS look-ups.
const atOnce = Math.max(1, Math.min(3, availableParallelism()));
const mayWait = 200;
/** At most `most` hashes of one account, and of one address, are queued or running. */
const queue = queueByShare(
  { atOnce, all: atOnce + mayWait },
  {
    account: { most: 10, busy: 'There are too many sign-ins to this account at once: try again shortly.' },
    address: {
      most: 20,
      busy: 'Too many people are signing in from your network at once: try again shortly.',
    },
  },
  { retryAfter: 2, busy: 'Too many people are signing in at once: try again shortly.' },
);

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const recipePattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)$/;

/**
 * Returns the result of `use`, called with the hash as by {@link hashByRecipe}. The next hash starts when `use` has
 * ended, so that one guess is counted before the next, or after two seconds, so that an unresponsive database does not
 * delay others.
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
 * Returns the hash of a password with a recipe (parameters and salt), as the whole PHC string. The password is
 * normalized to NFC, so that it is the same from every keyboard, and never truncated. `who` is omitted when no request
 * asks for the hash. Throws NoRoom of server/lib/fair-queue.ts when the queue is full.
 */
export function hashByRecipe(password: string, recipe: string, who: HashedFor = {}): Promise<string> {
  return usingHash(password, recipe, who, (phc) => Promise.resolve(phc));
}

/**
 * Returns the hash of a new password, with a fresh salt. Throws NoRoom of server/lib/fair-queue.ts when the queue is
 * full.
 */
export function hashPassword(password: string, parameters: string, who: HashedFor = {}): Promise<string> {
  return hashByRecipe(password, `${parameters}$${unpadded(randomBytes(16))}`, who);
}

/** Whether a hash was made with parameters other than those of new hashes. */
export function isOutdated(phc: string, parameters: string): boolean {
  return !phc.startsWith(`${parameters}$`);
}
