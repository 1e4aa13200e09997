/** Retries of failed tests, which find what the failed attempt left behind. */

import { beforeEach, TestRunner } from 'vitest';

/** Whether the current test is a retry. */
export const isTriedAgain = (): boolean => (TestRunner.getCurrentTest()?.result?.retryCount ?? 0) > 0;

/** Renews the shared fixture of a file's tests before each test that is retried. */
export function renewForAnotherTry(renew: () => Promise<void>): void {
  beforeEach(async () => {
    if (isTriedAgain()) await renew();
  });
}
