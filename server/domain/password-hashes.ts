/** Argon2id (RFC 9106) in the PHC string format, a few at a time: each one takes 19 MiB and about 40 ms of a core. */

import { argon2, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

/** The parameters of new hashes: those that OWASP recommends. Stored hashes keep theirs until the next sign-in. */
export const currentParameters = '$argon2id$v=19$m=19456,t=2,p=1';

/** So many hashes wait already that one more would not be answered in time. */
export class TooManyHashes extends Error {
  override readonly name = 'TooManyHashes';
}

const derive = promisify(argon2);
// The thread pool also serves files and look-ups: some of it stays free.
const atOnce = Math.max(1, Math.min(3, availableParallelism()));
const mayWait = 200;

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= atOnce) {
    if (waiting.length >= mayWait) throw new TooManyHashes('Too many people are signing in at this moment.');
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else {
    running += 1;
  }
  try {
    return await work();
  } finally {
    // The place goes straight to the next in line.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const recipePattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)$/;

/**
 * The hash of a password by a recipe (parameters and salt), as the whole PHC string. The password is brought to NFC,
 * so that it is the same from every keyboard, and never cut. Throws {@link TooManyHashes} in a flood.
 */
export async function hashByRecipe(password: string, recipe: string): Promise<string> {
  const [, memory, passes, parallelism, salt = ''] = recipePattern.exec(recipe) ?? [];
  if (!salt) throw new Error('not a recipe of argon2id');
  const hash = await inTurn(() =>
    derive('argon2id', {
      message: Buffer.from(password.normalize('NFC')),
      nonce: Buffer.from(salt, 'base64'),
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      tagLength: 32,
    }),
  );
  return `${recipe}$${unpadded(hash)}`;
}

/** The hash of a new password, with a fresh salt. Throws {@link TooManyHashes} in a flood. */
export function hashPassword(password: string): Promise<string> {
  return hashByRecipe(password, `${currentParameters}$${unpadded(randomBytes(16))}`);
}

/** Whether a hash was made with other parameters than new ones are. */
export function isOutdated(phc: string): boolean {
  return !phc.startsWith(`${currentParameters}$`);
}
