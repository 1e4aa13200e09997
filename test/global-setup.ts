/** One PostgreSQL for the whole run, with migrated databases for each test file to copy. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { buildWeb, needsBuild } from '../server/cli/web-build.ts';
import { chromiumProgram } from './chromium.ts';
import { compiledProgram } from './runtime/compiled.ts';
import { openTemplates, type Templates } from './templates.ts';
import { keepInMemory } from './temporary.ts';

declare module 'vitest' {
  interface ProvidedContext extends Templates {}
}

function provide(project: TestProject, { owner, server, directory, templates, demo, scene }: Templates): void {
  project.provide('owner', owner);
  project.provide('server', server);
  project.provide('directory', directory);
  project.provide('templates', templates);
  project.provide('demo', demo);
  project.provide('scene', scene);
}

export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const texts = project.vitest.state.getPaths().map((file) => readFileSync(file, 'utf8'));
  const isImported = (name: string) => texts.some((text) => new RegExp(`from '[^']*/${name}'`).test(text));
  keepInMemory();
  const built = Promise.all([
    isImported('browser.ts') && chromiumProgram(),
    needsBuild() && buildWeb(new AbortController().signal),
    isImported('program.ts') && compiledProgram().then((folder) => (process.env['DEALKEEP_TEST_PROGRAM'] = folder)),
  ]);
  // `npm run mutate` has started a PostgreSQL already, with a mutant applied, and passes its connection settings in
  // this file.
  const open = process.env['DEALKEEP_TEST_TEMPLATES'];
  if (open) {
    provide(project, JSON.parse(await readFile(open, 'utf8')) as Templates);
    await built;
    return undefined;
  }
  // Concurrently: each takes one processor for some seconds.
  const [build, opening] = await Promise.allSettled([built, openTemplates()]);
  if (opening.status === 'rejected') throw opening.reason;
  const templates = opening.value;
  if (build.status === 'rejected') {
    await templates.close();
    throw build.reason;
  }
  provide(project, templates);
  process.env['DEALKEEP_TEST_DIRECTORY'] = templates.directory;
  return () => templates.close();
}
