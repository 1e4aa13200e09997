/** One PostgreSQL for the whole run, with a migrated database to copy for each test file. */

import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { buildWeb, needsBuild } from '../server/cli/web-build.ts';
import { openTemplates, type Templates } from './templates.ts';

declare module 'vitest' {
  interface ProvidedContext extends Templates {}
}

function provide(project: TestProject, { owner, server, directory, templates, demo }: Templates): void {
  project.provide('owner', owner);
  project.provide('server', server);
  project.provide('directory', directory);
  project.provide('templates', templates);
  project.provide('demo', demo);
}

export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (needsBuild()) await buildWeb(new AbortController().signal);
  // `npm run mutate` has a PostgreSQL running already, with something broken in it, and says here how to reach it.
  const open = process.env['DEALKEEP_TEST_TEMPLATES'];
  if (open) {
    provide(project, JSON.parse(await readFile(open, 'utf8')) as Templates);
    return undefined;
  }
  const templates = await openTemplates();
  provide(project, templates);
  return () => templates.close();
}
