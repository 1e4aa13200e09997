/**
 * An integrator's day: a second system with ids of its own keeps in step with Dealkeep, while people work at both and both are killed again and
 * again. In the end both have the same, nothing is lost, and nothing is there twice.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { freePort } from '../../bench/free-port.ts';
import { randomOf } from '../../test/hostile/random.ts';
import { Dealkeep, NotReached, RateLimited, ServiceFailed, type ContactRecord } from '../typescript/src/index.ts';
import { cardOf, openStore, type Store } from './store.ts';
import { contentFile, copyOf, digestOf, storeFile, type SystemOptions } from './system.ts';

/** The service that the day is spent with. */
export interface DayService {
  /** Where it is, after every start. */
  readonly url: string;
  /** Ends it by SIGKILL. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** As the owner of its database: for what only people do there, and for hours that pass. */
  sql(text: string): Promise<unknown>;
}

interface DayOptions {
  readonly service: DayService;
  /** A key with every scope: a live one, or a test key, which works in the sandbox. */
  readonly key: string;
  /** An empty directory, for the second system. */
  readonly directory: string;
  readonly seed: number;
  /** How often the service is killed, and how much each side does between. */
  readonly rounds: number;
  readonly edits: number;
  /** How often the second system is killed at least between. */
  readonly crashes: number;
  /** How long both may take to agree in the end, in milliseconds. */
  readonly patience: number;
  readonly say?: (line: string) => void;
}

export interface Day {
  /** What is not as it should be; nothing, if all is well. */
  readonly faults: readonly string[];
  readonly contacts: number;
  readonly deals: number;
  readonly documents: number;
  /** Events told since the beginning, and how many webhooks came of them. */
  readonly events: number;
  readonly serviceKilled: number;
  readonly systemKilled: number;
}

/** Does it again until it is done: whoever works there does not give up because the service is away. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof NotReached || error instanceof ServiceFailed || error instanceof RateLimited)) throw error;
      await pause(100);
    }
}

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) found.push(one);
  return found;
}

/** The second system as a process, started again whenever it has ended. */
function startSystem(options: Omit<SystemOptions, 'crashAfter' | 'seed'>, random: () => number) {
  let child: ChildProcess | undefined;
  const state = { isCalm: false, isOver: false };
  let killed = 0;
  let fault = '';
  const running = (async () => {
    while (!state.isOver && fault === '') {
      const crashAfter = state.isCalm ? 0 : 3 + Math.floor(random() * 20);
      const given: SystemOptions = { ...options, seed: Math.floor(random() * 2 ** 31), crashAfter };
      child = spawn(
        process.execPath,
        [
          '--disable-warning=ExperimentalWarning',
          new URL('system.ts', import.meta.url).pathname,
          JSON.stringify(given),
        ],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      );
      let said = '';
      child.stderr?.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-4_000)));
      const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
      if (signal === 'SIGKILL') killed += 1;
      else fault = `The second system ended with ${code ?? signal}: ${said}`;
    }
  })();
  return {
    get killed() {
      return killed;
    },
    get fault() {
      return fault;
    },
    /** Ends it once more, and lets it live from then on. */
    calm() {
      state.isCalm = true;
      child?.kill('SIGKILL');
    },
    async stop() {
      state.isOver = true;
      child?.kill('SIGKILL');
      await running;
    },
  };
}

/** What a person did last, to be found at both systems in the end. */
interface Expected {
  displayName?: string;
  phone?: string;
  emails?: string[];
  isArchived?: boolean;
}

/** What is not the same at both, and what a person did that is at neither. */
async function compare(dealkeep: Dealkeep, store: Store, expected: ReadonlyMap<string, Expected>, total: number) {
  const faults: string[] = [];
  const contacts = (await collect(
    dealkeep.each('listContacts', { archived: 'true', expand: 'record' }),
  )) as ContactRecord[];
  const people = store.people();
  if (contacts.length !== total) faults.push(`There are ${contacts.length} contacts and not ${total}.`);
  if (people.length !== total) faults.push(`The second system has ${people.length} people and not ${total}.`);
  const byId = new Map(people.map((person) => [person.dealkeep, person]));
  for (const contact of contacts) {
    const person = byId.get(contact.id);
    const isArchived = contact.archivedAt !== null;
    if (!person) faults.push(`${contact.displayName} is not at the second system.`);
    else if (!isDeepStrictEqual(person.card, cardOf(contact)) || person.isArchived !== isArchived)
      faults.push(`${person.id} is ${JSON.stringify(person.card)}, and there ${JSON.stringify(cardOf(contact))}.`);
    // Some have the id of a third system, which stays.
    else if (!isArchived && (contact.externalId ?? '').startsWith('day-') && contact.externalId !== person.id)
      faults.push(`${person.id} has there the id ${contact.externalId}.`);
    const last = expected.get(contact.id);
    if (last?.displayName !== undefined && last.displayName !== contact.displayName)
      faults.push(`${contact.displayName} was ${last.displayName} last.`);
    if (last?.phone !== undefined && last.phone !== contact.phone)
      faults.push(`${contact.displayName} has the number ${contact.phone} and not ${last.phone}.`);
    if (last?.emails && !last.emails.includes(contact.email ?? ''))
      faults.push(`${contact.displayName} has an address that nobody entered: ${contact.email}.`);
    if (last?.isArchived && !isArchived) faults.push(`${contact.displayName} was archived, and is not.`);
  }
  return faults;
}

async function compareDeals(dealkeep: Dealkeep, store: Store, directory: string) {
  const faults: string[] = [];
  const deals = await collect(dealkeep.each('listDeals'));
  const copies = store.copies();
  let documents = 0;
  if (copies.size !== deals.length) faults.push(`The second system has ${copies.size} deals and not ${deals.length}.`);
  for (const { id, title } of deals) {
    const there = await copyOf(dealkeep, id);
    documents += there.documents.length;
    if (!isDeepStrictEqual(copies.get(id), JSON.parse(JSON.stringify(there))))
      faults.push(`The copy of ${title} is not as it.`);
    for (const document of there.documents) {
      const file = contentFile(directory, document.id);
      if (!existsSync(file)) faults.push(`${document.filename} is not copied.`);
      else if (document.sha256 !== null && digestOf(readFileSync(file)) !== document.sha256)
        faults.push(`The copy of ${document.filename} has another content.`);
    }
  }
  return { faults, deals: deals.length, documents };
}

/** Whether every event was received by webhook, once, those of one record in their order. */
async function compareWebhooks(dealkeep: Dealkeep, store: Store, since: string) {
  const faults: string[] = [];
  const places = new Map(store.received().map(({ id }, place) => [id, place]));
  const last = new Map<string, number>();
  let cursor = since;
  let events = 0;
  for (;;) {
    const { data, pagination } = await dealkeep.listEvents({ after: cursor, limit: 200 });
    for (const { id, type, objectId } of data) {
      events += 1;
      const place = places.get(id);
      if (place === undefined) faults.push(`The webhook of ${type} did not come.`);
      else if (place < (last.get(objectId) ?? -1)) faults.push(`The webhook of ${type} came out of order.`);
      last.set(objectId, place ?? -1);
    }
    cursor = pagination.nextCursor ?? cursor;
    if (!pagination.hasMore) return { faults, events };
  }
}

/** Spends it. */
export async function spendDay(options: DayOptions): Promise<Day> {
  const { service, key, directory, seed, rounds, edits, crashes, patience, say = () => {} } = options;
  const random = randomOf(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const dealkeep = new Dealkeep({ url: service.url, key, attempts: 1 });
  const store = openStore(storeFile(directory));
  const expected = new Map<string, Expected>();
  let total = (await collect(dealkeep.each('listContacts', { archived: 'true' }))).length;
  let made = 0;
  let serviceKilled = 0;

  const newCard = (where: string) => {
    made += 1;
    return {
      type: random() < 0.3 ? ('company' as const) : ('person' as const),
      displayName: `${where} ${made}`,
      email: `${where.toLowerCase()}-${made}@day.example`,
      phone: `+1 555 ${String(made).padStart(7, '0')}`,
    };
  };
  const addHere = () => {
    total += 1;
    store.add(newCard('Here'));
  };
  for (let nth = 0; nth < edits; nth += 1) addHere();

  const system = startSystem({ url: service.url, key, directory, port: await freePort() }, random);
  const expecting = (contactId: string): Expected => {
    const found = expected.get(contactId) ?? {};
    expected.set(contactId, found);
    return found;
  };
  /** People whom both know; every fifth is for archiving, and nobody changes them. */
  const known = (isForArchiving: boolean) =>
    store
      .people()
      .filter(
        ({ id, dealkeep: there, isLinked, isArchived }) =>
          there !== null &&
          isLinked &&
          !isArchived &&
          !expected.get(there)?.isArchived &&
          (Number(id.slice('day-'.length)) % 5 === 0) === isForArchiving,
      );

  /** One thing that a person does, here or there. */
  async function work(): Promise<void> {
    const [open, archived] = [known(false), known(true)];
    const person = open.length > 0 ? pick(open) : undefined;
    const token = `${Math.floor(random() * 1e9)}`;
    const idempotencyKey = `${seed}-${made}-${token}`;
    const luck = random();
    if (luck < 0.12) addHere();
    else if (luck < 0.24) {
      total += 1;
      const body = newCard('There');
      await insist(() => dealkeep.createContact({ idempotencyKey, body }));
    } else if (luck < 0.3 && archived.length > 0) {
      const { id, dealkeep: contactId } = pick(archived);
      expecting(contactId ?? '').isArchived = true;
      if (random() < 0.5) store.archive(id);
      else await insist(() => dealkeep.archiveContact({ idempotencyKey, contactId: contactId ?? '' }));
    } else if (luck < 0.34 && archived.length > 1) {
      const [kept, duplicate] = archived;
      const same = kept?.card.type === duplicate?.card.type;
      if (!same) return;
      expecting(duplicate?.dealkeep ?? '').isArchived = true;
      await insist(() =>
        dealkeep.mergeContact({
          idempotencyKey,
          contactId: kept?.dealkeep ?? '',
          body: { from: duplicate?.dealkeep ?? '' },
        }),
      );
    } else if (person && luck < 0.55) {
      store.change(person.id, { displayName: `Here, as ${token}` });
      expecting(person.dealkeep ?? '').displayName = `Here, as ${token}`;
    } else if (person && luck < 0.75) {
      const body = { phone: `+1 ${token}` };
      await insist(() => dealkeep.updateContact({ idempotencyKey, contactId: person.dealkeep ?? '', body }));
      expecting(person.dealkeep ?? '').phone = body.phone;
    } else if (person && luck < 0.82) {
      // Both at once: one of the two is kept, the same at both.
      const [here, there] = [`here-${token}@day.example`, `there-${token}@day.example`];
      (expecting(person.dealkeep ?? '').emails ??= [person.card.email ?? '']).push(here, there);
      store.change(person.id, { email: here });
      await insist(() =>
        dealkeep.updateContact({ idempotencyKey, contactId: person.dealkeep ?? '', body: { email: there } }),
      );
    } else if (luck < 0.88)
      await insist(() => dealkeep.createDeal({ idempotencyKey, body: { title: `Deal ${token}` } }));
    else {
      const deals = await insist(() => collect(dealkeep.each('listDeals')));
      const { id: dealId } = pick(deals);
      if (luck < 0.94) {
        await insist(() => dealkeep.updateDeal({ idempotencyKey, dealId, body: { summary: token } })).catch(isRefused);
        return;
      }
      const about = { filename: `${token}.txt`, category: 'financials', confidentiality: 'public' as const };
      const body = Buffer.from(`A document: ${token}\n`);
      await insist(() => dealkeep.uploadDocument({ idempotencyKey, dealId, ...about, body })).catch(isRefused);
    }
  }

  /** An offer on one of the deals, as it stands now; null where there is none. */
  async function currentOffer(): Promise<string | null> {
    for await (const { id: dealId } of dealkeep.each('listDeals'))
      for await (const { id, isCurrent, acceptedAt } of dealkeep.each('listOffers', { dealId }))
        if (isCurrent && acceptedAt === null) return id;
    return null;
  }

  let since = '';
  let passing: Promise<void> | undefined;
  const over = new AbortController();
  try {
    let until = performance.now() + patience;
    const isLate = () => performance.now() > until || system.fault !== '';
    while (store.noted('webhook') === undefined && !isLate()) await pause(50);
    since = (await insist(() => dealkeep.listEvents({ after: 'latest' }))).pagination.nextCursor ?? '';
    while (store.noted('listed') === undefined && !isLate()) await pause(50);
    for (let round = 0; round < rounds && system.fault === ''; round += 1) {
      const restarted = new AbortController();
      until = performance.now() + patience;
      const killedBefore = system.killed;
      const killing = (async () => {
        await pause(random() * 400);
        await service.kill();
        serviceKilled += 1;
        const died = new Date().toISOString();
        await service.start();
        // What it was sending when it died is its own for a minute: that has passed.
        await service.sql(
          `update webhook_endpoints set claimed_until = now() where claimed_until < timestamptz '${died}' + interval '1 minute'`,
        );
        restarted.abort();
      })();
      // People go on until it has ended in the middle of what they did, too.
      for (let nth = 0; nth < edits || !restarted.signal.aborted || system.killed < killedBefore + crashes; nth += 1) {
        if (isLate()) break;
        await work();
        if (nth >= edits) await pause(50);
      }
      await killing;
      const offerId = await insist(currentOffer);
      if (offerId !== null) await service.sql(newRevision(offerId));
      say(`round ${round + 1}: ${total} contacts, the second system was killed ${system.killed} times`);
    }
    system.calm();
    // Hours pass in which webhooks are sent again.
    passing = (async () => {
      for (; !over.signal.aborted; await pause(500)) await service.sql(hoursPass);
    })();
    for (const agreed = performance.now() + patience; ; await pause(500)) {
      const [contacts, deals, webhooks] = await insist(() =>
        Promise.all([
          compare(dealkeep, store, expected, total),
          compareDeals(dealkeep, store, directory),
          compareWebhooks(dealkeep, store, since),
        ]),
      );
      const faults = [...contacts, ...deals.faults, ...webhooks.faults];
      if (system.fault !== '') faults.unshift(system.fault);
      if (faults.length > 0 && performance.now() < agreed && system.fault === '') continue;
      return {
        faults,
        contacts: total,
        deals: deals.deals,
        documents: deals.documents,
        events: webhooks.events,
        serviceKilled,
        systemKilled: system.killed,
      };
    }
  } finally {
    over.abort();
    await passing;
    await system.stop();
    store.close();
  }
}

/** A deal may be in a state in which it is not changed any more. */
function isRefused(error: unknown): void {
  if ((error as { status?: number }).status !== 409) throw error;
}

/** A buyer submits another revision of an offer, which only a person does. */
const newRevision = (offerId: string): string => `
  do $$ declare current public.offers; begin
    select * into current from public.offers o where o.id = '${offerId}';
    update public.offers set is_current = false where id = current.id;
    insert into public.offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
      values (current.deal_id, current.participant_id, current.buyer_user_id, current.revision_number + 1, true,
        current.payload || jsonb_build_object('terms', 'Revision ' || current.revision_number + 1));
  end $$`;

/** What is to be sent again is due now. */
const hoursPass = `
  update webhook_deliveries set next_attempt_at = now() where state = 'waiting' and next_attempt_at > now();
  update webhook_endpoints set rests_until = null, send_at = now() where send_at > now() and (claimed_until is null or claimed_until <= now());
  select pg_notify('dealkeep_mail', '')`;
