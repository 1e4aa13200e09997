/** What a drill is. */

export interface Drill {
  /** What the drill does, for its first line of output. */
  readonly title: string;
  /** Programs that must be in PATH. */
  readonly needs: readonly string[];
  /** A sentence when anything else that the drill needs is missing on this machine; null otherwise. */
  missing?(): string | null;
  /**
   * Runs the drill in an empty directory of its own and ends every process that it started; returns whether the
   * expectation held.
   */
  run(directory: string, say: (line: string) => void): Promise<boolean>;
}
