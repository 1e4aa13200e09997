/** The test files that reach a mutant, run by Vitest on templates to which the mutant was applied. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createVitest, type CliOptions, type TestModule, type Vitest } from 'vitest/node';
import { connect } from '../policies/scene.ts';
import type { Templates } from '../templates.ts';
import { readCalls } from './called.ts';
import type { Mutant } from './mutants.ts';

/**
 * Folders of the tests that run against mutants that pass the policy checks. Browser tests are left out: they detect
 * nothing more, and are slow.
 */
export const folders: readonly string[] = [
  'rules',
  'policies',
  'tools',
  'rest',
  'oauth',
  'auth',
  'web',
  'documents',
  'walk',
];
const inBrowser = /browser|page|shell|screenshots|whole-sale|closing-and-home|independent-client|same-rows|isolation/;

interface Known {
  readonly file: string;
  readonly seconds: number;
  readonly functions: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
}

export interface Suite {
  /** Number of test files that can be run. */
  readonly files: number;
  /** The first test that fails, or null, and the number of test files that reach the mutant. */
  try(mutant: Mutant): Promise<{ by: string | null; files: number }>;
  close(): Promise<void>;
}

function failures(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) => {
    const name = path.basename(module.moduleId);
    const tests = [...module.children.allTests('failed')].map((test) => `${name}: ${test.fullName}`);
    // A hook may have failed, or the test file may not have loaded.
    return tests.length > 0 || module.ok() ? tests : [`${name}: ${module.errors()[0]?.message ?? 'a hook'}`];
  });
}

/** Runs every test file once without a mutant, to check that they pass and to record what each reaches. */
export async function openSuite(
  templates: Templates,
  chosenFolders: readonly string[],
  say: (line: string) => void,
): Promise<Suite> {
  const root = path.join(import.meta.dirname, '../..');
  const reach = path.join(templates.directory, 'templates.json');
  const notes = path.join(templates.directory, 'called.jsonl');
  await writeFile(reach, JSON.stringify(templates), { mode: 0o600 });
  process.env['DEALKEEP_TEST_TEMPLATES'] = reach;
  process.env['DEALKEEP_TEST_CALLED'] = notes;
  const options: CliOptions = { root, run: true, watch: false, reporters: [{}], silent: true };

  const first: Vitest = await createVitest('test', { ...options, bail: 0 });
  const specifications = (await first.globTestSpecifications(chosenFolders.map((folder) => `test/${folder}/`))).filter(
    ({ moduleId }) => !inBrowser.test(path.basename(moduleId)),
  );
  say(`Running ${specifications.length} test files with nothing broken.`);
  await writeFile(notes, '');
  const { testModules } = await first.runTestSpecifications(specifications);
  const failed = failures(testModules);
  await first.close();
  if (failed.length > 0) throw new Error(`Tests fail before anything is broken:\n${failed.join('\n')}`);
  const calls = await readCalls(notes);
  const known: Known[] = testModules
    .map((module) => ({
      file: module.moduleId,
      seconds: module.diagnostic().duration / 1000,
      functions: calls.get(module.moduleId)?.functions ?? new Set<string>(),
      tables: calls.get(module.moduleId)?.tables ?? new Set<string>(),
    }))
    .filter(({ functions }) => functions.size > 0);
  delete process.env['DEALKEEP_TEST_CALLED'];

  const vitest = await createVitest('test', { ...options, bail: 1 });
  await vitest.globTestSpecifications(chosenFolders.map((folder) => `test/${folder}/`));
  const administration = await connect({ ...templates.owner, database: 'dealkeep' });

  async function everyTemplate(sql: string): Promise<void> {
    for (const database of Object.values(templates.templates)) {
      const client = await connect({ ...templates.owner, database });
      await client.query(sql).finally(() => client.end());
    }
  }

  async function clearAway(): Promise<void> {
    const { rows } = await administration.query<{ name: string }>(
      `select datname as name from pg_database where datname like 'service_%'`,
    );
    // A database that is still in use is dropped the next time.
    for (const { name } of rows) await administration.query(`drop database ${name}`).catch(() => {});
  }

  return {
    files: known.length,
    async try(mutant) {
      const reaching = known
        .filter(({ functions, tables }) =>
          mutant.function === null
            ? mutant.tables.some((table) => tables.has(table))
            : functions.has(mutant.function) && (mutant.kind !== 'triggers' || tables.has(mutant.tables[0]!)),
        )
        // Fast test files that reach few functions come first.
        .toSorted((a, b) => a.seconds * a.functions.size - b.seconds * b.functions.size);
      if (reaching.length === 0) return { by: null, files: 0 };
      await everyTemplate(mutant.apply);
      try {
        const chosen = reaching.flatMap(({ file }) => vitest.getModuleSpecifications(file));
        const result = await vitest.runTestSpecifications(chosen);
        return { by: failures(result.testModules)[0] ?? null, files: chosen.length };
      } finally {
        await clearAway();
        await everyTemplate(mutant.revert);
      }
    },
    async close() {
      await vitest.close();
      await administration.end();
    },
  };
}
