/**
 * node bench/scale-serve.ts DIRECTORY [DEALS]: creates the database of a platform in the directory, or opens the
 * existing one, and keeps PostgreSQL running until it is interrupted. Connections and credentials are written to
 * DIRECTORY/README.
 */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { urlOf } from './cluster.ts';
import { openPlatform } from './scale-data.ts';

const [directory, deals] = process.argv.slice(2);
if (directory === undefined) {
  process.stderr.write('Usage: node bin/run.js node bench/scale-serve.ts DIRECTORY [DEALS]\n');
  process.exit(2);
}
const say = (line: string) => void process.stdout.write(`${line}\n`);
const baseUrl = process.env['BASE_URL'] ?? 'http://127.0.0.1:4100';
const platform = await openPlatform({ directory, deals: deals ? Number(deals) : null, baseUrl, say });
const { postgres, superuser, people, apiKeys } = platform;
const text = [
  `${platform.deals.toLocaleString('en-US')} deals of ordinary brokerages and those of a large one. PostgreSQL runs while scale-serve.ts does:`,
  `  node bin/run.js node bench/scale-serve.ts ${directory}`,
  '',
  `as the superuser  ${urlOf(superuser)}`,
  `as the server     ${urlOf(postgres.server)}`,
  `as the owner      ${urlOf(postgres.owner)}`,
  '',
  `the service on it  DATABASE_URL=<as the server> BASE_URL=${baseUrl} PORT=${new URL(baseUrl).port} DATA_DIR=<an empty directory> npm start`,
  `  pages: Cookie: dealkeep=<session>   tools: Authorization: Bearer <access token>   REST: Authorization: Bearer <key>`,
  `  in SQL: begin; select * from app.enter_with_session(sha256('<session>'));  or  select app.enter_with_token(…)`,
  '',
  ...people.flatMap(({ name, user_id, email, brokerage_id, session_token, access_token, deal_id }) => [
    name,
    `  user ${user_id} ${email}, brokerage ${brokerage_id ?? '–'}, a deal ${deal_id ?? '–'}`,
    `  session ${session_token}   access token ${access_token}`,
  ]),
  '',
  ...apiKeys.map(({ brokerage_id, token }) => `API key of brokerage ${brokerage_id}: ${token}`),
  '',
].join('\n');
writeFileSync(path.join(directory, 'README'), text);
say(text);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void platform.close());
