/** What every peer has in common: how it is installed, where its contacts are, and what it is asked. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { complaint, type Service } from '../processes.ts';

/** A request, for fetch and for the load generator alike. */
export interface Ask {
  readonly method: 'GET' | 'POST';
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent as JSON. */
  readonly body?: unknown;
}

/** A contact that all of them have, with the id of its brokerage. */
export interface Known {
  readonly id: string;
  readonly brokerage: string;
}

/** A peer at work, and how to ask it for the same things. */
export interface Running {
  readonly service: Service;
  get(contact: Known): Ask;
  /** The newest 50 contacts of a brokerage. */
  page(brokerage: string): Ask;
  create(brokerage: string): Ask;
  /** The status with which it answers a create. */
  readonly created: number;
  /** The same contact by a tool call, of those that have tools. */
  call?(contact: Known): Ask;
}

/** Where a peer is set up. */
export interface PeerSetup {
  /** A directory of its own, with its packages installed. */
  readonly directory: string;
  /** The Node.js that it runs on. */
  readonly node: string;
  /** A schema of its own in our database. */
  readonly schema: string;
  /** A client that owns the database. */
  readonly client: pg.Client;
  /** How the owner reaches the database. */
  readonly owner: Required<Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'database'>> & { password: string };
  /** A login that owns nothing, so that policies apply to it. */
  readonly visitor: PeerSetup['owner'];
}

export interface Peer {
  readonly name: string;
  /** What npm installs, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** The version of Node.js that it needs; left out, it runs on ours. */
  readonly node?: string;
  /** Writes its files, fills its schema and starts it as its documentation says for production. */
  start(setup: PeerSetup): Promise<Running>;
}

export const newContact = { displayName: 'New contact', email: 'new@example.com', phone: '+1 555 0100' } as const;

/** The columns of ours that the API shows. */
export const columns = ['id', 'type', 'display_name', 'email', 'phone', 'created_at', 'updated_at'] as const;

/** Makes a table `contacts` in the schema of a peer, with the rows of ours and the indexes that these questions need. */
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

/** Ends with what the program said last, when it fails. */
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

/** Installs a peer, unless the same is in the directory from an earlier run; returns the Node.js that it is to run on. */
export async function install(directory: string, { packages, node }: Pick<Peer, 'packages' | 'node'>): Promise<string> {
  const runtime = path.join(directory, 'runtime');
  const program = node === undefined ? process.execPath : path.join(runtime, 'node_modules/node/bin/node');
  const wanted = JSON.stringify({ packages, node });
  const mark = path.join(directory, 'installed.json');
  if ((await readFile(mark, 'utf8').catch(() => '')) === wanted) return program;
  if (node !== undefined) await npm(runtime, { node });
  const home = path.join(runtime, `node_modules/node/node_modules/node-${process.platform}-${process.arch}`);
  // What npm builds from source is built for the Node.js that will run it, whose headers came with it.
  await npm(directory, packages, {
    PATH: [path.dirname(program), process.env['PATH']].join(path.delimiter),
    ...(existsSync(path.join(home, 'include')) ? { npm_config_nodedir: home } : {}),
  });
  await writeFile(mark, wanted);
  return program;
}
