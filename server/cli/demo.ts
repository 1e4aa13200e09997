/**
 * Loads the demo brokerages into an empty database and the store, and writes sign-ins and keys to DATA_DIR/demo.json.
 */

import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { demoBodies, loadDemo } from '../../database/demo/load.ts';
import type { Config } from '../config/config.ts';
import { withClient } from '../database/client.ts';
import { restPath } from '../http/rest-path.ts';
import type { Storage } from '../storage/storage.ts';

/** Writes a file that only the service's user can read; it is complete or does not exist. */
async function keep(file: string, content: Readonly<Record<string, unknown>>): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, file);
}

const isEmpty = (owner: pg.ClientConfig): Promise<boolean> =>
  withClient(owner, 'demo', async (client) => {
    const { rows } = await client.query('select not exists (select from public.brokerages) as empty');
    return rows[0]?.empty === true;
  });

/** The database holds data that is not the demo's. */
class NotADemo extends Error {
  override readonly name = 'NotADemo';
}

/** Stores the bodies of the demo's documents; they have the same storage keys in every load. */
export async function keepDemoBodies(storage: Storage): Promise<void> {
  for (const { storageKey, bytes } of demoBodies()) await storage.write(storageKey, oncePart(bytes));
}

async function* oncePart(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Loads the demo data if needed and returns the file that describes it. Throws {@link NotADemo}. */
export async function prepareDemo(config: Config, owner: pg.ClientConfig, storage: Storage): Promise<string> {
  const file = path.join(config.dataDir, 'demo.json');
  const addresses = { rest_url: `${config.baseUrl}${restPath}`, mcp_url: config.baseUrl };
  if (await isEmpty(owner)) {
    await keepDemoBodies(storage);
    await keep(file, { ...addresses, ...(await loadDemo(owner)) });
  } else if (existsSync(file)) {
    // The port may have changed since.
    await keep(file, { ...(JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>), ...addresses });
  } else {
    throw new NotADemo(
      'The database has brokerages that are not part of the demo: set DATA_DIR to a new directory, or use dealkeep serve.',
    );
  }
  return file;
}
