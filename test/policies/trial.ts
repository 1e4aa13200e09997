/** Tries statements as people of the scene and as the owner of the tables, in a transaction that is rolled back. */

import pg from 'pg';
import type { Check, Stage } from './scene.ts';

type Values = readonly (string | number | null | undefined)[];

/** What a check can do in its transaction. */
export interface Trial {
  /** The user id of a person, by their name in the scene; an id is returned unchanged. */
  person(who: string): string;
  readonly brokerage: string;
  readonly ids: Readonly<Record<string, string>>;
  /**
   * Runs a statement as the server's role for a person; returns "done", "nothing", the reason, or the code of the
   * error.
   */
  as(who: string, text: string, ...values: Values): Promise<string>;
  /**
   * The same past every policy and privilege: as the owner of the tables, with a person entered or, for null, nobody.
   */
  past(who: string | null, text: string): Promise<string>;
  /** Reads one value, as the owner. */
  value(text: string): Promise<unknown>;
  /** Inserts a row into a table as the owner; returns its id. */
  put(table: string, values: Record<string, unknown>): Promise<string>;
  /** Sets the time to this many days after the start of the transaction. */
  at(days: number): Promise<void>;
}

/** A value as an SQL literal. */
export const literal = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return pg.escapeLiteral(value.toISOString());
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return pg.escapeLiteral(String(value));
};

/** Runs a check in a transaction of its own, and rolls it back. */
async function inTrial(
  { server, scene, particulars: ids }: Stage,
  run: (trial: Trial) => Promise<void>,
): Promise<void> {
  const person = (who: string) => scene.people[who] ?? ids[who] ?? who;
  const owner = async (who: string | null, text: string): Promise<unknown> =>
    (await server.query('select app.as_owner($1, $2) as result', [text, who === null ? null : person(who)])).rows[0]
      .result;
  async function outcome(attempt: () => Promise<number>): Promise<string> {
    await server.query('savepoint attempt');
    try {
      return (await attempt()) > 0 ? 'done' : 'nothing';
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      await server.query('rollback to savepoint attempt');
      return error.code === 'DK001' ? (error.hint ?? '') : (error.code ?? '');
    }
  }
  await server.query('begin');
  try {
    await run({
      person,
      ids,
      brokerage: scene.brokerage,
      as: (who, text, ...values) =>
        outcome(async () => {
          await server.query('select app.enter_as($1)', [person(who)]);
          return (await server.query(text, [...values])).rowCount ?? 0;
        }),
      past: (who, text) => outcome(async () => Number(await owner(who, text))),
      value: (text) => owner(null, `select to_jsonb((${text}))`),
      put: async (table, values) =>
        String(
          await owner(
            null,
            `insert into ${table} as added (${Object.keys(values).join(', ')})
              values (${Object.values(values).map(literal).join(', ')}) returning to_jsonb(added) -> 'id'`,
          ),
        ),
      at: async (days) =>
        void (await server.query(
          `select set_config('dealkeep.now', (transaction_timestamp() + $1 * interval '1 day')::text, true)`,
          [days],
        )),
    });
  } finally {
    await server.query('rollback');
  }
}

/**
 * Returns a function that adds checks to a list; each rejects when a trigger permits, or causes, more or less than it
 * should.
 */
export const checkInto =
  (checks: Check[]) =>
  (title: string, run: (trial: Trial) => Promise<void>): void => {
    checks.push({ title, run: (stage) => inTrial(stage, run) });
  };

/**
 * Makes a deal of the scene's brokerage with a broker, a seller, a viewer, two buyers and a buyer who left; returns the
 * ids of the deal and the participants.
 */
export async function dealOf({ put, person, brokerage }: Trial, values: Record<string, unknown> = { state: 'listed' }) {
  const deal = await put('deals', { organization_id: brokerage, title: 'Mill', ...values });
  const joins = (who: string, role: string, status = 'active', more: Record<string, unknown> = {}) =>
    put('participants', { deal_id: deal, user_id: person(who), role, status, ...more });
  return {
    deal,
    joins,
    broker: await joins('broker', 'broker'),
    seller: await joins('seller', 'seller'),
    viewer: await joins('viewer', 'viewer'),
    buyer: await joins('exclusive buyer', 'buyer'),
    otherBuyer: await joins('other buyer', 'buyer'),
    gone: await joins('removed', 'buyer', 'removed'),
  };
}

export type Deal = Awaited<ReturnType<typeof dealOf>>;

/** SQL that grants exclusivity for this many days. */
export const granting = (deal: string, part: string, days: number) =>
  `insert into exclusivities (deal_id, participant_id, expires_at)
    values ('${deal}', '${part}', app.now() + ${days} * interval '1 day')`;
/** SQL that moves a deal to a state. */
export const moving = (deal: string, state: string) => `update deals set state = '${state}' where id = '${deal}'`;
/** The state in which a deal is now. */
export const stateOf = ({ value }: Trial, deal: string) => value(`select app.actual_state('${deal}')`);
/** The values of an active NDA with a participant. */
export const nda = (of: Deal, part: string, more: Record<string, unknown> = {}) => ({
  deal_id: of.deal,
  participant_id: part,
  terms: 'Keep it.',
  status: 'active',
  signed_at: '2020-01-01',
  signed_name: 'B',
  ...more,
});
