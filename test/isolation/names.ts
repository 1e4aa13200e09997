/** Random numbers, ids, times and secrets derived from a name or a seed, the same in every world. */

import { createHash } from 'node:crypto';

/** The time at which the worlds start; everything in them is older. */
export const beginning = new Date('2026-09-01T12:00:00.000Z');

/** Returns a generator of numbers from 0 to 1 derived from a seed. */
export function randomFrom(seed: string): () => number {
  let at = 0;
  return () =>
    createHash('sha256')
      .update(`${seed}/${(at += 1)}`)
      .digest()
      .readUInt32BE(0) /
    2 ** 32;
}
/** Picks one of these at random. */
export const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

const idsOfNames = new Map<string, string>();

/** The id derived from a name. */
export function idOf(name: string): string {
  const known = idsOfNames.get(name);
  if (known !== undefined) return known;
  const hex = createHash('sha256').update(name).digest('hex');
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  idsOfNames.set(name, id);
  return id;
}

/** A time in the three months before `beginning`, derived from a name and different for each. */
export const momentOf = (name: string) =>
  new Date(beginning.getTime() - 86_400_000 - (createHash('sha256').update(name).digest().readUIntBE(0, 6) % 7e9));

/** The secrets of a caller, derived from the caller's name and so the same in every world. */
export const secretsOf = (caller: string) => {
  const random = (what: string) => createHash('sha256').update(`${what} of ${caller}`).digest();
  return {
    session: random('session').toString('base64url'),
    access: `dka_${random('access').toString('base64url')}`,
    key: `dk_test_${random('key').toString('hex').slice(0, 32)}`,
  };
};
