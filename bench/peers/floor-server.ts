/**
 * The server of the floor: Fastify, `pg` and a `where`, without authentication or authorization; started in a directory
 * where both packages are installed.
 */

import { createRequire } from 'node:module';
import path from 'node:path';

/* eslint-disable @typescript-eslint/no-explicit-any */
const require = createRequire(path.join(process.cwd(), 'package.json'));
const fastify = require('fastify')() as any;
const { Pool } = require('pg') as typeof import('pg');

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10 });
const contacts = `${process.env['SCHEMA']}.contacts`;
const columns = 'id, type, display_name, email, phone, created_at, updated_at';

interface Asked {
  params: { brokerage: string; id: string };
  body: { type: string; displayName: string; email: string; phone: string };
}

fastify.get('/brokerages/:brokerage/contacts/:id', async ({ params }: Asked, reply: any) => {
  const text = `select ${columns} from ${contacts} where brokerage_id = $1 and id = $2`;
  const { rows } = await pool.query({ name: 'one', text, values: [params.brokerage, params.id] });
  return rows[0] ?? reply.code(404).send({ error: 'not found' });
});

fastify.get('/brokerages/:brokerage/contacts', async ({ params }: Asked) => {
  const text = `select ${columns} from ${contacts} where brokerage_id = $1 order by created_at desc, id desc limit 51`;
  const { rows } = await pool.query({ name: 'page', text, values: [params.brokerage] });
  return { data: rows.slice(0, 50), more: rows.length > 50 };
});

fastify.post('/brokerages/:brokerage/contacts', async ({ params, body }: Asked, reply: any) => {
  const text = `insert into ${contacts} (brokerage_id, type, display_name, email, phone) values ($1, $2, $3, $4, $5) returning ${columns}`;
  const values = [params.brokerage, body.type, body.displayName, body.email, body.phone];
  const { rows } = await pool.query({ name: 'create', text, values });
  return reply.code(201).send(rows[0]);
});

fastify.get('/ready', () => ({ ready: true }));
await fastify.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
process.on('SIGTERM', () => process.exit(0));
