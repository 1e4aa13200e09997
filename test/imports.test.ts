/**
 * The rules about which module may import which, and about computing without floats, tried on files that break them.
 */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '..');
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-imports-'));
  for (const file of ['oxlint.config.ts', 'oxlint.exact.js', 'oxlint.imports.js'])
    await cp(path.join(root, file), path.join(directory, file));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
  await writeFile(path.join(directory, file), text);
}

/** The rules that each file breaks, by path. */
async function lint(): Promise<Record<string, string[]>> {
  const bin = path.join(root, 'node_modules/.bin/oxlint');
  const told = await new Promise<string>((resolve) =>
    execFile(bin, ['--format', 'json'], { cwd: directory }, (_failed, stdout) => resolve(stdout)),
  );
  const { diagnostics } = JSON.parse(told) as { diagnostics: { code: string; filename: string }[] };
  const broken: Record<string, string[]> = {};
  for (const { code, filename } of diagnostics) (broken[filename] ??= []).push(code);
  return broken;
}

const interfaces = ['rest', 'oauth', 'tools', 'auth', 'web'];
const others = (name: string) => interfaces.filter((one) => one !== name).map((one) => `../${one}/routes.ts`);

/** The imports that are forbidden, by file. */
const forbidden: Readonly<Record<string, readonly string[]>> = {
  'server/database/probe.ts': [
    '../domain/visibility/require-visible.ts',
    '../http/origin.ts',
    '../storage/open.ts',
    '../services.ts',
    '../app.ts',
    '../telemetry/metrics.ts',
    '../redis/connection.ts',
    '../background/notifier.ts',
    '../backup/make.ts',
    '../export/brokerage.ts',
    'hono',
  ],
  'server/domain/deals/probe.ts': [
    '../../http/origin.ts',
    '../../services.ts',
    '../../storage/open.ts',
    '../../rest/routes.ts',
    '../../../server/tools/routes.ts',
    '../../cli/run.ts',
    '../../backup/make.ts',
    '../../export/brokerage.ts',
    '../../telemetry/metrics.ts',
    '../../background/notifier.ts',
    '../../contract.ts',
    '../../../test/harness.ts',
    '../../../bench/median.ts',
    '../../../drill/day.ts',
    '../../../database/demo/load.ts',
    '../../../web/src/paths.ts',
    '@hono/node-server',
    '@modelcontextprotocol/server',
  ],
  'server/config/config.ts': [
    '../domain/accounts/password-hashes.ts',
    '../services.ts',
    '../backup/encryption.ts',
    '../../test/harness.ts',
  ],
  'server/lib/probe.ts': ['../config/config.ts', '../database/database.ts', '../services.ts', 'hono'],
  'server/background/probe.ts': ['../mail/delivery.ts', '../webhooks/delivery.ts', '../http/origin.ts'],
  'server/telemetry/probe.ts': ['../http/limits.ts'],
  'server/storage/probe.ts': [
    '../database/database.ts',
    '../domain/visibility/require-visible.ts',
    '../http/origin.ts',
  ],
  'server/documents/probe.ts': ['../http/origin.ts', '../web/routes.ts', 'hono'],
  'server/http/probe.ts': [...others(''), '../cli/run.ts', '../app.ts', '../interfaces.ts'],
  ...Object.fromEntries(
    interfaces.map((name) => [`server/${name}/probe.ts`, [...others(name), '../cli/run.ts', '../app.ts']]),
  ),
  'server/rest/deals/probe.ts': [
    '../../background.ts',
    '../../contract.ts',
    '../../../test/harness.ts',
    '../../../database/demo/load.ts',
  ],
  'server/cli/probe.ts': [...others(''), '../../test/harness.ts'],
  'server/unheard-of/probe.ts': ['../database/database.ts'],
  'web/src/lib/probe.ts': [
    '../../../server/domain/visibility/require-visible.ts',
    '../../../server/web/routes.ts',
    '../../../server/contract.ts',
    '../../../server/lib/csv.ts',
    '../../../server/export/zip.ts',
    '../../../server/backup/names.ts',
    '../../../bench/median.ts',
    '../../../database/demo/load.ts',
    '../../../test/harness.ts',
  ],
};

/** The imports that are allowed, by file. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'server/app.ts': ['./interfaces.ts', './http/origin.ts'],
  'server/database/fine.ts': ['../config/config.ts', './statement.ts', 'pg'],
  'server/domain/deals/fine.ts': ['../../database/statement.ts', '../documents/rows.ts', 'zod'],
  'server/http/fine.ts': ['../domain/visibility/require-visible.ts', '../database/errors.ts', '../services.ts', 'hono'],
  'server/tools/catalog/fine.ts': [
    '../../http/origin.ts',
    '../define.ts',
    '../../domain/visibility/require-visible.ts',
    '../../lib/log.ts',
  ],
  'server/cli/fine.ts': ['../app.ts', '../http/links.ts', '../../database/demo/load.ts'],
  'server/http/links-fine.ts': ['../../web/src/paths.ts'],
  'web/src/lib/fine.ts': ['../api/web/tools.ts', 'react'],
};

const importing = (modules: readonly string[]) =>
  modules.map((name, index) => `import { v${index} } from '${name}';\n`).join('') +
  `export const all = [${modules.map((_, index) => `v${index}`).join(', ')}];\n`;
const importingTypes = (modules: readonly string[]) =>
  modules.map((name, index) => `export type { V${index} } from '${name}';\n`).join('');

test('the linter rejects imports against the direction of the layers in every folder, also of types', async () => {
  for (const [file, modules] of Object.entries(forbidden)) await write(file, importing(modules));
  for (const [file, modules] of Object.entries(forbidden))
    if (!file.startsWith('web/')) await write(file.replace('probe', 'types'), importingTypes(modules));
  for (const [file, modules] of Object.entries(allowed)) await write(file, importing(modules));
  await write('web/src/lib/types.ts', importingTypes(['../../../server/contract.ts']));
  await write('web/src/lib/more.ts', importingTypes(['../../../server/web/routes.ts']));
  await write('server/domain/deals/one.ts', `import type { Two } from './two.ts';\nexport type One = Two | null;\n`);
  await write('server/domain/deals/two.ts', `import type { One } from './one.ts';\nexport type Two = One | 2;\n`);

  await write(
    'server/domain/deals/inline.ts',
    `export type One = import('../../web/routes.ts').One;\nexport const later = () => import('../../web/routes.ts');\nexport * from '../../web/routes.ts';\n`,
  );

  const refused = (count: number) => Array<string>(count).fill('imports(direction)');
  const expected: Record<string, string[]> = {
    'server/domain/deals/one.ts': ['import(no-cycle)'],
    'server/domain/deals/two.ts': ['import(no-cycle)'],
    'server/domain/deals/inline.ts': refused(3),
    'web/src/lib/more.ts': refused(1),
  };
  for (const [file, { length }] of Object.entries(forbidden)) {
    expected[file] = refused(length);
    if (!file.startsWith('web/')) expected[file.replace('probe', 'types')] = refused(length);
  }
  expect(await lint()).toEqual(expected);
});

test('the linter rejects floats where money is computed', async () => {
  const floats = [
    "Number('1.5')",
    "Number.parseFloat('1.5')",
    "parseFloat('1.5')",
    "parseInt('15', 10)",
    'Math.round(two)',
    "+'1.5'",
    'two.toFixed(2)',
    '0.5',
    'two * two',
    'two / two',
    'two % two',
    'two ** two',
  ];
  const exact = ['3n * BigInt(two)', '10n ** 2n', 'two + two', '-two', '2', "BigInt('15')"];
  const lines = (its: readonly string[]) =>
    `export const two = 2;\n${its.map((code, place) => `export const v${place} = ${code};\n`).join('')}`;
  const changed = ['*=', '/=', '%=', '**='].map((operator) => `  all ${operator} two;\n`).join('');
  for (const folder of ['diligence', 'offers']) {
    await write(`server/domain/${folder}/floats.ts`, lines(floats));
    await write(
      `server/domain/${folder}/changed.ts`,
      `export function change(all: number, two: number): number {\n${changed}  return all;\n}\n`,
    );
    await write(`server/domain/${folder}/exact.ts`, lines(exact));
  }
  await write('server/domain/deals/elsewhere.ts', lines(floats));
  const told = Object.entries(await lint()).map(([file, codes]) => [
    file,
    codes.filter((code) => code === 'exact(no-float)').length,
  ]);
  expect(Object.fromEntries(told.filter(([, count]) => count !== 0))).toEqual({
    'server/domain/diligence/floats.ts': floats.length,
    'server/domain/diligence/changed.ts': 4,
    'server/domain/offers/floats.ts': floats.length,
    'server/domain/offers/changed.ts': 4,
  });
});
