/**
 * `node clients/day/system.ts <options as JSON>`: the second system, as its makers would write it with the typed client. It keeps its people in step with
 * the contacts of Dealkeep both ways, mirrors deals with their offers and documents, and receives webhooks. It may end at any moment, by
 * SIGKILL, and goes on from what it has kept when it is started again.
 */

import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { randomOf } from '../../test/hostile/random.ts';
import {
  Conflict,
  Dealkeep,
  DealkeepError,
  etagOf,
  NotFound,
  NotReached,
  RateLimited,
  ServiceFailed,
  verifyWebhook,
  type ContactBatchResult,
  type ContactPatch,
  type ContactRecord,
  type Event,
} from '../typescript/src/index.ts';
import { openStore, type Card, type Person, type Sending } from './store.ts';

/** How it is started. */
export interface SystemOptions {
  readonly url: string;
  readonly key: string;
  readonly directory: string;
  /** Where webhooks are received. */
  readonly port: number;
  readonly seed: number;
  /** It kills itself after so many answers; 0: it does not. */
  readonly crashAfter: number;
}

/** The files of a directory of the second system. */
export const storeFile = (directory: string): string => path.join(directory, 'store.sqlite');
/** The file with the content of a document that was copied. */
export const contentFile = (directory: string, documentId: string): string =>
  path.join(directory, 'documents', documentId);

/** What a copy of a deal holds. */
export async function copyOf(dealkeep: Dealkeep, dealId: string) {
  const all = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
    const found: T[] = [];
    for await (const one of list) found.push(one);
    return found;
  };
  const [offers, documents] = await Promise.all([
    all(dealkeep.each('listOffers', { dealId })),
    all(dealkeep.each('listDocuments', { dealId })),
  ]);
  return { deal: await dealkeep.getDeal({ dealId }), offers, documents };
}

async function live({ url, key, directory, port, seed, crashAfter }: SystemOptions): Promise<void> {
  const store = openStore(storeFile(directory));
  const random = randomOf(seed);
  let left = crashAfter;
  /** A moment at which it may end: what was answered is not kept yet. */
  const mayCrash = () => {
    left -= 1;
    if (crashAfter > 0 && left <= 0) process.kill(process.pid, 'SIGKILL');
  };
  const dealkeep = new Dealkeep({
    url,
    key,
    attempts: 2,
    async fetch(input, init) {
      const answer = await fetch(input, init);
      // Between two polls nothing is under way that a crash could break off.
      if (!String(input).includes('/events?')) mayCrash();
      return answer;
    },
  });

  const read = async (contactId: string): Promise<{ record: ContactRecord; tag: string | null } | null> => {
    try {
      const answer = await dealkeep.getContact({ contactId, expand: 'record', archived: 'true' });
      return { record: answer as ContactRecord, tag: etagOf(answer) };
    } catch (error) {
      if (error instanceof NotFound) return null;
      throw error;
    }
  };

  /** What is to be sent next; null when all is there as it is here. */
  function next(): Sending | null {
    const waiting = store.waiting();
    const added = waiting.filter(({ dealkeep: there }) => there === null);
    const sending = { key: randomUUID(), body: null, tag: null };
    if (added.length > 0) {
      const items = added.map(({ id, card }) => ({ action: 'upsert', externalId: id, contact: withoutNulls(card) }));
      return { ...sending, kind: 'create', people: added.map(({ id }) => id), body: { items } };
    }
    const [person] = waiting;
    if (person?.agreed == null) return null;
    const { id, agreed, isArchived, tag } = person;
    const changes = agreed.isArchived ? {} : changesOf(person);
    if (Object.keys(changes).length > 0) return { ...sending, kind: 'change', people: [id], body: changes, tag };
    return { ...sending, kind: isArchived ? 'archive' : 'restore', people: [id] };
  }

  async function send({ key: idempotencyKey, kind, people, body, tag }: Sending): Promise<void> {
    const [id = ''] = people;
    const contactId = store.person(id)?.dealkeep ?? '';
    try {
      if (kind === 'create') {
        const { results } = await dealkeep.batchContacts({ idempotencyKey, body: body as never });
        store.together(() => {
          results.forEach(({ contact, error }: ContactBatchResult['results'][number], nth) => {
            if (!contact) throw new Error(`${people[nth]} was not taken: ${error?.message}`);
            store.agree(people[nth] ?? '', contact, null);
          });
          store.sent();
        });
        return;
      }
      const answer =
        kind === 'change'
          ? await dealkeep.updateContact({
              contactId,
              idempotencyKey,
              ...(tag !== null && { ifMatch: tag }),
              body: body as ContactPatch,
            })
          : await dealkeep[kind === 'archive' ? 'archiveContact' : 'restoreContact']({ contactId, idempotencyKey });
      store.together(() => {
        store.agree(id, answer, etagOf(answer));
        store.sent();
      });
    } catch (error) {
      if (!(error instanceof Conflict) || kind === 'create') throw error;
      // A change there was quicker: with it, it is decided anew.
      const there = await read(contactId);
      store.together(() => {
        if (there) store.take(there.record, there.tag);
        store.sent();
      });
    }
  }

  /** Sends what was changed here, one change after another. */
  async function push(): Promise<void> {
    for (;;) {
      const kept = store.sending();
      const sending = kept ?? next();
      if (sending === null) return;
      const [id = ''] = sending.people;
      const person = store.person(id);
      // Nobody's change is overwritten: without a tag, what is there is read first.
      if (!kept && sending.kind === 'change' && sending.tag === null && !isOnlyLink(sending.body)) {
        const there = await read(person?.dealkeep ?? '');
        if (there) store.together(() => store.take(there.record, there.tag));
        continue;
      }
      if (!kept) store.send(sending);
      await send(sending);
    }
  }

  /** Takes over what changed there, and remembers up to where. */
  async function take(events: readonly Event[], cursor: string): Promise<void> {
    const contacts = new Set(
      events.filter(({ objectType }) => objectType === 'contact').map(({ objectId }) => objectId),
    );
    const found: Awaited<ReturnType<typeof read>>[] = [];
    for (const id of contacts) found.push(await read(id));
    store.together(() => {
      for (const there of found) if (there) store.take(there.record, there.tag);
      for (const { dealId } of events) if (dealId !== null) store.stale(dealId);
      store.note('cursor', cursor);
    });
  }

  async function keepContent(documentId: string): Promise<void> {
    const answer = await dealkeep.getDocumentContent({ documentId });
    const file = contentFile(directory, documentId);
    writeFileSync(`${file}.part`, Buffer.from(await answer.arrayBuffer()));
    renameSync(`${file}.part`, file);
  }

  async function mirror(): Promise<void> {
    for (const id of store.staleDeals()) {
      try {
        const copy = await copyOf(dealkeep, id);
        for (const document of copy.documents) await keepContent(document.id);
        store.copy(id, copy);
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
        store.copy(id, null);
      }
    }
  }

  /** The first time: a cursor, then everything that there is. What changes meanwhile is told behind the cursor. */
  async function begin(): Promise<void> {
    if (store.noted('webhook') === undefined) {
      const keyOfWebhook = store.noted('webhook key') ?? randomUUID();
      store.note('webhook key', keyOfWebhook);
      const { secret } = await dealkeep.createWebhook({
        idempotencyKey: keyOfWebhook,
        body: { url: `http://127.0.0.1:${port}/dealkeep` },
      });
      store.note('webhook', secret);
    }
    if (store.noted('cursor') === undefined) {
      const { pagination } = await dealkeep.listEvents({ after: 'latest' });
      store.note('cursor', pagination.nextCursor ?? '');
    }
    if (store.noted('listed') !== undefined) return;
    for await (const contact of dealkeep.each('listContacts', {
      archived: 'true',
      expand: 'record',
      sort: 'updatedAt',
    }))
      store.together(() => store.take(contact as ContactRecord, null));
    for await (const { id } of dealkeep.each('listDeals')) store.stale(id);
    store.note('listed', 'yes');
  }

  async function follow(): Promise<void> {
    // What was on its way when it ended is brought to its end before anything else.
    const kept = store.sending();
    if (kept) await send(kept);
    await begin();
    await push();
    for await (const { data, cursor } of dealkeep.follow({ after: store.noted('cursor'), every: 0.2 })) {
      await take(data, cursor);
      await push();
      await mirror();
    }
  }

  mkdirSync(path.join(directory, 'documents'), { recursive: true });
  http
    .createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        void verifyWebhook<Event>({
          body: Buffer.concat(parts),
          headers: request.headers,
          secret: store.noted('webhook') ?? '',
        }).then(
          ({ id, event }) => {
            // It fails half the time: before it has kept what came, or after.
            const luck = random();
            if (luck < 0.2) return void response.writeHead(500).end('Try later.');
            if (luck < 0.3) return void request.socket.destroy();
            store.receive(id, event.type, event.objectId);
            if (luck < 0.4) return void request.socket.destroy();
            if (luck < 0.5) return void response.writeHead(503).end();
            mayCrash();
            response.writeHead(204).end();
          },
          () => void response.writeHead(400).end(),
        );
      });
    })
    .listen(port, '127.0.0.1');

  for (;;) {
    try {
      await follow();
    } catch (error) {
      const isPassing = error instanceof NotReached || error instanceof ServiceFailed || error instanceof RateLimited;
      // An answer that broke off in the middle is no answer either.
      if (!isPassing && !(error instanceof TypeError) && !(error instanceof SyntaxError)) throw error;
      if (error instanceof DealkeepError && error.status === 500) process.stderr.write(`${error.message}\n`);
      await pause(100);
    }
  }
}

/** What a contact is made with: properties that are not there are left out. */
const withoutNulls = (card: Card): object =>
  Object.fromEntries(Object.entries(card).filter(([, value]) => value !== null));

/** What is other here than both agreed, and this system's id where there is none. */
function changesOf({ id, card, agreed, isLinked }: Person): Record<string, unknown> {
  const changed = Object.entries(card).filter(([name, value]) => agreed?.card[name as keyof Card] !== value);
  return { ...Object.fromEntries(changed), ...(!isLinked && { externalId: id }) };
}

/** To say under which id a person is known here overwrites nothing. */
const isOnlyLink = (body: unknown): boolean => Object.keys(body as object).join() === 'externalId';

/** SHA-256 of some content, in hexadecimal digits. */
export const digestOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

if (process.argv[1] === import.meta.filename) await live(JSON.parse(process.argv[2] ?? '{}') as SystemOptions);
