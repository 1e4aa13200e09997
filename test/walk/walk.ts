/**
 * Walks: random steps by random people in a database of their own, which is compared with a plain model (`World`) after
 * each step.
 */

import pg from 'pg';
import { openDatabase, type Database } from '../../server/database/database.ts';
import { Denied, Invalid, Refusal, Conflict } from '../../server/database/errors.ts';
import { row } from '../../server/database/statement.ts';
import { enterWithSession } from '../../server/domain/accounts/sessions.ts';
import { numbersOf } from '../hostile/random.ts';
import { anyId } from '../ids.ts';
import { makers, ofTime, weights } from './moves.ts';
import { sweep } from './moves-deals.ts';
import { nameOf, sessionOf, type Step } from './step.ts';
import { everythingSeen, everythingSeenSql } from './rules.ts';
import { emptyWorld, type World } from './world.ts';

/** The number of people in a walk; the first five are members of the two brokerages. */
const people = 12;

const kinds = [...Object.keys(makers), ...ofTime].flatMap((kind) =>
  Array.from({ length: weights[kind] ?? 1 }, () => kind),
);

/** Returns the steps of the walk with this seed. */
export function stepsOf(seed: number, count: number): Step[] {
  const next = numbersOf(seed);
  const below = (n: number) => next() % n;
  return Array.from({ length: count }, () => ({
    kind: kinds[below(kinds.length)]!,
    // Members of brokerages act more often: without them little happens.
    who: below(3) === 0 ? below(5) : below(people),
    able: below(10) < 7,
    deal: below(4),
    a: below(1000),
    b: below(1000),
    c: below(1000),
    looks: below(people),
  }));
}

export interface Failure {
  /** The index of the step that failed. */
  readonly at: number;
  /** What the database and the world disagree on. */
  readonly about: string;
}

export interface Walked {
  readonly failure: Failure | null;
  /** The steps that could be attempted, as sentences. */
  readonly tried: readonly string[];
  readonly allowed: number;
  /** How many times a person's view was compared. */
  readonly looks: number;
}

export interface WalkSetup {
  /** Connected as the owner, to a database that is empty but migrated. */
  readonly owner: pg.Client;
  readonly database: Database;
  clock: Date;
}

/** Connects to an empty, migrated database whose clock the walk moves. */
export async function openSetup(connections: { owner: pg.ClientConfig; server: pg.ClientConfig }): Promise<WalkSetup> {
  const owner = new pg.Client(connections.owner);
  await owner.connect();
  const setup: WalkSetup = {
    owner,
    clock: new Date('2026-03-02T09:00:00Z'),
    database: openDatabase({ connection: connections.server, poolSize: 1, clock: () => setup.clock }),
  };
  return setup;
}

/** Ends the connections to the database of a walk. */
export async function closeSetup({ owner, database }: WalkSetup): Promise<void> {
  await database.close();
  await owner.end();
}

const look = row<Record<string, string[]>, []>('walk_everything_seen', everythingSeenSql);
const sweepUp = row<unknown, []>('walk_sweep', 'select app.sweep()');

async function populate({ owner, clock }: WalkSetup, world: World): Promise<void> {
  const made = async (text: string, values: unknown[]) => (await owner.query<{ id: string }>(text, values)).rows[0]!.id;
  await owner.query(`select set_config('dealkeep.now', $1, false)`, [clock.toISOString()]);
  for (const slug of ['first', 'second'])
    world.brokerages.push(await made('insert into brokerages (slug, name) values ($1, $1) returning id', [slug]));
  for (let n = 0; n < people; n += 1)
    world.people.push(
      await made('insert into users (email, name) values ($1, $2) returning id', [`p${n}@example.test`, `p${n}`]),
    );
  const roles = [
    [0, 0, 'admin'],
    [1, 0, 'broker'],
    [2, 0, 'broker'],
    [3, 1, 'admin'],
    [4, 1, 'broker'],
  ] as const;
  for (const [person, brokerage, role] of roles) {
    const member = { brokerage: world.brokerages[brokerage]!, person: world.people[person]!, role };
    await owner.query('insert into members (brokerage_id, user_id, role) values ($1, $2, $3)', Object.values(member));
    world.members.push({ ...member, goesBy: member.person, status: 'active', joined: true, link: null, linkUntil: 0 });
  }
  for (const person of world.people)
    await owner.query(`insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password')`, [
      person,
      sessionOf(person),
    ]);
}

/** Lets time pass; everybody stays signed in, as if they had just signed in. */
async function wait(setup: WalkSetup, world: World, millis: number): Promise<void> {
  world.now += millis;
  setup.clock = new Date(world.now);
  await setup.owner.query(`select set_config('dealkeep.now', $1, false)`, [setup.clock.toISOString()]);
  await setup.owner.query(
    'update vault.sessions set last_seen_at = app.now(), authenticated_at = app.now(), created_at = app.now()',
  );
}

const isNo = (error: unknown): boolean =>
  error instanceof Denied || error instanceof Refusal || error instanceof Invalid || error instanceof Conflict;

/** Compares what one person sees with the world; returns null, or a description of the difference. */
async function difference(setup: WalkSetup, world: World, person: string): Promise<string | null> {
  const [, seen] = await setup.database.together(enterWithSession(sessionOf(person)), look());
  const expected = everythingSeen(world, person);
  for (const [table, want] of Object.entries(expected)) {
    const got = (seen?.[table] ?? []).toSorted();
    if (got.join('\n') === want.join('\n')) continue;
    const more = got.filter((id) => !want.includes(id));
    const less = want.filter((id) => !got.includes(id));
    return (
      `${nameOf(world, person)} and ${table}:` +
      (more.length > 0 ? ` sees ${more.map((id) => named(world, id)).join(', ')}, and should not.` : '') +
      (less.length > 0 ? ` does not see ${less.map((id) => named(world, id)).join(', ')}, and should.` : '')
    );
  }
  return null;
}

/** Replaces each id in a text with its name in the walk, or with its last four characters if it has none. */
function named(world: World, text: string): string {
  return text.replace(anyId, (id) => {
    const person = world.people.indexOf(id);
    if (person >= 0) return `p${person}`;
    const brokerage = world.brokerages.indexOf(id);
    if (brokerage >= 0) return `b${brokerage}`;
    const deal = world.deals.findIndex((one) => one.id === id);
    if (deal >= 0) return `d${deal}`;
    const part = world.parts.find((one) => one.id === id);
    if (part) return `p${world.people.indexOf(part.person)} of d${world.deals.indexOf(part.deal)}`;
    return id.slice(-4);
  });
}

/**
 * Takes the steps until the database and the world differ. Every hundredth step and at the end, everybody's view is
 * compared.
 */
export async function walk(setup: WalkSetup, steps: readonly Step[]): Promise<Walked> {
  const world = emptyWorld(setup.clock.getTime());
  await populate(setup, world);
  const known = new Map<string, string[]>();
  const tried: string[] = [];
  let allowed = 0;
  let looks = 0;

  /** Returns the id of the row that a step inserted. */
  async function newest(table: string): Promise<string> {
    const before = known.get(table) ?? [];
    const { rows } = await setup.owner.query<{ id: string }>(`select id from ${table} where id <> all ($1)`, [before]);
    if (rows.length !== 1) throw new Error(`A step made ${rows.length} rows in ${table}.`);
    known.set(table, [...before, rows[0]!.id]);
    return rows[0]!.id;
  }

  /** Reads the ids under which the members are listed now. */
  async function learnIds(): Promise<void> {
    const { rows } = await setup.owner.query<{ brokerage_id: string; user_id: string; person_id: string }>(
      'select brokerage_id, user_id, person_id from members',
    );
    for (const member of world.members)
      member.goesBy =
        rows.find((one) => one.brokerage_id === member.brokerage && one.user_id === member.person)?.person_id ??
        member.person;
  }

  async function take(step: Step): Promise<string | null> {
    if (step.kind === 'wait') {
      const hours = step.a % 3 === 0 ? (step.b % 12) * 24 : (step.b % 5) + 1;
      tried.push(`${hours} hours pass`);
      await wait(setup, world, hours * 3_600_000);
      return null;
    }
    if (step.kind === 'sweep') {
      tried.push('the server writes down what has lapsed');
      await setup.database.run(sweepUp());
      sweep(world);
      return null;
    }
    const make = makers[step.kind]!;
    if (step.kind === 'changeMember' || step.kind === 'removeMember') await learnIds();
    const inTurn = world.people.map((_, index) => world.people[(step.who + index) % people]!);
    const me = (step.able && inTurn.find((person) => make(world, step, person)?.may)) || inTurn[0]!;
    const move = make(world, step, me);
    if (!move) return null;
    tried.push(`${nameOf(world, me)} ${move.says}`);
    let did: boolean;
    try {
      const answers = await setup.database.together(enterWithSession(sessionOf(me)), ...move.sends);
      if (answers[0] === null) throw new Error(`${nameOf(world, me)} is not signed in.`);
      did = Boolean(answers.at(-1));
    } catch (error) {
      if (!isNo(error)) throw error;
      did = false;
    }
    if (did !== move.may)
      return `${tried.at(-1)}: ${did ? 'it was done, and may not be' : 'it may be done, and was not'}.`;
    if (did) {
      allowed += 1;
      const made: string[] = [];
      for (const table of move.makes ?? []) made.push(await newest(table));
      move.happens(...made);
    }
    return null;
  }

  for (const [at, step] of steps.entries()) {
    const wrong = await take(step);
    if (wrong) return { failure: { at, about: wrong }, tried, allowed, looks };
    const everybody = (at + 1) % 100 === 0 || at === steps.length - 1;
    for (const person of everybody ? world.people : [world.people[step.looks]!]) {
      looks += 1;
      const differs = await difference(setup, world, person);
      if (differs) return { failure: { at, about: differs }, tried, allowed, looks };
    }
  }
  return { failure: null, tried, allowed, looks };
}

/** Returns the shortest list of steps found on which `fails` is still true, by leaving out steps (Zeller's ddmin). */
export async function shrunk(
  steps: readonly Step[],
  fails: (steps: readonly Step[]) => Promise<boolean>,
): Promise<readonly Step[]> {
  let left = steps;
  for (let size = Math.ceil(left.length / 2); size >= 1;) {
    let shorter: readonly Step[] | null = null;
    for (let from = 0; from < left.length && !shorter; from += size) {
      const without = [...left.slice(0, from), ...left.slice(from + size)];
      if (await fails(without)) shorter = without;
    }
    if (shorter) left = shorter;
    else if (size === 1) break;
    else size = Math.ceil(size / 2);
    size = Math.min(size, Math.max(1, left.length));
  }
  return left;
}
