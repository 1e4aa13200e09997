/**
 * Exporting and erasing a person's data, deleting brokerages, and legal holds: the operator's commands, on the owner's
 * connection.
 */

import type pg from 'pg';
import { inTransaction } from '../../database/transaction.ts';
import { isUuid } from '../../lib/uuid.ts';
import { brokerageNamed, NotPossible, record, type Brokerage } from './administration.ts';

interface KnownPerson {
  id: string;
  email: string;
  name: string;
}

export type HoldKind = 'deal' | 'brokerage' | 'person';

interface LegalHold {
  kind: HoldKind;
  subject_id: string;
  reference: string | null;
  placed_at: string;
}

/** The person with this address or id; null when nobody has an account with it. */
async function accountNamed(client: pg.ClientBase, emailOrId: string): Promise<KnownPerson | null> {
  const text =
    'select id, email, name from public.users where (email = lower($1) or id::text = lower($1)) and sandbox_id is null';
  const { rows } = await client.query<KnownPerson>(text, [emailOrId]);
  return rows[0] ?? null;
}

/** The contacts of all brokerages with the address of somebody who has no account. Throws {@link NotPossible}. */
async function contactsNamed(client: pg.ClientBase, email: string): Promise<string[]> {
  const text = 'select k.id from app.contacts_with_address(lower($1)) k order by k.id';
  const { rows } = await client.query<{ id: string }>(text, [email]);
  if (rows.length === 0) throw new NotPossible(`Nobody has the e-mail address or id "${email}".`);
  return rows.map(({ id }) => id);
}

/** The contact with this id, erased or not; null when there is none. */
async function contactWithId(client: pg.ClientBase, id: string): Promise<{ id: string; email: string | null } | null> {
  if (!isUuid(id)) return null;
  const text = 'select id, email from public.contacts where id = $1::uuid';
  return (await client.query<{ id: string; email: string | null }>(text, [id])).rows[0] ?? null;
}

async function together<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  try {
    return await inTransaction(client, work);
  } catch (error) {
    // DK001: the database refuses with a message for people.
    if ((error as { code?: string }).code === 'DK001')
      throw new NotPossible((error as Error).message, { cause: error });
    throw error;
  }
}

/**
 * Returns all data about a person, by kind, as JSON text; of an address that only contacts have, these. Throws
 * {@link NotPossible} when there is no such person.
 */
export async function exportPerson(client: pg.ClientBase, emailOrId: string): Promise<string> {
  return together(client, async () => {
    const person = await accountNamed(client, emailOrId);
    if (person === null) {
      const contacts = await contactsNamed(client, emailOrId);
      const text = `select jsonb_build_object('contacts', app.contact_data(lower($1)))::text as data`;
      const { rows } = await client.query<{ data: string }>(text, [emailOrId]);
      for (const id of contacts) await record(client, 'person.export', null, id, {});
      return rows[0]?.data ?? '{}';
    }
    const { rows } = await client.query<{ data: string }>('select app.person_data($1, true)::text as data', [
      person.id,
    ]);
    await record(client, 'person.export', null, person.id, {});
    return rows[0]?.data ?? '{}';
  });
}

/** An erased person; `id` is null and `contacts` how many were erased when only contacts had the address. */
export interface Erased {
  readonly id: string | null;
  readonly pseudonym: string;
  readonly contacts?: number;
  /** The ids of these contacts, without duplicates merged with them. */
  readonly contact_ids?: readonly string[];
}

/**
 * Erases a person and returns the pseudonym that replaces them in records of deals. Somebody without an account is
 * erased in the contacts that have their address; the id of a contact erases this one. `forget` is called with the
 * person's address, unless it is a contact's and an account has it, and the ids of the mails that they received or
 * caused, before these are lost; when it rejects, nothing is erased. Throws {@link NotPossible} when there is no such
 * person or something has to be done first.
 */
export async function erasePerson(
  client: pg.ClientBase,
  emailOrId: string,
  forget: (email: string, mails: readonly string[]) => Promise<void>,
): Promise<Erased> {
  return together(client, async () => {
    const person = await accountNamed(client, emailOrId);
    if (person === null) {
      const one = await contactWithId(client, emailOrId);
      const found = one ? [one.id] : await contactsNamed(client, emailOrId);
      const { rows } = await client.query<{ contacts: number }>(
        `select app.erase_contacts($1, lower($2), 'operator', null, null) as contacts`,
        [found, one ? null : emailOrId],
      );
      const email = one ? one.email : emailOrId;
      // Mails to an account with the address of the contact are about its person, who stays.
      if (email !== null && (await accountNamed(client, email)) === null) await forget(email.toLowerCase(), []);
      return {
        id: null,
        pseudonym: 'Former participant',
        contacts: rows[0]?.contacts ?? 0,
        contact_ids: found,
      };
    }
    const mails = await client.query<{ id: string }>('select m.id from app.mails_of_person($1) m (id)', [person.id]);
    const text = `select app.erase_person($1, 'operator', null) as pseudonym`;
    const { rows } = await client.query<{ pseudonym: string }>(text, [person.id]);
    await forget(
      person.email,
      mails.rows.map((mail) => mail.id),
    );
    return { id: person.id, pseudonym: rows[0]?.pseudonym ?? '' };
  });
}

interface MarkedBrokerage extends Brokerage {
  due_at: string;
}

/**
 * Schedules a brokerage for deletion after `days` days, and notifies its admins by mail. Throws {@link NotPossible}.
 */
export async function markBrokerage(client: pg.ClientBase, idOrSlug: string, days: number): Promise<MarkedBrokerage> {
  return together(client, async () => {
    const brokerage = await brokerageNamed(client, idOrSlug);
    const text = 'select app.mark_brokerage($1, $2, null) as due_at';
    const { rows } = await client.query<{ due_at: Date }>(text, [brokerage.id, days]);
    const due_at = rows[0]?.due_at.toISOString() ?? '';
    await record(client, 'brokerage.ask_deletion', brokerage.id, brokerage.id, { due_at });
    return { ...brokerage, due_at };
  });
}

/** Cancels the scheduled deletion of a brokerage, and notifies its admins. Throws {@link NotPossible}. */
export async function unmarkBrokerage(client: pg.ClientBase, idOrSlug: string): Promise<Brokerage> {
  return together(client, async () => {
    const brokerage = await brokerageNamed(client, idOrSlug);
    const text = 'select app.unmark_brokerage($1, null) as done';
    const { rows } = await client.query<{ done: boolean }>(text, [brokerage.id]);
    if (rows[0]?.done !== true) throw new NotPossible(`${brokerage.slug} is not going to be deleted.`);
    await record(client, 'brokerage.cancel_deletion', brokerage.id, brokerage.id, {});
    return brokerage;
  });
}

/** SQL that finds the subject of a legal hold by its id; a brokerage also by its slug, a person by their address. */
const subjects: Readonly<Record<HoldKind, string>> = {
  deal: 'select d.id, d.organization_id as brokerage_id, false as is_gone from public.deals d where d.id::text = lower($1)',
  brokerage:
    'select b.id, b.id as brokerage_id, false as is_gone from public.brokerages b where (b.id::text = lower($1) or b.slug = lower($1)) and b.sandbox_of is null',
  person:
    'select u.id, null::uuid as brokerage_id, u.erased_at is not null as is_gone from public.users u where (u.id::text = lower($1) or u.email = lower($1)) and u.sandbox_id is null',
};

async function changeHold(
  client: pg.ClientBase,
  kind: HoldKind,
  which: string,
  action: 'hold.place' | 'hold.lift',
  change: (id: string) => Promise<pg.QueryResult>,
  unchanged: string,
): Promise<string> {
  return together(client, async () => {
    // Deletions and erasures lock the table before they check the holds; this lock waits for those in progress.
    await client.query('lock table vault.legal_holds in exclusive mode');
    const { rows } = await client.query<{ id: string; brokerage_id: string | null; is_gone: boolean }>(subjects[kind], [
      which,
    ]);
    const [subject] = rows;
    // A hold on an erased person can still be lifted.
    if (!subject || (subject.is_gone && action === 'hold.place'))
      throw new NotPossible(`There is no ${kind} "${which}".`);
    if ((await change(subject.id)).rowCount === 0) throw new NotPossible(unchanged);
    await record(client, action, subject.brokerage_id, subject.id, { kind });
    return subject.id;
  });
}

/** The progress of a brokerage's deletion that has begun: how much is already deleted. */
interface BegunDeletion {
  readonly begun_at: Date;
  readonly deals: number;
  readonly documents: number;
  readonly people: number;
}

/**
 * Puts a subject under a legal hold: it is neither erased nor deleted until the hold ends. Throws {@link NotPossible}.
 */
export async function placeHold(
  client: pg.ClientBase,
  kind: HoldKind,
  which: string,
  reference: string | null,
): Promise<{ kind: HoldKind; subject_id: string; deletion: BegunDeletion | null }> {
  const text = `insert into vault.legal_holds (kind, subject_id, reference) values ($1, $2, $3) on conflict do nothing`;
  const place = (id: string) => client.query(text, [kind, id, reference]);
  const already = `This ${kind} is already under a legal hold.`;
  const subject_id = await changeHold(client, kind, which, 'hold.place', place, already);
  // The hold stops a deletion that has begun.
  const { rows } = await client.query<BegunDeletion>(
    'select begun_at, deals, documents, people from vault.brokerage_deletions where brokerage_id = $1 and begun_at is not null',
    [subject_id],
  );
  return { kind, subject_id, deletion: rows[0] ?? null };
}

/** Ends a legal hold. Throws {@link NotPossible}. */
export async function liftHold(
  client: pg.ClientBase,
  kind: HoldKind,
  which: string,
): Promise<{ kind: HoldKind; subject_id: string }> {
  const text = 'delete from vault.legal_holds where kind = $1 and subject_id = $2';
  const lift = (id: string) => client.query(text, [kind, id]);
  const none = `This ${kind} is not under a legal hold.`;
  return { kind, subject_id: await changeHold(client, kind, which, 'hold.lift', lift, none) };
}

/** Returns the legal holds, latest first. */
export async function listHolds(client: pg.ClientBase): Promise<LegalHold[]> {
  const text =
    'select kind, subject_id, reference, placed_at from vault.legal_holds order by placed_at desc, subject_id';
  return (await client.query<LegalHold>(text)).rows;
}
