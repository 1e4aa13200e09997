/**
 * Adds the people whose ids an answer mentions, as far as row-level security let its statements join them; one place
 * for all tools.
 */

import type { TokenCaller } from '../domain/clients/tokens.ts';
import type { Mentioned } from '../domain/deals/participants.ts';

/**
 * A person whom an answer mentions, with their role on the deal; for an advisor also the side that they advise, for a
 * buyer the status of their NDA, and for an advisor the person whom they advise.
 */
export interface Person {
  readonly user_id: string;
  readonly name: string;
  readonly role: string;
  readonly side?: string;
  readonly nda_status?: string;
  readonly advises?: string;
}

type Json = Record<string, unknown>;

const suffix = '_person';

const isRow = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The caller as a person on a deal that they see; a caller who is no participant is an admin of the brokerage. */
export const callerOnDeal = ({ user_id, user_name, deal_role }: TokenCaller): Person => ({
  user_id,
  name: user_name,
  role: deal_role ?? 'admin',
});

/** Collects the people from the columns of rows that describe them. */
class MentionedPeople {
  readonly people = new Map<string, Person>();
  caller: Person | undefined;

  constructor(caller: Person | undefined) {
    this.caller = caller;
  }

  #note(name: string, mentioned: Mentioned | null): void {
    const [user_id, called, role, side, nda, advises] = mentioned ?? [];
    if (user_id === undefined || called === undefined || called === null || role === undefined) return;
    const person = {
      user_id,
      name: called,
      role,
      ...(side ? { side } : {}),
      ...(nda ? { nda_status: nda } : {}),
      ...(advises ? { advises } : {}),
    };
    if (name === `caller${suffix}`) this.caller = person;
    else this.people.set(user_id, person);
  }

  /**
   * The row without those columns, and likewise the rows in its lists. Copied, because an object with deleted
   * properties stays slow to read.
   */
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
 * The answer with `people`: each person of the columns that {@link Mentioned} describes, once; and with `caller`, from
 * the column of that name or else `calling`. The columns themselves are removed. An answer that mentions nobody is
 * unchanged. Objects that people wrote (an offer's payload) are not searched.
 */
export function withPeople(answer: Json, calling?: Person): Json {
  const found = new MentionedPeople(calling);
  const shown = { ...found.row(answer) };
  for (const [name, value] of Object.entries(shown)) if (isRow(value)) shown[name] = found.row(value);
  const { people } = found;
  // The caller's own role takes precedence: in the list of deals it differs from that on a deal.
  const caller = found.caller && { ...people.get(found.caller.user_id), ...found.caller };
  return { ...shown, ...(caller ? { caller } : {}), ...(people.size > 0 ? { people: [...people.values()] } : {}) };
}
