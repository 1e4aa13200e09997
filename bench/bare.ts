/** The minimal server: node:http, our connection pool, the same transaction, the rows as JSON; nothing else. */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openDatabase } from '../server/database/database.ts';
import { apiKeyDigest, type KeyQuestion } from '../server/domain/clients/api-keys.ts';
import { contactsPage, createContact, type NewContact } from '../server/domain/contacts/contacts.ts';
import { contactRecord } from '../server/domain/contacts/records.ts';
import { dealsForKey } from '../server/domain/deals/deals.ts';
import { changesAfter } from '../server/domain/events/changes.ts';
import { askForKey } from '../server/rest/caller.ts';

const database = openDatabase({ url: process.env['DATABASE_URL'] ?? '', poolSize: 10 });
const nowhere = { address: null, requestId: null };

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

const everyDeal = { words: null, state: null, updatedSince: null };

/** Answers /contacts/<id>, /contacts, /contacts?<createdAt>,<id>, POST /contacts, /deals and /events. */
async function questionOf(request: IncomingMessage): Promise<KeyQuestion<unknown>> {
  const url = request.url ?? '';
  if (request.method === 'POST') return createContact(JSON.parse(await bodyOf(request)) as NewContact, null, nowhere);
  if (url === '/deals') return dealsForKey(everyDeal, null, 51);
  if (url === '/events') return changesAfter('0', 51, null);
  if (url.startsWith('/contacts/')) return contactRecord(url.slice(10), false);
  const [createdAt = '', id = ''] = url.slice(10).split(',');
  return contactsPage(51, id ? { createdAt, id } : null);
}

const server = createServer((request, response) => {
  const digest = apiKeyDigest(request.headers.authorization?.slice(7) ?? '') ?? Buffer.alloc(32);
  void questionOf(request)
    .then((question) => askForKey(database, digest, question))
    .then(({ answer }) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(answer));
    })
    .catch((error: Error) => {
      response.statusCode = 500;
      response.end(error.message);
    });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on('SIGTERM', () => {
  server.close(() => void database.close());
  server.closeAllConnections();
});
