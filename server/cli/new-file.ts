/** Files named by the options of commands. */

import { existsSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** An option cannot be used; the message says what to change. */
export class UnusableOption extends Error {
  override readonly name = 'UnusableOption';
}

/** The system's error code, such as ENOENT, of a file that cannot be used. */
export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

/** Throws if the file exists, before work is done that would be lost. */
export function refuseExisting(file: string, option: string): void {
  if (existsSync(file)) throw new UnusableOption(`${option}: ${file} already exists.`);
}

/** Opens a new file that only this user can read. Rejects with {@link UnusableOption}. */
export async function openNew(file: string, option: string): Promise<FileHandle> {
  return open(file, 'wx', 0o600).catch((error: unknown) => {
    const code = codeOf(error);
    throw new UnusableOption(
      `${option}: ${file} ${code === 'EEXIST' ? 'already exists' : `cannot be written (${code})`}.`,
      { cause: error },
    );
  });
}
