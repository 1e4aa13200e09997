/**
 * Directus with its MCP server: set up by its command line, with a service account that may read and create contacts.
 */

import { randomBytes } from 'node:crypto';
import { freePort } from '../free-port.ts';
import { startPeer } from '../processes.ts';
import { columns, copyContacts, newContact, run, type Ask, type Peer } from './peer.ts';

/** Sends a request as the administrator; returns the response's `data`. */
async function administer(origin: string, token: string, method: string, target: string, body: object) {
  const response = await fetch(`${origin}${target}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok)
    throw new Error(`Directus answered ${method} ${target} with ${response.status}: ${text.slice(0, 300)}`);
  return text === '' ? {} : (JSON.parse(text) as { data: Record<string, string> }).data;
}

export const directus: Peer = {
  name: 'Directus 12',
  packages: { directus: '12.4.0' },
  // One of its packages cannot be built for a newer Node.js.
  node: '22.23.3',
  async start(setup) {
    const { directory, node, owner, schema } = setup;
    await copyContacts(setup);
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const administrator = randomBytes(24).toString('hex');
    const env = {
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      PUBLIC_URL: origin,
      SECRET: randomBytes(32).toString('hex'),
      DB_CLIENT: 'pg',
      DB_HOST: owner.host,
      DB_PORT: String(owner.port),
      DB_DATABASE: owner.database,
      DB_USER: owner.user,
      DB_PASSWORD: owner.password,
      DB_SEARCH_PATH: schema,
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: randomBytes(16).toString('hex'),
      ADMIN_TOKEN: administrator,
      TELEMETRY: 'false',
      // Otherwise Directus responds 503 under load, which it is under all the time here.
      PRESSURE_LIMITER_ENABLED: 'false',
      LOG_LEVEL: 'warn',
    };
    const program = 'node_modules/directus/cli.js';
    await run(node, [program, 'bootstrap'], directory, env);
    const service = await startPeer('Directus', [program, 'start'], {
      node,
      cwd: directory,
      env,
      ready: `${origin}/server/ping`,
    });
    const set = (method: string, target: string, body: object) =>
      administer(origin, administrator, method, target, body);
    try {
      await set('PATCH', '/collections/contacts', { meta: { hidden: false } });
      await set('PATCH', '/fields/contacts/id', { meta: { special: ['uuid'] } });
      await set('PATCH', '/settings', { mcp_enabled: true });
      // Row-level rules need a licence: the account may read all contacts, and the requests name the brokerage.
      const policy = await set('POST', '/policies', { name: 'Contacts', admin_access: false, app_access: false });
      for (const action of ['read', 'create']) {
        await set('POST', '/permissions', { policy: policy['id'], collection: 'contacts', action, fields: ['*'] });
      }
      const token = randomBytes(24).toString('hex');
      const role = await set('POST', '/roles', { name: 'Service' });
      await set('POST', '/access', { role: role['id'], policy: policy['id'] });
      await set('POST', '/users', { email: 'service@example.com', role: role['id'], token, status: 'active' });
      const headers = { Authorization: `Bearer ${token}` };
      const items = (target: string): Ask => ({ method: 'GET', target: `/items/contacts${target}`, headers });
      const fields = columns.join(',');
      return {
        service,
        created: 200,
        get: ({ id }) => items(`/${id}?fields=${fields}`),
        page: (brokerage) =>
          items(`?fields=${fields}&filter[brokerage_id][_eq]=${brokerage}&sort=-created_at,-id&limit=50`),
        create: (brokerage) => ({
          method: 'POST',
          target: `/items/contacts?fields=${fields}`,
          headers,
          body: {
            brokerage_id: brokerage,
            type: 'person',
            display_name: newContact.displayName,
            email: newContact.email,
            phone: newContact.phone,
          },
        }),
        call: ({ id }) => ({
          method: 'POST',
          target: '/mcp',
          headers: { ...headers, Accept: 'application/json, text/event-stream' },
          body: {
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: {
              name: 'items',
              arguments: { action: 'read', collection: 'contacts', keys: [id], query: { fields: columns } },
            },
          },
        }),
      };
    } catch (error) {
      await service.stop();
      throw error;
    }
  },
};
