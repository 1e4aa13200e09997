/** What `npm run clients` looks at: each check says in a few words what it did, and throws when something is not as it should be. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { environmentAt, npmEnvironment } from './environment.ts';

const run = promisify(execFile);

export interface CheckSetup {
  /** Where the packages are installed, with `openapi.json`. */
  readonly directory: string;
  /** The checkout. */
  readonly root: string;
  /** The program that compiles what was generated. */
  readonly compiler: string;
  /** The origin of the service. */
  readonly url: string;
  readonly key: string;
  /** The OpenAPI document, as text. */
  readonly document: string;
  /** One that nobody listens at. */
  readonly port: number;
}

export type Check = (setup: CheckSetup) => Promise<string>;

interface Found {
  readonly ruleId?: string;
  readonly code?: string | number;
  readonly message: string;
}

function none(found: readonly Found[]): string {
  if (found.length > 0)
    throw new Error(found.map(({ ruleId, code, message }) => `${ruleId ?? code}: ${message}`).join('\n'));
  return 'nothing found';
}

/** A service's description is nobody's to license. */
const withoutLicence = 'off';

async function redocly({ directory, document }: CheckSetup): Promise<string> {
  const require = createRequire(path.join(directory, 'package.json'));
  const file = require.resolve('@redocly/openapi-core');
  const { createConfig, lintFromString } = (await import(pathToFileURL(file).href)) as {
    createConfig: (config: object) => Promise<object>;
    lintFromString: (options: object) => Promise<Found[]>;
  };
  const config = await createConfig({ extends: ['recommended-strict'], rules: { 'info-license': withoutLicence } });
  return none(await lintFromString({ source: document, absoluteRef: '/openapi.json', config }));
}

async function spectral({ directory, document }: CheckSetup): Promise<string> {
  const require = createRequire(path.join(directory, 'package.json'));
  const { Spectral } = require('@stoplight/spectral-core') as {
    Spectral: new () => { setRuleset: (rules: object) => void; run: (document: unknown) => Promise<Found[]> };
  };
  const { oas } = require('@stoplight/spectral-rulesets') as { oas: object };
  const linter = new Spectral();
  linter.setRuleset({ extends: [oas] });
  return none(await linter.run(JSON.parse(document)));
}

const compilerOptions = {
  target: 'ES2022',
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  lib: ['ES2024', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  rewriteRelativeImportExtensions: true,
  outDir: 'out',
  rootDir: '.',
};

interface Did {
  readonly listed: number;
  readonly isSame: boolean;
  readonly narrowed: string;
  /** Whether the change that it made was among the events behind the cursor that it had asked for before. */
  readonly hasEvent: boolean;
}

/** Compiles the scenario of a client strictly, and has it done. */
async function use(name: string, { directory, compiler, url, key }: CheckSetup, scenario: string): Promise<string> {
  const folder = path.join(directory, name);
  await writeFile(path.join(folder, 'scenario.ts'), scenario);
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['**/*.ts'], exclude: ['out', 'node_modules'] }),
  );
  await run(compiler, ['-p', folder], { maxBuffer: 2 ** 26, env: environmentAt(folder) });
  const env = environmentAt(folder, { DEALKEEP_URL: url, DEALKEEP_KEY: key });
  const { stdout } = await run(process.execPath, [path.join(folder, 'out/scenario.js')], { env });
  const { listed, isSame, narrowed, hasEvent } = JSON.parse(stdout) as Did;
  if (listed < 10 || !isSame || narrowed !== 'email' || !hasEvent) throw new Error(`It came to ${stdout}`);
  return `compiled strictly; listed ${listed}, created, repeated, narrowed an error, followed events`;
}

async function fresh({ directory }: CheckSetup, name: string): Promise<string> {
  const folder = path.join(directory, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  return folder;
}

const tool = ({ directory }: CheckSetup, name: string): string => path.join(directory, 'node_modules/.bin', name);

const environment = `const base = process.env['DEALKEEP_URL'] + '/api/v1';
const authorization = 'Bearer ' + process.env['DEALKEEP_KEY'];
const key = crypto.randomUUID();
const person = { type: 'person' as const, displayName: 'Elena Marchetti' };
/** Goes from cursor to cursor until the event is there, for a minute at most. */
async function follow(after: string | null | undefined, objectId: string | undefined, page: (after: string) => Promise<Page>) {
  for (const until = Date.now() + 60_000; after && Date.now() < until; ) {
    const { data, pagination } = await page(after);
    if (data.some((event) => event.type === 'contact.created' && event.objectId === objectId)) return true;
    after = pagination.nextCursor;
    if (!pagination.hasMore) await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return false;
}
`;

async function openapiTypescript(setup: CheckSetup): Promise<string> {
  const folder = await fresh(setup, 'openapi-typescript');
  await run(tool(setup, 'openapi-typescript'), ['openapi.json', '-o', path.join(folder, 'schema.d.ts')], {
    cwd: setup.directory,
    env: environmentAt(folder),
  });
  return use(
    'openapi-typescript',
    setup,
    `import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';
type Page = components['schemas']['EventList'];
${environment}
const client = createClient<paths>({ baseUrl: base, headers: { authorization } });
let listed = 0;
let cursor: string | undefined;
do {
  const { data, error } = await client.GET('/contacts', { params: { query: cursor === undefined ? { limit: 5 } : { limit: 5, cursor } } });
  if (!data) throw new Error(error.error.message);
  listed += data.data.length;
  cursor = data.pagination.nextCursor ?? undefined;
} while (cursor !== undefined);
const events = async (after: string) => {
  const { data, error } = await client.GET('/events', { params: { query: { after } } });
  if (!data) throw new Error(error.error.message);
  return data;
};
const latest = (await events('latest')).pagination.nextCursor;
const create = () => client.POST('/contacts', { params: { header: { 'Idempotency-Key': key } }, body: person });
const [first, second] = [await create(), await create()];
const { error } = await client.POST('/contacts', { body: { ...person, email: 'nobody' } });
const narrowed = error?.error.code === 'validation_error' ? error.error.details.faults[0]?.path : undefined;
const hasEvent = await follow(latest, first.data?.id, events);
console.log(JSON.stringify({ listed, isSame: first.data !== undefined && first.data.id === second.data?.id, narrowed, hasEvent }));
`,
  );
}

async function heyApi(setup: CheckSetup): Promise<string> {
  const folder = await fresh(setup, 'hey-api');
  const config = `export default { input: '../openapi.json', output: { path: 'client', importFileExtension: '.js', module: { extension: '.js' } }, plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'] };\n`;
  await writeFile(path.join(folder, 'openapi-ts.config.mjs'), config);
  await run(tool(setup, 'openapi-ts'), ['-f', 'openapi-ts.config.mjs'], { cwd: folder, env: environmentAt(folder) });
  return use(
    'hey-api',
    setup,
    `import { createContact, listContacts, listEvents, type EventList as Page } from './client/index.js';
import { client } from './client/client.gen.js';
${environment}
client.setConfig({ baseUrl: base, headers: { authorization } });
let listed = 0;
let cursor: string | undefined;
do {
  const { data, error } = await listContacts({ query: cursor === undefined ? { limit: 5 } : { limit: 5, cursor } });
  if (!data) throw new Error(JSON.stringify(error));
  listed += data.data.length;
  cursor = data.pagination.nextCursor ?? undefined;
} while (cursor !== undefined);
const events = async (after: string) => {
  const { data, error } = await listEvents({ query: { after } });
  if (!data) throw new Error(JSON.stringify(error));
  return data;
};
const latest = (await events('latest')).pagination.nextCursor;
const create = () => createContact({ headers: { 'Idempotency-Key': key }, body: person });
const [first, second] = [await create(), await create()];
const { error } = await createContact({ body: { ...person, email: 'nobody' } });
const narrowed = error?.error.code === 'validation_error' ? error.error.details.faults[0]?.path : undefined;
const hasEvent = await follow(latest, first.data?.id, events);
console.log(JSON.stringify({ listed, isSame: first.data !== undefined && first.data.id === second.data?.id, narrowed, hasEvent }));
`,
  );
}

async function orval(setup: CheckSetup): Promise<string> {
  const folder = await fresh(setup, 'orval');
  const output = { target: 'client.ts', client: 'fetch', baseUrl: `${setup.url}/api/v1` };
  await writeFile(
    path.join(folder, 'orval.config.mjs'),
    `export default { dealkeep: ${JSON.stringify({ input: '../openapi.json', output })} };\n`,
  );
  await run(tool(setup, 'orval'), ['--config', 'orval.config.mjs'], { cwd: folder, env: environmentAt(folder) });
  return use(
    'orval',
    setup,
    `import { createContact, listContacts, listEvents, type EventList as Page } from './client.ts';
${environment}
const headers = { authorization };
let listed = 0;
let cursor: string | undefined;
do {
  const page = await listContacts(cursor === undefined ? { limit: 5 } : { limit: 5, cursor }, { headers });
  if (page.status !== 200) throw new Error(JSON.stringify(page.data));
  listed += page.data.data.length;
  cursor = page.data.pagination.nextCursor ?? undefined;
} while (cursor !== undefined);
void base;
const events = async (after: string) => {
  const page = await listEvents({ after }, { headers });
  if (page.status !== 200) throw new Error(JSON.stringify(page.data));
  return page.data;
};
const latest = (await events('latest')).pagination.nextCursor;
const create = () => createContact(person, { headers: { ...headers, 'Idempotency-Key': key } });
const [first, second] = [await create(), await create()];
const refused = await createContact({ ...person, email: 'nobody' }, { headers });
const narrowed = refused.status === 400 ? refused.data.error.details.faults[0]?.path : undefined;
const hasEvent = await follow(latest, first.status === 201 ? first.data.id : undefined, events);
console.log(JSON.stringify({ listed, isSame: first.status === 201 && second.status === 201 && first.data.id === second.data.id, narrowed, hasEvent }));
`,
  );
}

/** Our own, packed and installed in an empty folder. */
async function own(setup: CheckSetup): Promise<string> {
  const folder = await fresh(setup, 'own');
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: path.join(setup.root, 'clients/typescript'),
    env: npmEnvironment(),
  });
  const filename = /"filename": "([^"]+)"/.exec(stdout)?.[1] ?? '';
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
  await run('npm', ['install', `./${filename}`, '--offline', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    env: npmEnvironment(),
  });
  const did = await use(
    'own',
    setup,
    `import { Dealkeep, InvalidRequest, verifyWebhook } from '@dealkeep/client';
import { Webhook } from 'standardwebhooks';
const dealkeep = new Dealkeep({ url: process.env['DEALKEEP_URL']!, key: process.env['DEALKEEP_KEY']! });
let listed = 0;
for await (const contact of dealkeep.each('listContacts', { limit: 5 })) listed += contact.displayName === '' ? 0 : 1;
const person = { type: 'person' as const, displayName: 'Elena Marchetti' };
const idempotencyKey = crypto.randomUUID();
const { pagination } = await dealkeep.listEvents({ after: 'latest' });
const create = () => dealkeep.createContact({ idempotencyKey, body: person });
const made = await create();
const isSame = made.id === (await create()).id;
let hasEvent = false;
for await (const { data } of dealkeep.follow({ after: pagination.nextCursor ?? undefined, every: 0.2 }, { signal: AbortSignal.timeout(60_000) })) {
  hasEvent = data.some(({ type, objectId }) => type === 'contact.created' && objectId === made.id);
  if (hasEvent) break;
}
const refused = await dealkeep.createContact({ body: { ...person, email: 'nobody' } }).catch((error: unknown) => error);
const narrowed = refused instanceof InvalidRequest ? refused.faults[0]?.path : undefined;
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const [body, now] = ['{"type":"contact.created"}', new Date()];
const headers = {
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
};
await verifyWebhook({ body, headers, secret });
console.log(JSON.stringify({ listed, isSame, narrowed, hasEvent }));
`,
  );
  return `packed, installed in an empty folder, ${did}; verified what standardwebhooks signed`;
}

/** A run of requests through Prism, which compares each request and answer with the document. */
async function prism(setup: CheckSetup): Promise<string> {
  const origin = `http://127.0.0.1:${setup.port}`;
  const child = spawn(
    tool(setup, 'prism'),
    ['proxy', 'openapi.json', `${setup.url}/api/v1`, '--host', '127.0.0.1', '--port', String(setup.port)],
    {
      cwd: setup.directory,
      env: environmentAt(setup.directory),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    const until = Date.now() + 60_000;
    while (!/listening/i.test(said)) {
      if (Date.now() > until || child.exitCode !== null) throw new Error(`Prism did not start: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const violations: string[] = [];
    let asked = 0;
    const ask = async (method: string, target: string, headers: Record<string, string> = {}, body?: unknown) => {
      const answer = await fetch(origin + target, {
        method,
        headers: {
          authorization: `Bearer ${setup.key}`,
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      asked += 1;
      const header = answer.headers.get('sl-violations');
      // What is sent wrong on purpose is no violation of ours.
      for (const one of header === null ? [] : (JSON.parse(header) as { location: string[]; message: string }[]))
        if (one.location[0] === 'response')
          violations.push(`${method} ${target} ${answer.status}: ${JSON.stringify(one)}`);
      const text = await answer.text();
      return (text === '' ? {} : JSON.parse(text)) as {
        id?: string;
        data?: { id: string }[];
        pagination?: { nextCursor: string | null };
      };
    };
    const { paths } = JSON.parse(setup.document) as {
      paths: Record<string, Record<string, { requestBody?: { content: Record<string, { example?: unknown }> } }>>;
    };
    const nobody = '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30';
    // Each operation with ids that are there where a list shows them, with one that is not, with its example, and without a key.
    const known = new Map<string, string[]>();
    const filled = (target: string) => {
      const parent = target.slice(0, target.indexOf('/{'));
      const ids = known.get(parent) ?? [nobody];
      return ids.slice(0, 20).map((id) => target.replace(/\{\w+\}/, id).replaceAll(/\{\w+\}/g, nobody));
    };
    for (const [target, operations] of Object.entries(paths).toSorted(([a], [b]) => a.length - b.length))
      for (const [method, { requestBody }] of Object.entries(operations)) {
        const example = requestBody?.content['application/json']?.example;
        const targets = target.includes('{') ? [...filled(target), target.replaceAll(/\{\w+\}/g, nobody)] : [target];
        for (const one of targets) {
          const answer = await ask(method.toUpperCase(), one, {}, example);
          if (Array.isArray(answer.data))
            known.set(
              target,
              answer.data.flatMap(({ id }) => (id ? [id] : [])),
            );
        }
        const [one = target] = targets;
        await ask(method.toUpperCase(), one, { authorization: 'Bearer dk_test_nobody' }, example);
        if (requestBody) await ask(method.toUpperCase(), one, {}, { surplus: true });
        if (method === 'get' && !target.includes('{')) {
          let cursor: string | null = null;
          for (let page = 0; page < 10; page += 1) {
            const answer = await ask('GET', `${one}?limit=5${cursor === null ? '' : `&cursor=${cursor}`}`);
            cursor = answer.pagination?.nextCursor ?? null;
            if (cursor === null) break;
          }
          await ask('GET', `${one}?limit=0`);
        }
      }
    if (violations.length > 0) throw new Error(violations.slice(0, 10).join('\n'));
    return `${asked} requests, no answer outside the document`;
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
}

export const checks: Readonly<Record<string, Check>> = {
  'redocly lint': redocly,
  'spectral:oas': spectral,
  'openapi-typescript': openapiTypescript,
  'hey-api': heyApi,
  orval,
  '@dealkeep/client': own,
  'prism proxy': prism,
};
