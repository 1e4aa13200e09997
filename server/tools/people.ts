/** The people beside the ids that an answer mentions: whom row-level security let its statements join, in one place for all tools. */

import type { TokenCaller } from '../domain/clients/tokens.ts';
import type { Mentioned } from '../domain/deals/participants.ts';

/** Somebody whom an answer mentions, as they are told: their role is that on the deal. */
export interface Person {
  readonly user_id: string;
  readonly name: string;
  readonly role: string;
}

type Json = Record<string, unknown>;

const suffix = '_person';

const isRow = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The one who calls about a deal that they see: who takes no part in it is an admin of its brokerage. */
export const callerOnDeal = ({ user_id, user_name, deal_role }: TokenCaller): Person => ({
  user_id,
  name: user_name,
  role: deal_role ?? 'admin',
});

/**
 * The answer with `people` beside its rows: each person of the columns that {@link Mentioned} describes once, and the one who
 * calls as `caller`, unless `caller` is given. The columns themselves go. Without anybody to name the answer stays as it is. What people wrote (an offer's payload) is not looked into.
 */
export function withPeople(answer: Json, caller?: Person): Json {
  const people = new Map<string, Person>();
  const take = (row: Json): void => {
    for (const [name, value] of Object.entries(row)) {
      if (Array.isArray(value) && !name.endsWith(suffix)) for (const one of value) if (isRow(one)) take(one);
      if (!name.endsWith(suffix)) continue;
      delete row[name];
      const [user_id, called, role] = (value as Mentioned | null) ?? [];
      if (user_id === undefined || called === undefined || called === null || role === undefined) continue;
      const person = { user_id, name: called, role };
      if (name === `caller${suffix}`) caller = person;
      else people.set(user_id, person);
    }
  };
  const told = { ...answer };
  take(told);
  for (const value of Object.values(told)) if (isRow(value)) take(value);
  return { ...told, ...(caller ? { caller } : {}), ...(people.size > 0 ? { people: [...people.values()] } : {}) };
}
