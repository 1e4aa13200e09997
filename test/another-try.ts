/** A test that failed and is tried again, which finds what the try before has left. */

import { beforeEach, TestRunner } from 'vitest';

/** Whether the test that runs failed before. */
export const isTriedAgain = (): boolean => (TestRunner.getCurrentTest()?.result?.retryCount ?? 0) > 0;

/** Sets up anew, for each test of the file that is tried again, what its tests have in common. */
export function renewForAnotherTry(renew: () => Promise<void>): void {
  beforeEach(async () => {
    if (isTriedAgain()) await renew();
  });
}
