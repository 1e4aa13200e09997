import type { DealPage, FinancingSource, FinancingStack } from '../../../api/shapes.ts';
import { sides } from '../../../lib/states.ts';

interface StackOfSide {
  key: string | null;
  /** The side's name; null when the reader sees only their own side. */
  name: string | null;
  items: FinancingSource[];
  totals: FinancingStack['totals'];
}

/**
 * Groups a stack by side: all brokers' sources, those of the seller's side, and those of each buyer separately, because
 * rival buyers finance the same purchase.
 */
export function bySide(
  { items, totals, totals_by_side: sideTotals = [] }: FinancingStack,
  { participants, side: own }: DealPage,
): StackOfSide[] {
  const people = new Map<string | null, (typeof participants)[number]>(participants.map((one) => [one.user_id, one]));
  const keyOf = ({ side_user_id: id }: { side_user_id: string | null }) => {
    const side = people.get(id)?.side;
    return side === 'broker' || side === 'seller' ? side : id;
  };
  // Sorted by when the sides' people joined the deal.
  const known = [...people.keys()].map((id) => keyOf({ side_user_id: id }));
  const keys = [...new Set([...items, ...sideTotals].map(keyOf))].toSorted(
    (a, b) => known.indexOf(a) - known.indexOf(b),
  );
  const areNamed = keys.some((key) => (people.get(key)?.side ?? key) !== own);
  const nameOf = (key: string | null) =>
    key === 'broker' || key === 'seller' ? sides[key] : (people.get(key)?.name ?? 'Others');
  return keys.map((key) => ({
    key,
    name: areNamed ? nameOf(key) : null,
    items: items.filter((one) => keyOf(one) === key),
    totals: keys.length === 1 ? totals : sideTotals.filter((one) => keyOf(one) === key),
  }));
}

/** The title of a part of the page, with the side's name if there is one. */
export const ofSide = (what: string, name: string | null): string => (name === null ? what : `${what}: ${name}`);
