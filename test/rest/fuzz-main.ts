/**
 * `npm run fuzz [-- --requests 50000 --seed 11]`: sends requests generated from the OpenAPI document and checks each
 * response against it.
 */

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '50000' }, seed: { type: 'string', default: '11' } },
});
const { status } = spawnSync('vitest', ['run', 'test/rest/fuzz.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, FUZZ_REQUESTS: values.requests, FUZZ_SEED: values.seed },
});
process.exitCode = status ?? 1;
