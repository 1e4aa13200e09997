/**
 * Strapi: a project with one content type and an API token that may read and create; its administration panel is not
 * served.
 */

import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../free-port.ts';
import { startPeer } from '../processes.ts';
import { newContact, write, type Ask, type Peer } from './peer.ts';

const string = { type: 'string' };
const contentType = {
  kind: 'collectionType',
  collectionName: 'contacts',
  info: { singularName: 'contact', pluralName: 'contacts', displayName: 'Contact' },
  options: { draftAndPublish: false },
  attributes: { brokerage: string, type: string, displayName: string, email: { type: 'email' }, phone: string },
};

const core = (kind: string) =>
  `const { factories } = require('@strapi/strapi');\nmodule.exports = factories.createCore${kind}('api::contact.contact');\n`;

/** The files of a project, by their paths. */
const files: Readonly<Record<string, string>> = {
  'config/database.js': `module.exports = ({ env }) => ({ connection: { client: 'postgres', pool: { min: 2, max: 10 }, connection: {
    host: env('DATABASE_HOST'), port: env.int('DATABASE_PORT'), database: env('DATABASE_NAME'), user: env('DATABASE_USERNAME'),
    password: env('DATABASE_PASSWORD'), schema: env('DATABASE_SCHEMA'), ssl: false } } });\n`,
  'config/server.js': `module.exports = ({ env }) => ({ host: '127.0.0.1', port: env.int('PORT'), app: { keys: env.array('APP_KEYS') } });\n`,
  'config/admin.js': `module.exports = ({ env }) => ({ serveAdminPanel: false, auth: { secret: env('ADMIN_JWT_SECRET') },
    apiToken: { salt: env('API_TOKEN_SALT') }, transfer: { token: { salt: env('TRANSFER_TOKEN_SALT') } },
    secrets: { encryptionKey: env('ENCRYPTION_KEY') } });\n`,
  'config/logger.js': `module.exports = { level: 'warn' };\n`,
  'config/middlewares.js': `module.exports = ['strapi::logger', 'strapi::errors', 'strapi::security', 'strapi::cors', 'strapi::poweredBy',
    'strapi::query', 'strapi::body', 'strapi::session', 'strapi::favicon', 'strapi::public'];\n`,
  'src/index.js': `const { writeFileSync } = require('node:fs');
module.exports = { register() {}, async bootstrap({ strapi }) {
  const { accessKey } = await strapi.service('admin::api-token').create({ name: 'bench ' + Date.now(), description: '', type: 'custom',
    lifespan: null, permissions: ['find', 'findOne', 'create'].map((action) => 'api::contact.contact.' + action) });
  writeFileSync('token', accessKey);
} };\n`,
  'src/api/contact/content-types/contact/schema.json': JSON.stringify(contentType),
  'src/api/contact/controllers/contact.js': core('Controller'),
  'src/api/contact/routes/contact.js': core('Router'),
  'src/api/contact/services/contact.js': core('Service'),
  'public/uploads/.gitkeep': '',
};

export const strapi: Peer = {
  name: 'Strapi 5',
  packages: {
    '@strapi/strapi': '5.54.0',
    pg: '8.23.1',
    react: '18.3.1',
    'react-dom': '18.3.1',
    'react-router-dom': '6.30.3',
    'styled-components': '6.1.19',
  },
  async start({ client, directory, node, owner, schema }) {
    for (const [name, text] of Object.entries(files)) await write(directory, name, text);
    await rm(path.join(directory, 'token'), { force: true });
    const port = await freePort();
    const secret = () => randomBytes(16).toString('hex');
    const service = await startPeer('Strapi', ['node_modules/@strapi/strapi/bin/strapi.js', 'start'], {
      node,
      cwd: directory,
      env: {
        NODE_ENV: 'production',
        PORT: String(port),
        APP_KEYS: secret(),
        ADMIN_JWT_SECRET: secret(),
        API_TOKEN_SALT: secret(),
        TRANSFER_TOKEN_SALT: secret(),
        ENCRYPTION_KEY: secret(),
        JWT_SECRET: secret(),
        STRAPI_TELEMETRY_DISABLED: 'true',
        DATABASE_HOST: owner.host,
        DATABASE_PORT: String(owner.port),
        DATABASE_NAME: owner.database,
        DATABASE_USERNAME: owner.user,
        DATABASE_PASSWORD: owner.password,
        DATABASE_SCHEMA: schema,
      },
      ready: `http://127.0.0.1:${port}/_health`,
    });
    try {
      await client.query(`
        insert into ${schema}.contacts (document_id, brokerage, type, display_name, email, phone, created_at, updated_at, published_at)
          select id, brokerage_id, type, display_name, email, phone, created_at, updated_at, created_at from public.contacts;
        create index on ${schema}.contacts (brokerage, created_at desc, id desc)`);
      await client.query(`vacuum (analyze) ${schema}.contacts`);
      const headers = { Authorization: `Bearer ${await readFile(path.join(directory, 'token'), 'utf8')}` };
      const contacts = (target: string): Ask => ({ method: 'GET', target: `/api/contacts${target}`, headers });
      return {
        service,
        created: 201,
        get: ({ id }) => contacts(`/${id}`),
        // Without the total count, which is included by default.
        page: (brokerage) =>
          contacts(
            `?filters[brokerage][$eq]=${brokerage}&sort[0]=createdAt:desc&sort[1]=id:desc` +
              '&pagination[limit]=50&pagination[withCount]=false',
          ),
        create: (brokerage) => ({
          method: 'POST',
          target: '/api/contacts',
          headers,
          body: { data: { brokerage, type: 'person', ...newContact } },
        }),
      };
    } catch (error) {
      await service.stop();
      throw error;
    }
  },
};
