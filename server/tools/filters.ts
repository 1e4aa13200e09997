/** Filters with a known set of values: matched case-insensitively, with a hint when a filter matches none of them. */

import type { Statement } from '../database/statement.ts';

/** One filter of a call. */
export interface Filter {
  /** Null when it was not given. */
  readonly input: string;
  /** The values that exist: fixed ones, or a statement that reads those that the caller can see, run with the work. */
  readonly given: string | null;
  /** The statement that reads the values of a given filter, unless they are fixed. */
  readonly known: readonly string[] | Statement<{ known: string }[]>;
}

const isFixed = (known: Filter['known']): known is readonly string[] => Array.isArray(known);

/**
 * What an answer says about what it lacks: an input that matches no known value, a truncated list, figures that are
 * elsewhere. Texts that people wrote are only in `known`.
 */
export const knownOf = ({ given, known }: Filter): Statement<{ known: string }[]>[] =>
  given === null || isFixed(known) ? [] : [known];

/** A hint without known values leads to the page whose url is then in the answer. */
export interface Hint {
  readonly message: string;
  /** The known values, by the name of the input. */
  readonly known?: Readonly<Record<string, readonly string[]>>;
}

/** The maximum number of values in a hint. */
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

/**
 * The hint beside a list that was cut, null beside a whole one: `these` are the rows that it has, and the inputs in
 * `narrowing`, with their values, would make it shorter unless they were sent.
 */
export function cutHint(more: boolean, these: string, narrowing: Readonly<Record<string, unknown>> = {}): Hint | null {
  if (!more) return null;
  const unsent = Object.entries(narrowing).flatMap(([name, value]) => (value === undefined ? [name] : []));
  const narrower = unsent.length > 0 ? `narrow with ${unsent.join(' or ')}, or ` : '';
  return { message: `These are ${these}, and there are more: ${narrower}see url.` };
}
