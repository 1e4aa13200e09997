/** What follows from a name or a seed, the same in every world: chance, ids, moments and secrets. */

import { createHash } from 'node:crypto';

/** When the worlds begin; everything in them was before. */
export const beginning = new Date('2026-09-01T12:00:00.000Z');

/** Numbers from 0 to 1 that follow from a seed. */
export function randomFrom(seed: string): () => number {
  let at = 0;
  return () =>
    createHash('sha256')
      .update(`${seed}/${(at += 1)}`)
      .digest()
      .readUInt32BE(0) /
    2 ** 32;
}
/** One of these, by chance. */
export const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

const idsOfNames = new Map<string, string>();

/** The id of what has this name. */
export function idOf(name: string): string {
  const known = idsOfNames.get(name);
  if (known !== undefined) return known;
  const hex = createHash('sha256').update(name).digest('hex');
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  idsOfNames.set(name, id);
  return id;
}

/** A moment of the months before the beginning, no two alike. */
export const momentOf = (name: string) =>
  new Date(beginning.getTime() - 86_400_000 - (createHash('sha256').update(name).digest().readUIntBE(0, 6) % 7e9));

/** The secrets of the callers: the same in every world, made once. */
export const secretsOf = (caller: string) => {
  const random = (what: string) => createHash('sha256').update(`${what} of ${caller}`).digest();
  return {
    session: random('session').toString('base64url'),
    access: `dka_${random('access').toString('base64url')}`,
    key: `dk_test_${random('key').toString('hex').slice(0, 32)}`,
  };
};
