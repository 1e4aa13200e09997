/** The people beside the ids that an answer mentions: whom row-level security let its statements join, in one place for all tools. */

import type { TokenCaller } from '../domain/clients/tokens.ts';
import type { Mentioned } from '../domain/deals/participants.ts';

/** A person whom an answer mentions: their role is that on the deal; of an advisor with the side that they advise, of a buyer with how their NDA stands. */
export interface Person {
  readonly user_id: string;
  readonly name: string;
  readonly role: string;
  readonly side?: string;
  readonly nda_status?: string;
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

/** Collects the people whom rows mention in columns of their own. */
class MentionedPeople {
  readonly people = new Map<string, Person>();
  caller: Person | undefined;

  constructor(caller: Person | undefined) {
    this.caller = caller;
  }

  #note(name: string, mentioned: Mentioned | null): void {
    const [user_id, called, role, side, nda] = mentioned ?? [];
    if (user_id === undefined || called === undefined || called === null || role === undefined) return;
    const person = { user_id, name: called, role, ...(side ? { side } : {}), ...(nda ? { nda_status: nda } : {}) };
    if (name === `caller${suffix}`) this.caller = person;
    else this.people.set(user_id, person);
  }

  /** The row without those columns, and its lists likewise: built anew, because an object from which properties were deleted stays slow to read. */
  row(row: Json): Json {
    const shown: Json = {};
    let isSame = true;
    for (const name of Object.keys(row)) {
      const value = row[name];
      if (name.endsWith(suffix)) this.#note(name, value as Mentioned | null);
      else shown[name] = Array.isArray(value) ? value.map((one: unknown) => (isRow(one) ? this.row(one) : one)) : value;
      isSame &&= shown[name] === value;
    }
    return isSame ? row : shown;
  }
}

/**
 * The answer with `people` beside its rows: each person of the columns that {@link Mentioned} describes once, and the one who
 * calls as `caller`, unless `caller` is given. The columns themselves go. Without anybody to name the answer stays as it is. What people wrote (an offer's payload) is not looked into.
 */
export function withPeople(answer: Json, calling?: Person): Json {
  const found = new MentionedPeople(calling);
  const shown = { ...found.row(answer) };
  for (const [name, value] of Object.entries(shown)) if (isRow(value)) shown[name] = found.row(value);
  const { people } = found;
  // The role of whoever calls stays, as in the list of deals it is another than on a deal.
  const caller = found.caller && { ...people.get(found.caller.user_id), ...found.caller };
  return { ...shown, ...(caller ? { caller } : {}), ...(people.size > 0 ? { people: [...people.values()] } : {}) };
}
