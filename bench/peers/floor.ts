/** The minimum of a service with Fastify and `pg`: a `where`, without authentication or authorization. */

import path from 'node:path';
import { urlOf } from '../cluster.ts';
import { freePort } from '../free-port.ts';
import { startPeer } from '../processes.ts';
import { copyContacts, newContact, type Peer } from './peer.ts';

export const floor: Peer = {
  name: 'floor',
  packages: { fastify: '5.12.8', pg: '8.23.1' },
  async start(setup) {
    await copyContacts(setup);
    const port = await freePort();
    const service = await startPeer('the floor', [path.join(import.meta.dirname, 'floor-server.ts')], {
      node: setup.node,
      cwd: setup.directory,
      env: { DATABASE_URL: urlOf(setup.owner), SCHEMA: setup.schema, PORT: String(port) },
      ready: `http://127.0.0.1:${port}/ready`,
    });
    const contacts = (brokerage: string) => `/brokerages/${brokerage}/contacts`;
    return {
      service,
      created: 201,
      get: ({ brokerage, id }) => ({ method: 'GET', target: `${contacts(brokerage)}/${id}`, headers: {} }),
      page: (brokerage) => ({ method: 'GET', target: contacts(brokerage), headers: {} }),
      create: (brokerage) => ({
        method: 'POST',
        target: contacts(brokerage),
        headers: {},
        body: { type: 'person', ...newContact },
      }),
    };
  },
};
