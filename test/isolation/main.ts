/** `npm run two-worlds [worlds] [first]`: compares this many more worlds, with random deals, for each caller. */

import { spawnSync } from 'node:child_process';

const [worlds = '3', first = '1'] = process.argv.slice(2);
const env = { ...process.env, TWO_WORLDS: worlds, TWO_WORLDS_FROM: first };
const run = spawnSync('vitest', ['run', 'test/isolation/two-worlds.test.ts'], { stdio: 'inherit', env });
process.exitCode = run.status ?? 1;
