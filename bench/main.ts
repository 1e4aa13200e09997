/**
 * npm run bench [-- --quick] [suite …]: measures the service, compared with the best that the database and Node could
 * do.
 */

import os from 'node:os';
import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { benchBooks } from './books.ts';
import { openCluster, urlOf } from './cluster.ts';
import { openData, type Data } from './data.ts';
import { startGenerator, type Generator } from './load.ts';
import { benchLimits } from './limits.ts';
import { benchLoad } from './overload.ts';
import { benchPeers } from './peers.ts';
import { benchRest } from './rest.ts';
import { benchScale } from './scale.ts';
import { benchStreams } from './streams.ts';
import { benchTools } from './tools.ts';
import { benchWebhooks } from './webhooks.ts';
import { benchWorkers } from './workers.ts';

/** Each suite prints its own tables. */
const suites: Record<string, (bench: Bench) => Promise<void>> = {
  rest: benchRest,
  webhooks: benchWebhooks,
  tools: benchTools,
  streams: benchStreams,
  load: benchLoad,
  limits: benchLimits,
  workers: benchWorkers,
  peers: benchPeers,
};
/** All suites except those that install something or need a machine with several cores. */
const usual = ['rest', 'webhooks', 'tools', 'streams', 'load', 'limits'];

// This suite has its own database.
if (process.argv[2] === 'books') {
  await benchBooks();
  process.exit(0);
}

// This suite has its own database and options.
if (process.argv[2] === 'scale') process.exit((await benchScale(process.argv.slice(3))) ? 0 : 1);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    keep: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const chosen = positionals.length > 0 ? positionals : usual;
const unknown = chosen.filter((name) => !(name in suites));
if (values.help || unknown.length > 0) {
  process.stdout.write(
    `npm run bench -- [--quick] [suite …]\n\n  suites       ${usual.join(', ')} (these when none is named); workers: one process and two;\n` +
      '               peers: beside Directus, PostGraphile, Strapi and Fastify, which npm installs into a temporary directory\n' +
      '  --quick      100,000 contacts and short measurements\n' +
      '  --keep DIR   keeps the installed peers in DIR for another run\n\n' +
      'npm run bench -- books: what is computed of uploaded books, and the request for their page.\n' +
      'npm run bench -- scale --help: everything that the service answers, with a platform behind it.\n\n' +
      'Starts a PostgreSQL of its own; with DATABASE_URL (a login that may create databases and roles) it uses a database of its own there.\n',
  );
  process.exit(unknown.length > 0 ? 2 : 0);
}

const cluster = await openCluster();
let data: Data | undefined;
let generator: Generator | undefined;
try {
  data = await openData(cluster);
  generator = startGenerator();
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const [cpu] = os.cpus();
  say(`${os.availableParallelism()} × ${cpu?.model ?? 'CPU'}, Node.js ${process.versions.node}, ${cluster.version}`);
  say('Database, server and load generator share the machine.\n');
  const size = values.quick ? { rows: 100_000, seconds: 1.5, rounds: 2 } : { rows: 1_000_000, seconds: 4, rounds: 4 };
  const bench: Bench = {
    cluster,
    databaseUrl: urlOf(cluster.server),
    data,
    generator,
    ...size,
    keep: values.keep ?? null,
    say,
  };
  for (const name of chosen) await suites[name]?.(bench);
} finally {
  generator?.stop();
  await data?.close();
  await cluster.close();
}
