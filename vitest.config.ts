import { globSync, readFileSync, statSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const all = ['test/**/*.test.ts'];

/** A browser, a process of the program, of PostgreSQL or of generators, or time that has to pass: what makes a test file slow. */
const slow =
  /from '[^']*\/(?:browser|generators|program|processes|templates|embedded)\.ts'|'node:child_process'|\bsetTimeout\b/;

/**
 * These ask the database for everybody and every record, or every door for everybody, over and over, open hundreds of streams, empty a sandbox
 * or compare books again and again, do much at once, or try each way in which a message or a subscription can be wrong.
 */
const long =
  /\/(?:policies\/(?:keys|lists|narrowing|notified)|books\/(?:caches|contradictions|kept|who-sees)|tools\/messages|web\/(?:events|exclusivity-at-once)|rest\/(?:contact-list|sandbox|webhooks-managed))\.test\.ts$/;

/** What `npm run test:fast` runs: what each may see and do through every interface and what is computed of books, without the slow files. */
function fastFiles(): string[] {
  const files = globSync('test/{books,policies,rules,rest,tools,web}/*.test.ts');
  return files.filter((file) => !long.test(file) && !slow.test(readFileSync(file, 'utf8')));
}

/** What takes longest of all, where the tests stand beside the file, or ask for much and wait. */
const longest =
  /\/(?:isolation\/two-worlds|web\/same-rows|web\/deal-pages|web\/settings-pages|http\/(?:headers|csrf)|tools\/faults|runtime\/(?:backup|life-cycle|own-database|database-faults|command-line|proxies)|policies\/(?:lists|keys|visibility|triggers)|documents\/memory)\.test\.ts$/;

/** The longest files begin first, then the slow ones, the larger before the smaller: none of them runs on alone at the end. */
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
    // Twice as many as two processors carry out at once: a test often waits for a page, a process or a time.
    maxWorkers: 4,
    // Reading the modules of the server anew for each file would take longer than most of the tests.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    // Generous: on a busy machine a test that is slow is no finding.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // On a busy machine a page hears of a change later than in the second that is usual.
    expect: { poll: { timeout: 45_000 } },
    // A browser on a busy machine misses a deadline now and then; what is broken fails twice.
    retry: process.env['CI'] ? 1 : 0,
  },
}));
