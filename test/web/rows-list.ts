/** A list of a page beside the tool that answers with the same, and how the rows of the two are matched. */

import type { Page } from 'playwright-core';
import type { Person } from './rows-person.ts';

/** A row of a page: what a reader meets in it, line by line. */
export type Lines = readonly string[];
/** A record of a tool in the words of the page: each is to stand in its row; null says that there is nothing to stand there. */
export type Facts = readonly (string | null)[];

export interface List {
  /** What is listed. */
  readonly what: string;
  readonly tool: string;
  /** Where page and tool differ because the specification says so: how. */
  readonly differs?: string;
  /** The most rows that the tool gives of these, the first of the page's. */
  readonly most?: number;
  /** Whether of its rows only those in sight are drawn. */
  readonly long?: boolean;
  /** What of docs/visibility.md decides who sees which rows: tables, or records as "table/record". */
  readonly decidedBy: readonly string[];
  /** How many different lists there are among the callers. */
  readonly kinds: number;
  readonly shown: (page: Page) => Promise<Lines[]>;
  readonly answered: (person: Person) => Promise<Facts[]>;
}

interface Definition<R> extends Omit<List, 'answered'> {
  /** How the tool is asked; by default once, about the deal. */
  readonly ask?: (person: Person) => Promise<R[]>;
  readonly facts: (record: R, person: Person) => Facts;
}

/** A list whose tool answers with records of this type. */
export function list<R>({ ask, facts, ...rest }: Definition<R>): List {
  const found = ask ?? ((person) => person.rows<R>(rest.tool));
  return { ...rest, answered: async (person) => (await found(person)).map((record) => facts(record, person)) };
}

/** A page of a deal, below the deal's address, with the lists on it. */
export interface DealPage {
  readonly path: string;
  /** Its heading. */
  readonly title: string;
  readonly lists: readonly List[];
}

/** What the application calls a value of a vocabulary. */
export function word<K extends string>(
  words: Readonly<Record<K, string | { readonly label: string }>>,
  key: string,
): string {
  const found: string | { readonly label: string } = words[key as K];
  return typeof found === 'string' ? found : found.label;
}

const says = (row: Lines, fact: string): boolean => row.some((line) => ` ${line} `.includes(` ${fact} `));

/** Rows and records that have no partner on the other side; each is matched once. */
export function unmatched(shown: readonly Lines[], answered: readonly Facts[]) {
  const onPage = [...shown];
  const inTool = answered.filter((facts) => {
    const place = onPage.findIndex((row) => facts.every((fact) => fact === null || says(row, fact)));
    if (place !== -1) onPage.splice(place, 1);
    return place === -1;
  });
  return { onPageAlone: onPage, inToolAlone: inTool };
}

/** What {@link unmatched} answers when page and tool tell the same. */
export const theSame = { onPageAlone: [], inToolAlone: [] };
