/**
 * Clients that the generators of others make of the OpenAPI document compile strictly, and do what integrators do. The generators (with what they need 115 MB) are no part
 * of a checkout: `npm run clients -- --keep node_modules/.cache/clients` installs them, and this runs where that was done.
 */

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checks, type Ground } from '../../clients/check/checks.ts';
import { publishChanges } from '../../server/domain/events/changes.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage } from './scene.ts';

const root = path.join(import.meta.dirname, '../..');
const directory = path.join(root, 'node_modules/.cache/clients');
const generators = ['openapi-typescript', 'hey-api', 'orval'];
const isInstalled = existsSync(path.join(directory, 'node_modules/.bin/orval'));

let service: TestService;
let publishing: NodeJS.Timeout;
let ground: Ground;
beforeAll(async () => {
  if (!isInstalled) return;
  service = await openService();
  publishing = setInterval(() => void service.database.run(publishChanges()).catch(() => {}), 300);
  const tenant = await brokerage(service);
  const { token } = await tenant.key({ scopes: ['contacts:read', 'contacts:write', 'events:read'] });
  const ask = as({ token }, service.restUrl);
  for (let nth = 0; nth < 12; nth += 1) await ask('POST', '/contacts', { type: 'person', displayName: `No. ${nth}` });
  const document = await (await fetch(`${service.restUrl}/openapi.json`)).text();
  await writeFile(path.join(directory, 'openapi.json'), document);
  ground = { directory, root, url: service.origin, key: token, document, port: 0 };
});
afterAll(async () => {
  clearInterval(publishing);
  await service?.close();
});

test.runIf(isInstalled).each(generators)(
  'a client that %s makes compiles strictly, lists all, creates, repeats, narrows an error and follows events',
  { timeout: 300_000 },
  async (name) => {
    expect(await checks[name]!(ground)).toMatch(/^compiled strictly; listed \d+, created, repeated, narrowed an error/);
  },
);
