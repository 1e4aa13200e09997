/** A step of the walk, the move that it is in a world, and what all moves are made with. */

import { createHash } from 'node:crypto';
import type { Statement } from '../../server/database/statement.ts';
import type { Deal, Id, Part, World } from './world.ts';

/** Who did it, on which deal, and three numbers that choose the rest: the same step means the same in a shorter walk. */
export interface Step {
  /** One of the `makers` of moves.ts, or of `ofTime`. */
  readonly kind: string;
  readonly who: number;
  /** Whether, in the place of `who`, the next person does it who may, if anybody may. */
  readonly able: boolean;
  readonly deal: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  /** Who looks afterwards. */
  readonly looks: number;
}

/** A step in a world: what is sent, whether it may happen, and what is different then. */
export interface Move {
  /** For people: what is done to what. */
  readonly says: string;
  readonly sends: readonly Statement<unknown>[];
  readonly may: boolean;
  /** Whether it is no change of the record, and so stays possible when the deal is closed. */
  readonly afterClosing?: boolean;
  /** The tables in which it makes a row, whose ids `happens` is given. */
  readonly makes?: readonly string[];
  happens(...ids: Id[]): void;
}

export const day = 86_400_000;
export const hour = 3_600_000;
/** Where it came from, as the audit trail keeps it: from nowhere. */
export const origin = { address: null, requestId: null };

/** One of a list, by a number. */
export const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];

/** The name of a person in the walk: how they appear in what is printed. */
export const nameOf = (w: World, person: Id): string => `p${w.people.indexOf(person)}`;
/** The same of a deal. */
export const dealName = (w: World, deal: Deal): string => `d${w.deals.indexOf(deal)}`;

/** The time so long after now, as it is sent. */
export const at = (w: World, millis: number): string => new Date(w.now + millis).toISOString();

/** Makes a move of a step; null where there is nothing to do it to. */
export type Make = (w: World, step: Step, me: Id) => Move | null;
type OnDeal = (w: World, step: Step, me: Id, deal: Deal) => Move | null;

/** A step on one of the deals; none while there is none. */
export const withDeal =
  (make: OnDeal): Make =>
  (w, step, me) => {
    const deal = pick(w.deals, step.deal);
    const move = deal ? make(w, step, me, deal) : null;
    // A closed deal takes no more changes.
    return move && deal?.state === 'closed' && !move.afterClosing ? { ...move, may: false } : move;
  };

/** A person’s part in a deal, in whatever state. */
export const partOf = (w: World, step: Step, deal: Deal): Part | undefined =>
  pick(
    w.parts.filter((part) => part.deal === deal),
    step.a,
  );

/** The digest of a person's session: the same in every walk, as everything is. */
export const sessionOf = (person: Id): Buffer => createHash('sha256').update(`session of ${person}`).digest();
