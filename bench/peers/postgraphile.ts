/**
 * PostGraphile: its command line with the Amber preset, JWTs verified by its own preset, and a row-level security
 * policy on the table.
 */

import { createHmac, randomBytes } from 'node:crypto';
import { urlOf } from '../cluster.ts';
import { freePort } from '../free-port.ts';
import { startPeer } from '../processes.ts';
import { copyContacts, newContact, write, type Ask, type Peer } from './peer.ts';

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A JWT (RFC 7519) for a brokerage that expires after a day. */
function token(brokerage: string, secret: string): string {
  const expires = Math.floor(Date.now() / 1000) + 86_400;
  const claims = { aud: 'postgraphile', brokerage_id: brokerage, exp: expires };
  const signed = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const fields = 'rowId type displayName email phone createdAt updatedAt';
const one = `query One($id: UUID!) { contactByRowId(rowId: $id) { ${fields} } }`;
const page = `query Page {
  allContacts(first: 50, orderBy: [CREATED_AT_DESC, ROW_ID_DESC]) { nodes { ${fields} } pageInfo { hasNextPage endCursor } }
}`;
const create = `mutation Create($contact: ContactInput!) {
  createContact(input: { contact: $contact }) { contact { ${fields} } }
}`;

const config = `
import { makePgService } from 'postgraphile/adaptors/pg';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { PgLazyJWTPreset } from 'postgraphile/presets/lazy-jwt';

export default {
  extends: [PostGraphileAmberPreset, PgLazyJWTPreset],
  pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: [process.env.SCHEMA] })],
  grafserv: { port: Number(process.env.PORT), host: '127.0.0.1', graphqlPath: '/graphql', watch: false, pgJwtSecret: process.env.JWT_SECRET },
};
`;

export const postgraphile: Peer = {
  name: 'PostGraphile 5',
  packages: { postgraphile: '5.1.5' },
  async start(setup) {
    const { client, directory, node, schema, visitor } = setup;
    await copyContacts(setup);
    const claimed = `nullif(current_setting('jwt.claims.brokerage_id', true), '')::uuid`;
    await client.query(`
      alter table ${schema}.contacts alter column brokerage_id set default ${claimed};
      alter table ${schema}.contacts enable row level security;
      create policy tenant on ${schema}.contacts using (brokerage_id = ${claimed});
      grant usage on schema ${schema} to "${visitor.user}";
      grant select, insert on ${schema}.contacts to "${visitor.user}"`);
    await write(directory, 'graphile.config.mjs', config);
    const secret = randomBytes(32).toString('hex');
    const port = await freePort();
    const service = await startPeer('PostGraphile', ['node_modules/postgraphile/dist/cli-run.js'], {
      node,
      cwd: directory,
      env: {
        NODE_ENV: 'production',
        GRAPHILE_ENV: 'production',
        DATABASE_URL: urlOf(visitor),
        SCHEMA: schema,
        PORT: String(port),
        JWT_SECRET: secret,
      },
      ready: `http://127.0.0.1:${port}/graphql?query=%7B__typename%7D`,
    });
    const tokens = new Map<string, string>();
    const ask = (brokerage: string, query: string, variables: object): Ask => {
      const known = tokens.get(brokerage) ?? token(brokerage, secret);
      tokens.set(brokerage, known);
      return {
        method: 'POST',
        target: '/graphql',
        headers: { Authorization: `Bearer ${known}`, Accept: 'application/json' },
        body: { query, variables },
      };
    };
    return {
      service,
      created: 200,
      get: ({ brokerage, id }) => ask(brokerage, one, { id }),
      page: (brokerage) => ask(brokerage, page, {}),
      create: (brokerage) => ask(brokerage, create, { contact: { type: 'person', ...newContact } }),
    };
  },
};
