/** Filters whose words are those of the service: compared without case, and a hint for one that names nothing there is. */

import type { Statement } from '../database/statement.ts';

/** One filter of a call. */
export interface Filter {
  /** The name of the input. */
  readonly input: string;
  /** Null: it was not given. */
  readonly given: string | null;
  /** The values that there are: words of ours, or those that the caller can see, which are asked for beside the work. */
  readonly known: readonly string[] | Statement<{ known: string }[]>;
}

const isFixed = (known: Filter['known']): known is readonly string[] => Array.isArray(known);

/** The statement that reads the values of a filter that was given, where they are not fixed. */
export const knownOf = ({ given, known }: Filter): Statement<{ known: string }[]>[] =>
  given === null || isFixed(known) ? [] : [known];

/** What an answer says of what it lacks: an input that names nothing there is, a list that is cut, figures that stand elsewhere. What people wrote stays in a field. */
export interface Hint {
  readonly message: string;
  /** By the name of the input: what there is. A hint without it leads to the page, whose url the answer then has. */
  readonly known?: Readonly<Record<string, readonly string[]>>;
}

/** The most values that a hint names. */
export const mostKnown = 50;

/** The hint beside an empty list; null where there is nothing to say. */
export function hintOf(
  filters: readonly Filter[],
  answer: Readonly<Record<string, unknown>>,
  found: readonly unknown[],
): Hint | null {
  const [first] = Object.values(answer);
  if (!Array.isArray(first) || first.length > 0) return null;
  const asked = [...found] as { known: string }[][];
  const hints = filters.flatMap<[string, readonly string[]]>(({ input, given, known }) => {
    if (given === null) return [];
    const values = isFixed(known) ? known : (asked.shift() ?? []).map((one) => one.known);
    if (values.length === 0 || values.some((one) => one.toLowerCase() === given.toLowerCase())) return [];
    return [[input, values]];
  });
  if (hints.length === 0) return null;
  const names = hints.map(([input]) => input).join(' and ');
  return {
    message: `Nothing has this ${names}. Call again with one of the known values, or without the filter.`,
    known: Object.fromEntries(hints),
  };
}
