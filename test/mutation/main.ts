/**
 * npm run mutate: weakens the live catalogue in every way it knows, one at a time, and checks that a test fails each
 * time.
 */

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { connect } from '../policies/scene.ts';
import { openTemplates } from '../templates.ts';
import { explained } from './explained.ts';
import { kinds, mutantsOf, type Kind, type Mutant } from './mutants.ts';
import { openQuickChecks } from './quick.ts';
import { folders, openSuite } from './suite.ts';

const usage = `npm run mutate -- [--only <pattern>] [--all] [--list] [--quick] [--suite <folders>] [--minutes <n>] [--result <file>]

  --only <pattern>  mutants whose name matches the regular expression
  --all             also functions that no policy and no trigger stands on (signing in, keys, clients, tokens)
  --list            print the mutants and do nothing
  --quick           the checks of test/policies alone
  --suite <folders> the folders of tests for what these let pass: ${folders.join(',')}
  --minutes <n>     how long the test files are run for the mutants that are left; those not reached are named (60)
  --result <file>   what became of each mutant, as JSON
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    all: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    suite: { type: 'string', default: folders.join(',') },
    minutes: { type: 'string', default: '60' },
    result: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

type MutantOutcome =
  'killed by the policy checks' | 'killed by the suite' | 'explained' | 'survived' | 'not tried' | 'refused';

interface Result {
  readonly name: string;
  readonly kind: Kind;
  readonly outcome: MutantOutcome;
  /** The check or test that failed, PostgreSQL's error, or the reason for any other outcome. */
  readonly by: string;
}

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function chosenMutants(templates: Awaited<ReturnType<typeof openTemplates>>): Promise<Mutant[]> {
  const client = await connect({ ...templates.owner, database: templates.templates.plain });
  const all = await mutantsOf(client).finally(() => client.end());
  const only = values.only === undefined ? null : new RegExp(values.only);
  return all.filter(({ name, kind }) => (only ? only.test(name) : values.all || kind !== 'other functions'));
}

/** The number of mutants by kind and outcome, as a Markdown table. */
function table(results: readonly Result[]): string {
  const outcomes = [
    'killed by the policy checks',
    'killed by the suite',
    'explained',
    'survived',
    'not tried',
    'refused',
  ] as const;
  const lines = [`| | mutants | ${outcomes.join(' | ')} |`, `|---|${'---:|'.repeat(outcomes.length + 1)}`];
  for (const kind of [...kinds, null]) {
    const of = results.filter((result) => kind === null || result.kind === kind);
    const count = (outcome: MutantOutcome) => of.filter((result) => result.outcome === outcome).length;
    if (of.length > 0)
      lines.push(`| ${kind ?? '**all**'} | ${of.length - count('refused')} | ${outcomes.map(count).join(' | ')} |`);
  }
  return lines.join('\n');
}

async function run(): Promise<number> {
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const began = Date.now();
  const minutes = () => `${((Date.now() - began) / 60_000).toFixed(1)} min`;
  const templates = await openTemplates({ track_functions: 'all' });
  try {
    const mutants = await chosenMutants(templates);
    if (values.list) {
      for (const { name } of mutants) say(name);
      return 0;
    }
    say(`${mutants.length} mutants.`);
    const results: Result[] = [];
    const left: Mutant[] = [];
    const quick = await openQuickChecks(templates);
    try {
      for (const [index, mutant] of mutants.entries()) {
        const { name, kind } = mutant;
        const tried = await quick.try(mutant);
        if (tried.outcome === 'refused') results.push({ name, kind, outcome: 'refused', by: tried.why });
        else if (tried.outcome === 'killed')
          results.push({ name, kind, outcome: 'killed by the policy checks', by: tried.by });
        else left.push(mutant);
        if (values.result) await writeFile(values.result, JSON.stringify([results, left.map((m) => m.name)]));
        if ((index + 1) % 100 === 0)
          say(`  ${index + 1} tried against the checks of the policies, ${left.length} left (${minutes()})`);
      }
    } finally {
      await quick.close();
    }

    const known = (mutant: Mutant) => explained.find(({ mutants: which }) => which.test(mutant.name));
    const suite = values.quick || left.every(known) ? null : await openSuite(templates, values.suite.split(','), say);
    const until = Date.now() + Number(values.minutes) * 60_000;
    for (const [index, mutant] of left.entries()) {
      const { name, kind } = mutant;
      const why = known(mutant)?.why;
      if (why !== undefined) {
        results.push({ name, kind, outcome: 'explained', by: why });
        continue;
      }
      if (Date.now() > until) {
        results.push({ name, kind, outcome: 'not tried', by: `the ${values.minutes} minutes were over` });
        continue;
      }
      const { by, files } = suite ? await suite.try(mutant) : { by: null, files: 0 };
      results.push({
        name,
        kind,
        outcome: by === null ? 'survived' : 'killed by the suite',
        by: by ?? `${files} files`,
      });
      say(
        `  ${index + 1} of ${left.length}: ${by === null ? 'SURVIVED' : 'killed'} ${name}: ${by ?? files} (${minutes()})`,
      );
    }
    await suite?.close();

    if (values.result) await writeFile(values.result, `${JSON.stringify(results, null, 2)}\n`);
    const survivors = results.filter(({ outcome }) => outcome === 'survived');
    const counted = results.filter(({ outcome }) => outcome !== 'refused').length;
    const killed = results.filter(({ outcome }) => outcome.startsWith('killed')).length;
    say(`\n${table(results)}\n`);
    for (const { name } of survivors) say(`SURVIVED ${name}`);
    const untried = results.filter(({ outcome }) => outcome === 'not tried');
    for (const { name } of untried) say(`NOT TRIED ${name}`);
    const share = counted === 0 ? 100 : (100 * killed) / counted;
    say(
      `${killed} of ${counted} mutants failed a test (${share.toFixed(1)} %), ` +
        `${results.filter(({ outcome }) => outcome === 'explained').length} are explained, ${survivors.length} survived, ${untried.length} were not tried; ${minutes()}.`,
    );
    return survivors.length + untried.length === 0 || values.quick ? 0 : 1;
  } finally {
    await templates.close();
  }
}

process.exitCode = await run();
