/** The URL that a command prints once it serves. */

import type { ChildProcess } from 'node:child_process';

/**
 * Resolves with the `url` of the line of JSON that `dealkeep serve --json` and `demo --json` print; rejects when the
 * process ends first.
 */
export async function printedUrl(child: ChildProcess, name: string): Promise<string> {
  let said = '';
  return new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const line = /^\{"url".*\}$/m.exec(said)?.[0];
      if (line) resolve((JSON.parse(line) as { url: string }).url);
    });
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}.`)));
  });
}
