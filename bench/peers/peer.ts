/**
 * The common part of all peers: how a peer is installed, where its contacts are stored, and which requests are sent to
 * it.
 */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { complaint, type Service } from '../processes.ts';

/** A request, for `fetch` and for the load generator. */
export interface Ask {
  readonly method: 'GET' | 'POST';
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, sent as JSON. */
  readonly body?: unknown;
}

/** A contact that exists in all peers, with the id of its brokerage. */
export interface Known {
  readonly id: string;
  readonly brokerage: string;
}

/** A running peer, and its requests for the same data. */
export interface Running {
  readonly service: Service;
  get(contact: Known): Ask;
  /** The newest 50 contacts of a brokerage. */
  page(brokerage: string): Ask;
  create(brokerage: string): Ask;
  /** The status of the response to a create request. */
  readonly created: number;
  /** The same contact by a tool call; missing in peers without tools. */
  call?(contact: Known): Ask;
}

/** The environment in which a peer is set up. */
export interface PeerSetup {
  /** A directory of its own, with the peer's packages installed. */
  readonly directory: string;
  /** Path of the Node.js binary that the peer runs on. */
  readonly node: string;
  /** A separate schema for the peer in our database. */
  readonly schema: string;
  /** A client connected as the database's owner. */
  readonly client: pg.Client;
  /** How to connect to the database as its owner. */
  readonly owner: Required<Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'database'>> & { password: string };
  /** Connection of a role that owns nothing, so that row-level security policies apply to it. */
  readonly visitor: PeerSetup['owner'];
}

export interface Peer {
  readonly name: string;
  /** The npm packages to install, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** The version of Node.js that the peer needs; defaults to ours. */
  readonly node?: string;
  /** Writes the peer's files, fills its schema and starts it as its documentation recommends for production. */
  start(setup: PeerSetup): Promise<Running>;
}

export const newContact = { displayName: 'New contact', email: 'new@example.com', phone: '+1 555 0100' } as const;

/** The columns of our contacts that the API returns. */
export const columns = ['id', 'type', 'display_name', 'email', 'phone', 'created_at', 'updated_at'] as const;

/** Creates a table `contacts` in the schema of a peer, with our rows and the indexes that the requests need. */
export async function copyContacts({ client, schema }: PeerSetup): Promise<void> {
  await client.query(`
    create table ${schema}.contacts (
      id uuid primary key default gen_random_uuid(),
      brokerage_id uuid not null,
      type text not null,
      display_name text not null,
      email text,
      phone text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    );
    insert into ${schema}.contacts select id, brokerage_id, ${columns.slice(1).join(', ')} from public.contacts;
    create index on ${schema}.contacts (brokerage_id, created_at desc, id desc)`);
  await client.query(`vacuum (analyze) ${schema}.contacts`);
}

/** Runs a program; rejects with the end of its output when it fails. */
export function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (said = `${said}${chunk}`.slice(-4_000)));
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new Error(`${[path.basename(command), ...args].join(' ')} ended with code ${code}: ${complaint(said)}`));
    });
  });
}

/** Writes a file of the peer. */
export async function write(directory: string, name: string, text: string): Promise<void> {
  const file = path.join(directory, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

const npm = (directory: string, packages: Peer['packages'], env: NodeJS.ProcessEnv = {}): Promise<void> =>
  write(directory, 'package.json', `${JSON.stringify({ private: true, dependencies: packages }, null, 2)}\n`).then(() =>
    run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], directory, env),
  );

/**
 * Installs a peer unless an earlier run left the same versions in the directory; returns the path of the Node.js binary
 * to run it on.
 */
export async function install(directory: string, { packages, node }: Pick<Peer, 'packages' | 'node'>): Promise<string> {
  const runtime = path.join(directory, 'runtime');
  const program = node === undefined ? process.execPath : path.join(runtime, 'node_modules/node/bin/node');
  const wanted = JSON.stringify({ packages, node });
  const mark = path.join(directory, 'installed.json');
  if ((await readFile(mark, 'utf8').catch(() => '')) === wanted) return program;
  if (node !== undefined) await npm(runtime, { node });
  const home = path.join(runtime, `node_modules/node/node_modules/node-${process.platform}-${process.arch}`);
  // Packages that npm builds from source are built for the Node.js version that will run them, with its headers.
  await npm(directory, packages, {
    PATH: [path.dirname(program), process.env['PATH']].join(path.delimiter),
    ...(existsSync(path.join(home, 'include')) ? { npm_config_nodedir: home } : {}),
  });
  await writeFile(mark, wanted);
  return program;
}
