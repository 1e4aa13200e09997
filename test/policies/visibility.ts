/** Measures in the live database what each caller may do with each record, to be compared with docs/visibility.md. */

import pg from 'pg';
import { additions } from './additions.ts';
import { byFunctions, type Expectation } from './expectations.ts';
import type { Stage } from './scene.ts';
import { enter, enterWithin } from './stage.ts';
import { functionQueries } from './functions.ts';

/**
 * A change that any record of the table permits, by table; `named` has the column that identifies a record if it is not
 * `id`.
 */
const changes: Record<string, string> = {
  brokerages: 'name = name',
  brokerage_logos: 'width = width',
  members: 'role = role',
  users: 'name = name',
  contacts: 'display_name = display_name',
  deals: 'title = title',
  participants: 'status = status',
  ndas: 'status = status',
  exclusivities: 'expires_at = expires_at',
  qoe_workspace_members: 'role = role',
  qoe_checklist: 'title = title',
  accounting_snapshots: 'failure = failure',
  contradiction_answers: 'why = why',
  // Not its status: whoever may not make a step may not repeat it either.
  questions: 'rejection_reason = rejection_reason',
  question_answers: 'answer_text = answer_text',
  documents: 'category = category',
  production_documents: 'category = category',
  closing_conditions: 'name = name',
  findings: 'title = title',
  financing_sources: 'source_name = source_name',
  answer_readings: 'read_until = read_until',
  connected_clients: 'name = name',
};
const named: Record<string, string> = {
  brokerage_logos: 'brokerage_id',
  members: 'user_id',
  qoe_workspace_members: 'participant_id',
  question_answers: 'question_id',
  deal_stages: 'deal_id',
  offer_decisions: 'offer_id',
  tool_grants: 'client_id',
  deal_opt_ins: 'deal_id',
  answer_readings: 'deal_id',
  deal_tool_stops: 'deal_id',
};

interface Attempt {
  /** What the caller may do if the attempt succeeds. */
  readonly shows: string;
  readonly text: string;
}

function filledIn(text: string, values: readonly unknown[]): string {
  return text.replace(/\$(\d+)/g, (_mark, number: string) => {
    const value = values[Number(number) - 1];
    return value === null || value === undefined ? 'null' : pg.escapeLiteral(String(value));
  });
}

/** The attempts for one cell of the page. Throws when the scene or the additions lack what the page names. */
function attemptsOf({ table, record }: Expectation, stage: Stage): Attempt[] {
  if (table === '') {
    const addition = additions[record];
    if (!addition) throw new Error(`test/policies/additions.ts does not know how to add ${record}.`);
    const { text, values } = addition(stage.scene);
    return [{ shows: 'may', text: filledIn(text, values) }];
  }
  if (table === byFunctions) {
    const query = functionQueries[record];
    if (!query) throw new Error(`test/policies/functions.ts has no query for ${record}.`);
    const { text, values } = query(stage.scene);
    return [{ shows: 'sees', text: filledIn(text, values) }];
  }
  const id = stage.scene.records[`${table}/${record}`];
  if (!id) throw new Error(`The scene has no ${table}/${record}.`);
  const which = `${named[table] ?? 'id'} = '${id}'`;
  return [
    { shows: 'sees', text: `select 1 from ${table} where ${which}` },
    ...(changes[table] ? [{ shows: 'changes', text: `update ${table} set ${changes[table]} where ${which}` }] : []),
    { shows: 'removes', text: `delete from ${table} where ${which}` },
  ];
}

/**
 * What the caller may do in each of the cells, in their order, with the transaction narrowed to a deal if one is named;
 * every attempt is rolled back.
 */
export const measure = (
  stage: Stage,
  caller: string,
  cells: readonly Expectation[],
  deal?: string,
): Promise<string[][]> =>
  measureEntered(stage, caller, cells, () =>
    deal === undefined ? enter(stage, caller) : enterWithin(stage, caller, deal),
  );

/** The same for a caller who enters in another way, in the transaction of the attempts. */
export async function measureEntered(
  stage: Stage,
  caller: string,
  cells: readonly Expectation[],
  entering: () => Promise<void>,
): Promise<string[][]> {
  const attempts = cells.map((cell) => attemptsOf(cell, stage));
  const texts = attempts.flat().map(({ text }) => text);
  const { server } = stage;
  await server.query('begin');
  try {
    await entering();
    const { rows } = await server.query<{ touched: string | null; failure: string | null }>(
      'select touched, failure from app.attempts($1)',
      [texts],
    );
    let at = 0;
    return attempts.map((ofCell) => {
      const may: string[] = [];
      for (const { shows, text } of ofCell) {
        const { touched, failure } = rows[at++]!;
        if (touched === null) throw new Error(`${caller}: ${text}: ${failure}`);
        if (Number(touched) > 0) may.push(shows);
      }
      return may;
    });
  } finally {
    await server.query('rollback');
  }
}
