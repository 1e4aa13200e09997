/**
 * `npm run clients [-- assistants | views --host DIR] [--keep DIR] [--only PART]`: with the word assistants what assistants.ts says, with views what views.ts says; without either
 * whether the tools of others read the OpenAPI document, and clients that they make of it work. Linters, three
 * generators whose clients are compiled strictly and used, our own client installed from its packed file, and a proxy that compares
 * every answer with the document. All of them are installed from npm into a temporary directory, and asked of a demo that is started here.
 */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '../../bench/free-port.ts';
import type { DemoPerson } from '../../test/conformance/person.ts';
import { printedUrl } from '../../bench/printed-url.ts';
import { table } from '../../bench/table.ts';
import { connectAll, openDocumentHost, packages as assistants } from './assistants.ts';
import { checks, type Check, type CheckSetup } from './checks.ts';
import { npmEnvironment } from './environment.ts';
import { generatorPackages } from './generators.ts';
import { checkViews } from './views.ts';

const root = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

const packages: Readonly<Record<string, string>> = {
  ...(await generatorPackages()),
  '@redocly/openapi-core': '2.64.0',
  '@stoplight/prism-cli': '5.16.0',
  '@stoplight/spectral-core': '1.24.1',
  '@stoplight/spectral-rulesets': '1.23.1',
  standardwebhooks: '1.1.1',
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Installs what is checked with; says why not when npm cannot. */
async function install(
  directory: string,
  dependencies: Readonly<Record<string, string>>,
  scripts: boolean,
): Promise<string | null> {
  const manifest = { name: 'clients', private: true, type: 'module', dependencies };
  const text = JSON.stringify(manifest);
  const file = path.join(directory, 'package.json');
  if (existsSync(path.join(directory, 'node_modules')) && (await readFile(file, 'utf8').catch(() => '')) === text)
    return null;
  await writeFile(file, text);
  try {
    await run(
      'npm',
      ['install', '--no-audit', '--no-fund', '--loglevel=error', ...(scripts ? [] : ['--ignore-scripts'])],
      {
        cwd: directory,
        env: npmEnvironment(),
        maxBuffer: 2 ** 26,
      },
    );
    return null;
  } catch (error) {
    return String((error as { stderr?: string }).stderr ?? error).slice(0, 500);
  }
}

interface Demo {
  readonly url: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly people: Readonly<Record<'broker' | 'buyer', DemoPerson>>;
  readonly redirect_uri: string;
  readonly deals: { readonly with_everything: string };
  readonly child: ChildProcess;
}

/** Starts the demo with data of its own, and limits that nobody reaches. */
async function startDemo(directory: string, settings: Readonly<Record<string, string>> = {}): Promise<Demo> {
  const dataDir = path.join(directory, 'data');
  const limits = { RATE_LIMIT_REST_KEY: '1000000', RATE_LIMIT_REST_IP: '1000000' };
  const child = spawn(process.execPath, [path.join(root, 'bin/dealkeep.js'), 'demo', '--json'], {
    env: { ...process.env, ...limits, ...settings, PORT: '0', LOG_LEVEL: 'error', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await printedUrl(child, 'The demo');
  const described = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;
  return { ...described, url: new URL(url).origin, child };
}

/** What came of a check, and how long it took. */
async function checked(
  [name, check]: [string, Check],
  setup: CheckSetup,
): Promise<{ line: string[]; isGood: boolean }> {
  const began = performance.now();
  const result = await check(setup).then(
    (text) => ({ isGood: true, text }),
    (error: unknown) => ({
      isGood: false,
      text: String((error as { stdout?: string }).stdout || error)
        .trim()
        .slice(0, 1_500),
    }),
  );
  if (!result.isGood) say(`${name}: ${result.text}`);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  return {
    line: [name, result.isGood ? 'good' : 'BAD', result.isGood ? result.text : 'see above', seconds],
    isGood: result.isGood,
  };
}

const { values, positionals } = parseArgs({
  options: { keep: { type: 'string' }, only: { type: 'string' }, host: { type: 'string' }, shots: { type: 'string' } },
  allowPositionals: true,
});
const directory = values.keep ? path.resolve(values.keep) : await mkdtemp(path.join(os.tmpdir(), 'clients-'));
await mkdir(directory, { recursive: true });
let demo: Demo | undefined;

type Results = readonly { readonly line: readonly string[]; readonly isGood: boolean }[];

/** Connects assistants to a demo that takes documents of this machine, and those of well-known hosts as they are pinned. */
async function connectAssistants(): Promise<Results> {
  const host = await openDocumentHost();
  try {
    const ca = path.join(directory, 'documents.pem');
    await writeFile(ca, host.cert);
    demo = await startDemo(directory, {
      CLIENT_METADATA_ALLOW_LOOPBACK: 'on',
      CLIENT_METADATA_FILE: path.join(root, 'deploy/client-documents.json'),
      NODE_EXTRA_CA_CERTS: ca,
      RATE_LIMIT_CLIENT_METADATA: '1000',
    });
    const setup = { directory, url: demo.url, person: demo.people.buyer, publish: host.publish };
    return await connectAll(setup, values.only ?? '');
  } finally {
    host.close();
  }
}

async function showViews(): Promise<Results> {
  if (values.host === undefined) throw new Error('Say with --host where the basic host is checked out.');
  demo = await startDemo(directory);
  return checkViews({
    directory,
    host: path.resolve(values.host),
    shots: values.shots ? path.resolve(values.shots) : null,
    url: demo.url,
    person: demo.people.broker,
    redirectUri: demo.redirect_uri,
    deal: demo.deals.with_everything,
  });
}

async function checkDocument(): Promise<Results> {
  demo = await startDemo(directory);
  const document = await (await fetch(`${demo.url}/api/v1/openapi.json`)).text();
  await writeFile(path.join(directory, 'openapi.json'), document);
  const key = demo.keys['sandbox'];
  if (key === undefined) throw new Error('The demo has no test key.');
  const setup: CheckSetup = {
    directory,
    root,
    compiler: path.join(directory, 'node_modules/.bin/tsc'),
    url: demo.url,
    key,
    document,
    port: await freePort(),
  };
  const results = [];
  for (const one of Object.entries(checks).filter(([name]) => name.includes(values.only ?? ''))) {
    say(`Checking ${one[0]}`);
    results.push(await checked(one, setup));
  }
  return results;
}

interface Job {
  readonly packages: Readonly<Record<string, string>>;
  /** Whether packages put their program in place by a script. */
  readonly scripts: boolean;
  readonly heads: readonly string[];
  readonly do: () => Promise<Results>;
}

const jobs: Readonly<Record<string, Job>> = {
  document: { packages, scripts: false, heads: ['', '', 'what it did', 's'], do: checkDocument },
  assistants: {
    packages: assistants,
    scripts: true,
    heads: ['', 'client', '', 'what it said'],
    do: connectAssistants,
  },
  views: { packages: {}, scripts: false, heads: ['view', 'of', '', ''], do: showViews },
};

try {
  const job = jobs[positionals[0] ?? 'document'];
  if (!job) throw new Error(`Nothing is called ${positionals[0]}: ${Object.keys(jobs).join(', ')}.`);
  say(`Installing ${Object.keys(job.packages).length} packages`);
  const fault = await install(directory, job.packages, job.scripts);
  if (fault !== null) {
    say(`Skipped: npm could not install what this checks with.\n${fault}`);
  } else {
    await rm(path.join(directory, 'data'), { recursive: true, force: true });
    const results = await job.do();
    say('');
    say(
      table(
        [...job.heads],
        results.map(({ line }) => [...line]),
      ),
    );
    process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1;
  }
} finally {
  if (demo) {
    const ended = once(demo.child, 'exit');
    demo.child.kill('SIGTERM');
    await ended;
  }
  if (!values.keep) await rm(directory, { recursive: true, force: true });
}
