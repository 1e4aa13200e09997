/** Which passwords are accepted: long enough, and not among those that are guessed first (NIST SP 800-63B, section 3.1.1). */

import { loadedOnce } from '../../lib/loaded-once.ts';

/** The least and the most code points of a password. */
export const passwordLength = { least: 8, most: 4096 } as const;

// Twenty megabytes of words, needed only where a password is chosen.
const passwordChecker = loadedOnce(async () => {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
});

/** Why a password cannot be chosen, as a sentence for the person, or null. `about`: their name and address. */
export async function passwordFault(password: string, about: readonly string[]): Promise<string | null> {
  const { length } = [...password];
  if (length < passwordLength.least) return `Choose a password of at least ${passwordLength.least} characters.`;
  if (length > passwordLength.most) return `Choose a password of at most ${passwordLength.most} characters.`;
  const checker = await passwordChecker();
  const words = about.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]).filter((word) => word.length > 2);
  // Looking at more takes longer and finds little.
  const beginning = [...password.normalize('NFC')].slice(0, 32).join('');
  // Fewer than a million guesses: on a list of common passwords, a pattern, or made of the person's own name.
  const { score } = checker.check(beginning, ['dealkeep', ...words]);
  return score < 2 ? 'This password is easy to guess or known from breaches: choose another one.' : null;
}
