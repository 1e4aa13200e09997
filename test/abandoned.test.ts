/** What is left of killed test runs is removed, and nothing that another run may be using. */

import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clearAbandoned, prefix } from './abandoned.ts';

/** Makes the directory of a run that began this many hours ago and was killed before it took its lock. */
function directoryOf(hoursAgo: number): string {
  const directory = mkdtempSync(path.join(os.tmpdir(), prefix));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(path.join(directory, 'left'), 'something');
  const then = new Date(Date.now() - hoursAgo * 3_600_000);
  utimesSync(directory, then, then);
  return directory;
}

test('a directory without a lock is removed after a day', async () => {
  const [old, recent] = [directoryOf(25), directoryOf(23)];
  await clearAbandoned();
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true]);
});
