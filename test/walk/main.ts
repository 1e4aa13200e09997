/** npm run walk: random steps of random people against a plain model of who may see what; a failing path is shrunk and printed. */

import { parseArgs } from 'node:util';
import { connect } from '../policies/scene.ts';
import { openTemplates } from '../templates.ts';
import { closeSetup, openSetup, shrunk, stepsOf, walk, type Walked } from './walk.ts';
import type { Step } from './step.ts';

const usage = `npm run walk -- [--steps 100000] [--seed 1] [--length 400] [--break <file>]

  --steps   how many steps in all
  --seed    of the first walk; each next one has the next number
  --length  steps of one walk, each in a database of its own
  --break   SQL that is run as the owner first: to see that the walk finds what it breaks
`;

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    length: { type: 'string', default: '400' },
    break: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function run(): Promise<number> {
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const [steps, first, length] = [values.steps, values.seed, values.length].map(Number) as [number, number, number];
  const began = Date.now();
  const seconds = () => `${Math.round((Date.now() - began) / 1000)} s`;
  const templates = await openTemplates();
  const administration = await connect({ ...templates.owner, database: 'dealkeep' });
  let databases = 0;

  async function walkAnew(path: readonly Step[]): Promise<Walked> {
    databases += 1;
    const database = `walk_${databases}`;
    await administration.query(`create database ${database} template ${templates.templates.plain}`);
    const setup = await openSetup({
      owner: { ...templates.owner, database },
      server: { ...templates.server, database },
    });
    try {
      return await walk(setup, path);
    } finally {
      await closeSetup(setup);
      await administration.query(`drop database ${database}`);
    }
  }

  try {
    if (values.break) {
      const owner = await connect({ ...templates.owner, database: templates.templates.plain });
      await owner.query(values.break).finally(() => owner.end());
    }
    let [taken, tried, allowed, looks] = [0, 0, 0, 0];
    for (let seed = first; taken < steps; seed += 1) {
      const path = stepsOf(seed, Math.min(length, steps - taken));
      const walked = await walkAnew(path);
      taken += path.length;
      tried += walked.tried.length;
      allowed += walked.allowed;
      looks += walked.looks;
      if (walked.failure) {
        say(`\nThe walk of seed ${seed} fails at step ${walked.failure.at + 1}: ${walked.failure.about}`);
        const failing = path.slice(0, walked.failure.at + 1);
        const shortest = await shrunk(failing, async (shorter) => (await walkAnew(shorter)).failure !== null);
        const again = await walkAnew(shortest);
        say(`\nThe shortest path found (${shortest.length} steps; ${seconds()}):`);
        for (const line of again.tried) say(`  ${line}`);
        say(`  ${again.failure?.about ?? 'It does not fail any more.'}`);
        return 1;
      }
      if ((seed - first + 1) % 10 === 0)
        say(`  ${taken} steps, ${allowed} of them allowed, ${looks} comparisons (${seconds()})`);
    }
    say(
      `${taken} steps from seed ${first}: ${tried} could be tried, ${allowed} were allowed; ` +
        `what somebody sees was compared ${looks} times; no difference; ${seconds()}.`,
    );
    return 0;
  } finally {
    await administration.end();
    await templates.close();
  }
}

process.exitCode = await run();
