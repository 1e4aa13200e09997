/**
 * Runs the protocol's own conformance suites and the Inspector against the real program with demo data, prints the
 * result of each row, and exits with 1 when a row fails that docs/tools.md does not name as left out.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { cleanUp, dealkeep, newDataDir } from '../runtime/program.ts';
import { accessToken, approve, signIn, type DemoPerson } from './person.ts';
import { addToken } from './proxy.ts';

interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
}

interface Demo {
  readonly mcp_url: string;
  readonly redirect_uri: string;
  readonly people: Record<'buyer' | 'broker', DemoPerson>;
}

/** Checks that may fail in the scenarios that are run: they need what a product does not have. */
const leftOut = new Set([
  // They need tools made for the suite.
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]);

const [earlier, later] = ['2025-11-25', '2026-07-28'] as const;

/** Scenarios of the suite that apply, each with the revisions that have it. */
const applying: Readonly<Record<string, readonly string[]>> = {
  'server-initialize': [earlier],
  ping: [earlier],
  'tools-list': [earlier, later],
  'resources-list': [earlier, later],
  'prompts-list': [earlier, later],
  'dns-rebinding-protection': [earlier, later],
  'http-header-validation': [later],
  'server-sse-multiple-streams': [later],
  'server-stateless': [later],
  'sep-2164-resource-not-found': [later],
  'input-required-result-unsupported-methods': [later],
  'input-required-result-validate-input': [later],
  caching: [later],
};

/** Why the scenarios whose names match are left out; the first match counts. */
const reasons: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(tasks|sep-2640)-/, 'extensions that are not announced: tasks, skills'],
  [/^logging-/, 'no capability logging: the log is the operator’s'],
  [/^resources-(un)?subscribe$/, 'resources are announced without subscribe'],
  [/^server-session-lifecycle$/, 'there are no sessions'],
  [/^server-sse-polling$/, 'answers are JSON, without streams'],
  [/^(tools-call|json-schema-2020-12|elicitation|input-required|http-custom-header)/, 'calls tools made for the suite'],
  [/^prompts-get-/, 'asks for prompts made for the suite'],
  [/^completion-complete$/, 'completes an argument of a prompt made for the suite'],
  [/^resources-(read|templates)/, 'reads resources made for the suite'],
];

const bin = (name: string) => path.join(import.meta.dirname, '../../node_modules/.bin', name);

/** Runs a command, for at most two minutes; `onOutput` is called with all output so far whenever more arrives. */
function run(
  command: string,
  args: readonly string[],
  onOutput: (sofar: string) => void = () => {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      onOutput(output);
    });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

async function checksIn(directory: string): Promise<Check[]> {
  const found: Check[] = [];
  for (const entry of await readdir(directory, { recursive: true }))
    if (path.basename(entry) === 'checks.json')
      found.push(...(JSON.parse(await readFile(path.join(directory, entry), 'utf8')) as Check[]));
  return found;
}

let passed = 0;
let failed = 0;

function report(row: string, problems: readonly string[], note: string): void {
  if (problems.length === 0) passed += 1;
  else failed += 1;
  console.log(`${problems.length === 0 ? 'pass' : 'FAIL'}  ${row.padEnd(46)} ${[note, ...problems].join('; ')}`);
}

/** Runs one scenario and evaluates its checks. */
async function scenario(row: string, args: readonly string[], onOutput?: (sofar: string) => void): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-conformance-'));
  try {
    const { output } = await run(bin('conformance'), [...args, '-o', directory], onOutput);
    const checks = await checksIn(directory);
    const good = checks.filter(({ status }) => status === 'SUCCESS').length;
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING').map(({ id }) => id);
    const out = bad.filter((id) => leftOut.has(id));
    const problems = bad.filter((id) => !leftOut.has(id));
    if (good === 0) problems.push(`nothing was checked: ${output.slice(-300)}`);
    report(row, problems, `${good} checks${out.length > 0 ? `, ${out.length} left out` : ''}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Waits for the suite to print an authorization URL, at which a person of the demo consents; their browser follows the
 * redirect.
 */
function consenting(origin: string, person: DemoPerson): (sofar: string) => void {
  let done = false;
  return (sofar) => {
    const url = /https?:\/\/\S+\/api\/mcp\/authorize\?\S+/.exec(sofar)?.[0];
    if (done || url === undefined) return;
    done = true;
    const asked = new URL(url);
    // The suite requests no scope, which the server requires.
    if (!asked.searchParams.has('scope')) asked.searchParams.set('scope', 'mcp:read');
    void signIn(origin, person)
      .then((cookie) => approve(origin, asked.href, cookie))
      .then((location) => fetch(location))
      .catch((error: unknown) => console.error(error));
  };
}

const eras = [
  ['legacy', ['--protocol-era', 'legacy']],
  ['auto', ['--protocol-era', 'auto']],
  ['modern', ['--protocol-era', 'modern']],
] as const;

try {
  const dataDir = await newDataDir();
  await dealkeep(['demo', '--json'], { DATA_DIR: dataDir }).ready;
  const demo = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;
  const origin = demo.mcp_url;
  const token = await accessToken(origin, demo.people.buyer, demo.redirect_uri);
  const proxy = await addToken(origin, token);

  const { output: listed } = await run(bin('conformance'), ['list', '--server']);
  const known = [...listed.matchAll(/^ {2}- ([\w-]+) \[([\w,-]+)\]$/gm)].map(([, name = '']) => name);
  for (const name of known.filter((one) => !Object.hasOwn(applying, one))) {
    const reason = reasons.find(([pattern]) => pattern.test(name))?.[1];
    if (reason === undefined) report(`server ${name}`, ['neither run nor left out with a reason'], '');
    else console.log(`left  ${`server ${name}`.padEnd(46)} ${reason}`);
  }
  const rows = Object.entries(applying).flatMap(([name, versions]) =>
    versions.map((version) => [name, version] as const),
  );
  for (const [name, version] of rows)
    await scenario(`server ${name} ${version}`, [
      'server',
      '--url',
      proxy.url('/api/mcp'),
      '--scenario',
      name,
      '--spec-version',
      version,
    ]);
  proxy.close();

  const port = new URL(demo.redirect_uri).port;
  await scenario(
    'authorization: metadata, code grant',
    [
      'authorization',
      '--url',
      origin,
      '--client-id',
      demo.people.broker.client_id,
      '--port',
      port,
      '--resource',
      `${origin}/api/mcp`,
    ],
    consenting(origin, demo.people.broker),
  );

  for (const [era, flags] of eras) {
    const { code, output } = await run(bin('mcp-inspector'), [
      '--cli',
      `${origin}/api/mcp`,
      '--transport',
      'http',
      '--header',
      `Authorization: Bearer ${token}`,
      '--method',
      'tools/list',
      '--strict',
      ...flags,
    ]);
    const tools = new Set(output.match(/"name": "svc_[a-z_]+"/g)).size;
    report(
      `inspector tools/list --strict, ${era}`,
      code === 0 && tools === 19 ? [] : [`exit ${code}: ${output.slice(-300)}`],
      `${tools} tools`,
    );
  }
} finally {
  await cleanUp();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
