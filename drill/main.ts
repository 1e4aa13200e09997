/**
 * `npm run drill`, or `npm run drill -- failover transfer` for some of them: failures and replacements under load, each
 * in a temporary directory and on this machine only, with figures. The exit code is 1 when a drill did not hold; a
 * drill for which a program is missing is skipped with a sentence.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Drill } from './drill.ts';
import { backup } from './backup.ts';
import { streamOfChanges } from './changes.ts';
import { day } from './day.ts';
import { failover } from './failover.ts';
import { frozen } from './frozen.ts';
import { mail } from './mail.ts';
import { pack } from './pack.ts';
import { killed } from './killed.ts';
import { isInstalled } from './proxies.ts';
import { recovery } from './recovery.ts';
import { redis } from './redis.ts';
import { rolling } from './rolling.ts';
import { transfer } from './transfer.ts';

const drills: ReadonlyMap<string, Drill> = new Map(
  Object.entries({
    rolling,
    killed,
    redis,
    failover,
    frozen,
    transfer,
    pack,
    recovery,
    backup,
    mail,
    changes: streamOfChanges,
    day,
  }),
);

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function held(name: string, drill: Drill): Promise<boolean> {
  const program = drill.needs.find((needed) => !isInstalled(needed));
  const missing = program ? `There is no ${program} here` : drill.missing?.();
  if (missing) {
    say(`${name}: ${missing}: it is left out.`);
    return true;
  }
  say(`${name}: ${drill.title}.`);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-drill-'));
  try {
    return await drill.run(directory, (line) => say(`  ${line}`));
  } catch (error) {
    say(`  ${error instanceof Error ? error.stack : String(error)}`);
    return false;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !drills.has(name));
if (unknown !== undefined) {
  say(`There is no drill "${unknown}". There are: ${[...drills.keys()].join(', ')}.`);
  process.exitCode = 2;
} else {
  for (const [name, drill] of drills)
    if ((asked.length === 0 || asked.includes(name)) && !(await held(name, drill))) {
      say(`  ${name} did not hold.`);
      process.exitCode = 1;
    }
}
