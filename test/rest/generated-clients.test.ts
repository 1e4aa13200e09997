/**
 * Clients that third-party generators make from the OpenAPI document compile in strict mode, and do what integrators
 * do. The generators are not part of a checkout: the first run installs them (115 MB), and without a network the tests
 * say so and are skipped.
 */

import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checks, type CheckSetup } from '../../clients/check/checks.ts';
import { installGenerators } from '../../clients/check/generators.ts';
import { publishChanges } from '../../server/domain/events/changes.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage } from './scene.ts';

const root = path.join(import.meta.dirname, '../..');

let service: TestService;
let publishing: NodeJS.Timeout;
let fault: string | undefined;
let setup: CheckSetup;
beforeAll(async () => {
  const installed = await installGenerators(path.join(root, 'node_modules/.cache/clients'));
  if ('fault' in installed) {
    ({ fault } = installed);
    return;
  }
  // A directory for this run, in which the installed packages can be resolved.
  const directory = await mkdtemp(path.join(installed.directory, 'run-'));
  await symlink('../node_modules', path.join(directory, 'node_modules'), 'junction');
  setup = {
    directory,
    root,
    compiler: path.join(root, 'node_modules/.bin/tsc'),
    url: '',
    key: '',
    document: '',
    port: 0,
  };
  service = await openService();
  publishing = setInterval(() => void service.database.run(publishChanges()).catch(() => {}), 300);
  const tenant = await brokerage(service);
  const { token } = await tenant.key({ scopes: ['contacts:read', 'contacts:write', 'events:read'] });
  const ask = as({ token }, service.restUrl);
  for (let nth = 0; nth < 12; nth += 1) await ask('POST', '/contacts', { type: 'person', displayName: `No. ${nth}` });
  const document = await (await fetch(`${service.restUrl}/openapi.json`)).text();
  await writeFile(path.join(directory, 'openapi.json'), document);
  setup = { ...setup, url: service.origin, key: token, document };
});
afterAll(async () => {
  clearInterval(publishing);
  await service?.close();
  if (setup) await rm(setup.directory, { recursive: true, force: true });
});

test.for(['openapi-typescript', 'hey-api', 'orval'])(
  'a client that %s makes compiles strictly, lists all, creates, repeats, narrows an error and follows events',
  { timeout: 300_000 },
  async (name, { skip }) => {
    if (fault !== undefined) skip(fault);
    expect(await checks[name]!(setup)).toMatch(/^compiled strictly; listed \d+, created, repeated, narrowed an error/);
  },
);
