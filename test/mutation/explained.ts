/** Mutants that no test can fail, and why: what they take away is held elsewhere as well, or opens nothing. */

export interface Explanation {
  /** Mutants whose names match. */
  readonly mutants: RegExp;
  readonly why: string;
}

export const explained: readonly Explanation[] = [];
