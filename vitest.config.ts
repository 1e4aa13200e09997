import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A browser on a busy machine misses a deadline now and then; what is broken fails twice.
    retry: process.env['CI'] ? 1 : 0,
  },
});
