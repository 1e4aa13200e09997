/** The checks of test/policies on a database of their own, which is broken and restored for each mutant. */

import assert from 'node:assert/strict';
import pg from 'pg';
import { catalogueChecks } from '../policies/catalogue.ts';
import { circumventions } from '../policies/circumvention.ts';
import { readExpectations, type Expectation } from '../policies/expectations.ts';
import { callers, connect, type Check, type Stage } from '../policies/scene.ts';
import { keysAskedChecks } from '../policies/keys-asked.ts';
import { keyChecks } from '../policies/keys.ts';
import { enteringChecks } from '../policies/entering.ts';
import { listChecks } from '../policies/lists.ts';
import { narrowingChecks } from '../policies/narrowing.ts';
import { notifiedChecks } from '../policies/notified.ts';
import { particulars } from '../policies/particulars.ts';
import { enterStage, leaveStage, prepareStage } from '../policies/stage.ts';
import { triggerChecks } from '../policies/triggers.ts';
import { measure } from '../policies/visibility.ts';
import type { Templates } from '../templates.ts';
import { fingerprint, type Mutant } from './mutants.ts';

const page = readExpectations(new URL('../../docs/visibility.md', import.meta.url));

export type Quick =
  | { readonly outcome: 'killed'; readonly by: string }
  | { readonly outcome: 'refused'; readonly why: string }
  | { readonly outcome: 'survived' };

export interface QuickChecks {
  /** Weakens the database, runs the checks until one fails, and restores the database. */
  try(mutant: Mutant): Promise<Quick>;
  close(): Promise<void>;
}

/** Rejects unless the callers' rights in these cells are those in docs/visibility.md. */
async function cellsHold(stage: Stage, chosen: readonly Expectation[]): Promise<void> {
  for (const caller of callers) {
    const own = chosen.filter((cell) => cell.caller === caller);
    if (own.length === 0) continue;
    const measured = await measure(stage, caller, own);
    own.forEach(({ table, record, may }, index) => {
      const found = measured[index] ?? [];
      assert.deepEqual(
        found,
        may,
        `${caller}: ${table ? `${table}, ` : ''}${record}: ${found.join(', ') || 'nothing'}`,
      );
    });
  }
}

/**
 * Yields the checks, those that cover most of the mutant first; the visibility check covers only the cells of
 * docs/visibility.md that the mutant can change.
 */
function* inOrder(mutant: Mutant): Generator<Check> {
  const cellChecks: Check[] = [
    { title: 'visibility', run: (stage) => cellsHold(stage, cellsOf(mutant)) },
    { title: 'additions', run: (stage) => cellsHold(stage, page.additions) },
  ];
  const ownersFirst = ['grants', 'switches', 'triggers', 'constraints'].includes(mutant.kind);
  if (ownersFirst) yield* catalogueChecks;
  const triggersFirst = mutant.kind === 'functions of triggers';
  if (triggersFirst) yield* triggerChecks;
  // Functions behind no policy decide by themselves what is listed and who is let in; these checks cover them.
  const tellsFirst = mutant.kind === 'other functions';
  const tellingChecks = [...enteringChecks, ...listChecks, ...keysAskedChecks, ...keyChecks];
  if (tellsFirst) yield* tellingChecks;
  yield* cellChecks;
  if (!ownersFirst) yield* catalogueChecks;
  if (!tellsFirst) yield* tellingChecks;
  yield* notifiedChecks;
  yield* narrowingChecks;
  yield* particulars;
  yield* circumventions;
  if (!triggersFirst) yield* triggerChecks;
}

/** Titles of the checks that undo all their changes, even when they fail. */
const leavesNothing = new Set([
  'visibility',
  'additions',
  ...[...narrowingChecks, ...keyChecks, ...keysAskedChecks, ...listChecks, ...enteringChecks, ...triggerChecks].map(
    ({ title }) => title,
  ),
]);

const cellsOf = ({ tables }: Mutant): Expectation[] => page.records.filter(({ table }) => tables.includes(table));

const firstLine = (error: unknown): string => (error instanceof Error ? error.message.split('\n')[0]! : String(error));

/**
 * Recreates each function with a parsed body from its definition, as reverting a mutant does: PostgreSQL may print the
 * table names of such a body differently once it has been recreated.
 */
const readAgain = `do $$ declare definition text; begin
  for definition in select pg_get_functiondef(oid) from pg_proc where pronamespace in ('app'::regnamespace, 'vault'::regnamespace) and prosqlbody is not null loop
    execute definition;
  end loop;
end $$`;

/**
 * Creates the database from the template with the scene, and throws unless every check passes before the first mutant.
 */
export async function openQuickChecks({ owner, server, scene }: Templates): Promise<QuickChecks> {
  const administration = await connect({ ...owner, database: 'dealkeep' });
  await administration.query('create database staged template scene');
  const preparing = await connect({ ...owner, database: 'staged' });
  const prepared = await prepareStage(preparing, scene);
  await preparing.query(readAgain);
  const whole = await fingerprint(preparing);
  await preparing.end();

  let made = 0;
  let database = '';
  let stage: Stage;
  async function renew(): Promise<void> {
    if (made > 0) {
      await leaveStage(stage);
      await administration.query(`drop database ${database}`);
    }
    made += 1;
    database = `stage_${made}`;
    await administration.query(`create database ${database} template staged`);
    stage = await enterStage({ owner: { ...owner, database }, server: { ...server, database } }, prepared);
  }
  await renew();

  let since: string[] = [];
  async function expectWhole(): Promise<void> {
    if ((await fingerprint(stage.owner)) !== whole)
      throw new Error(`One of these was not taken back: ${since.join('; ')}.`);
    since = [];
  }

  async function firstFailure(mutant: Mutant): Promise<{ title: string; said: string } | null> {
    for (const check of inOrder(mutant)) {
      try {
        await check.run(stage);
      } catch (error) {
        return { title: check.title, said: `${check.title}: ${firstLine(error)}` };
      }
    }
    return null;
  }

  const nothing: Mutant = {
    name: '',
    kind: 'policies',
    tables: page.records.map(({ table }) => table),
    function: null,
    apply: '',
    revert: '',
  };
  const before = await firstFailure(nothing);
  if (before !== null) throw new Error(`The checks fail before anything is broken: ${before.said}`);

  return {
    async try(mutant) {
      await stage.owner.query('begin');
      try {
        await stage.owner.query(mutant.apply);
        await stage.owner.query('commit');
      } catch (error) {
        await stage.owner.query('rollback');
        if (error instanceof pg.DatabaseError) return { outcome: 'refused', why: error.message };
        throw error;
      }
      const by = await firstFailure(mutant);
      // A check that stopped halfway may have left changes behind.
      if (by !== null && !leavesNothing.has(by.title)) await renew();
      else {
        await stage.owner.query(mutant.revert);
        since.push(mutant.name);
        if (since.length === 25) await expectWhole();
      }
      return by === null ? { outcome: 'survived' } : { outcome: 'killed', by: by.said };
    },
    async close() {
      try {
        await expectWhole();
      } finally {
        await leaveStage(stage);
        await administration.end();
      }
    },
  };
}
