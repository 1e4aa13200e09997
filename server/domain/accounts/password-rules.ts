/**
 * The rules for new passwords: long enough, and not among those that are guessed first (NIST SP 800-63B, section
 * 3.1.1).
 */

import { loadedOnce } from '../../lib/loaded-once.ts';

/** The minimum and maximum length of a password in code points. */
export const passwordLength = { least: 8, most: 4096 } as const;

// Twenty megabytes of words, loaded only when a password is chosen.
const passwordChecker = loadedOnce(async () => {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
});

/** Returns why a password is rejected, as a sentence for the user, or null. `about` is the user's name and address. */
export async function passwordFault(password: string, about: readonly string[]): Promise<string | null> {
  const { length } = [...password];
  if (length < passwordLength.least) return `Choose a password of at least ${passwordLength.least} characters.`;
  if (length > passwordLength.most) return `Choose a password of at most ${passwordLength.most} characters.`;
  const checker = await passwordChecker();
  const words = about.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]).filter((word) => word.length > 2);
  // Checking more takes longer and finds little.
  const beginning = [...password.normalize('NFC')].slice(0, 32).join('');
  // Fewer than a million guesses: on a list of common passwords, a pattern, or made of the user's own name.
  const { score } = checker.check(beginning, ['dealkeep', ...words]);
  return score < 2 ? 'This password is easy to guess or known from breaches: choose another one.' : null;
}
