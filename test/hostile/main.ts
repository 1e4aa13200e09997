/** npm run hostile [-- --requests 50000 --seed 7 --seconds 3500]: hostile input to every route of the web application's interface and every tool. */

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '3500' },
  },
});
const { status } = spawnSync('vitest', ['run', 'test/hostile'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    HOSTILE_REQUESTS: values.requests,
    HOSTILE_SEED: values.seed,
    HOSTILE_SECONDS: values.seconds,
  },
});
process.exitCode = status ?? 1;
