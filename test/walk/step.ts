/** A step of the walk, the move that it makes in a world, and helpers for making moves. */

import { createHash } from 'node:crypto';
import type { Statement } from '../../server/database/statement.ts';
import type { Deal, Id, Part, World } from './world.ts';

/**
 * Who acts, on which deal, and three numbers that choose everything else: a step means the same in a shortened walk.
 */
export interface Step {
  /** A key of `makers`, or one of `ofTime`, in moves.ts. */
  readonly kind: string;
  readonly who: number;
  /** Whether, instead of `who`, the next person acts who is allowed to, if there is one. */
  readonly able: boolean;
  readonly deal: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  /** The index of the person whose view is compared afterwards. */
  readonly looks: number;
}

/** A step in a world: the statements that are sent, whether they are allowed, and what they change. */
export interface Move {
  /** A description for people: what is done to what. */
  readonly says: string;
  readonly sends: readonly Statement<unknown>[];
  readonly may: boolean;
  /** Whether the move does not change the record, and so stays possible when the deal is closed. */
  readonly afterClosing?: boolean;
  /** The tables into which the move inserts a row; `happens` is given the ids of the rows. */
  readonly makes?: readonly string[];
  happens(...ids: Id[]): void;
}

export const day = 86_400_000;
export const hour = 3_600_000;
/** The origin of a change as the audit trail keeps it: unknown. */
export const origin = { address: null, requestId: null };

/** Returns an item of a list, chosen by a number. */
export const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];

/** Returns the name of a person in the printed walk. */
export const nameOf = (w: World, person: Id): string => `p${w.people.indexOf(person)}`;
/** Returns the name of a deal in the printed walk. */
export const dealName = (w: World, deal: Deal): string => `d${w.deals.indexOf(deal)}`;

/** Returns the time that is `millis` after now, in the format in which it is sent. */
export const at = (w: World, millis: number): string => new Date(w.now + millis).toISOString();

/** Makes a move of a step; returns null when there is nothing to act on. */
export type Make = (w: World, step: Step, me: Id) => Move | null;
type OnDeal = (w: World, step: Step, me: Id, deal: Deal) => Move | null;

/** Makes a step on one of the deals; returns null while there are no deals. */
export const withDeal =
  (make: OnDeal): Make =>
  (w, step, me) => {
    const deal = pick(w.deals, step.deal);
    const move = deal ? make(w, step, me, deal) : null;
    // A closed deal takes no more changes.
    return move && deal?.state === 'closed' && !move.afterClosing ? { ...move, may: false } : move;
  };

/** Returns a participant of the deal, chosen by the step, whatever their status. */
export const partOf = (w: World, step: Step, deal: Deal): Part | undefined =>
  pick(
    w.parts.filter((part) => part.deal === deal),
    step.a,
  );

/** Returns the digest of a person's session, derived from their id. */
export const sessionOf = (person: Id): Buffer => createHash('sha256').update(`session of ${person}`).digest();
