/** What a drill is. */

export interface Drill {
  /** What is done, for its first line. */
  readonly title: string;
  /** Programs that it needs in PATH. */
  readonly needs: readonly string[];
  /** A sentence when something else that it needs is missing here. */
  missing?(): string | null;
  /** Runs it in an empty directory of its own and ends what it started; whether what it is to show held. */
  run(directory: string, say: (line: string) => void): Promise<boolean>;
}
