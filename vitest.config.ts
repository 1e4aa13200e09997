import { globSync, readFileSync, statSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const all = ['test/**/*.test.ts'];

/**
 * Imports and calls that make a test file slow: a browser, a process of the program, PostgreSQL or generators, or a
 * real delay.
 */
const slow =
  /from '[^']*\/(?:browser|generators|program|processes|templates|embedded)\.ts'|'node:child_process'|\bsetTimeout\b/;

/**
 * Also slow: these test files query the database for every person and every record, send every request as every person,
 * open hundreds of streams, empty a sandbox, compare books repeatedly, run much concurrently, or try every invalid
 * message or subscription.
 */
const long =
  /\/(?:policies\/(?:keys|lists|narrowing|notified)|books\/(?:caches|contradictions|kept|who-sees)|tools\/messages|web\/(?:events|exclusivity-at-once)|rest\/(?:contact-list|sandbox|webhooks-managed))\.test\.ts$/;

/**
 * The files that `npm run test:fast` runs: what each person may see and do through every interface, and the figures
 * computed from books, without the slow files.
 */
function fastFiles(): string[] {
  const files = globSync('test/{books,policies,rules,rest,tools,web}/*.test.ts');
  return files.filter((file) => !long.test(file) && !slow.test(readFileSync(file, 'utf8')));
}

/** The slowest files of all, whose tests are in imported modules, or which do much work and wait. */
const longest =
  /\/(?:isolation\/two-worlds|web\/same-rows|web\/deal-pages|web\/settings-pages|http\/(?:headers|csrf)|tools\/faults|runtime\/(?:restore|damaged-backups|backup|life-cycle|own-database|database-faults|command-line|proxies)|policies\/(?:lists|keys|visibility|triggers)|documents\/memory)\.test\.ts$/;

/**
 * Starts the longest files first, then the slow ones, larger before smaller, so that none of them is left running alone
 * at the end.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kind = (file: string) =>
      longest.test(file) ? 3 : slow.test(readFileSync(file, 'utf8')) ? 2 : long.test(file) ? 1 : 0;
    const weight = ({ moduleId }: TestSpecification) => kind(moduleId) * 1_000_000 + statSync(moduleId).size;
    return files.toSorted((one, other) => weight(other) - weight(one));
  }
}

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'fast' ? fastFiles() : all,
    globalSetup: ['test/global-setup.ts'],
    pool: 'forks',
    // Twice the number of processors on a machine with two: a test often waits for a page, a process or a delay.
    maxWorkers: 4,
    // Loading the server's modules again for each file would take longer than most of the tests.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    // Generous: a test that is slow on a busy machine is no finding.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // On a busy machine a page receives a change later than after the usual second.
    expect: { poll: { timeout: 45_000 } },
    // A browser on a busy machine occasionally misses a deadline; a real defect fails twice.
    retry: process.env['CI'] ? 1 : 0,
  },
}));
