/** A list on a page together with the tool that returns the same data, and how the rows of the two are matched. */

import type { Page } from 'playwright-core';
import type { Person } from './rows-person.ts';

/** A row of a page: its visible text, line by line. */
export type Lines = readonly string[];
/**
 * A record of a tool in the words of the page. Each fact must appear in the record's row; null stands for a value that
 * the page leaves out.
 */
export type Facts = readonly (string | null)[];

export interface List {
  /** The name of the list. */
  readonly what: string;
  readonly tool: string;
  /** How page and tool differ because the specification requires it. */
  readonly differs?: string;
  /** The tool's limit, when it returns fewer rows than the page: the page's first rows. */
  readonly most?: number;
  /** Whether the list is virtualized: only the rows in view are drawn. */
  readonly long?: boolean;
  /** The entries of docs/visibility.md that decide who sees which rows: tables, or records as "table/record". */
  readonly decidedBy: readonly string[];
  /** The number of different lists among the callers. */
  readonly kinds: number;
  readonly shown: (page: Page) => Promise<Lines[]>;
  readonly answered: (person: Person) => Promise<Facts[]>;
}

interface Definition<R> extends Omit<List, 'answered'> {
  /** Calls the tool; by default once, for the deal. */
  readonly ask?: (person: Person) => Promise<R[]>;
  readonly facts: (record: R, person: Person) => Facts;
}

/** A list whose tool returns records of this type. */
export function list<R>({ ask, facts, ...rest }: Definition<R>): List {
  const found = ask ?? ((person) => person.rows<R>(rest.tool));
  return { ...rest, answered: async (person) => (await found(person)).map((record) => facts(record, person)) };
}

/** A page of a deal with its lists; `path` follows the deal's address. */
export interface DealPage {
  readonly path: string;
  /** The heading of the page. */
  readonly title: string;
  readonly lists: readonly List[];
}

/** The application's label of a value of a vocabulary. */
export function word<K extends string>(
  words: Readonly<Record<K, string | { readonly label: string }>>,
  key: string,
): string {
  const found: string | { readonly label: string } = words[key as K];
  return typeof found === 'string' ? found : found.label;
}

const says = (row: Lines, fact: string): boolean => row.some((line) => ` ${line} `.includes(` ${fact} `));

/** Returns the rows and records that have no partner on the other side; each is matched once. */
export function unmatched(shown: readonly Lines[], answered: readonly Facts[]) {
  const onPage = [...shown];
  const inTool = answered.filter((facts) => {
    const place = onPage.findIndex((row) => facts.every((fact) => fact === null || says(row, fact)));
    if (place !== -1) onPage.splice(place, 1);
    return place === -1;
  });
  return { onPageAlone: onPage, inToolAlone: inTool };
}

/** The result of {@link unmatched} when page and tool show the same. */
export const theSame = { onPageAlone: [], inToolAlone: [] };
