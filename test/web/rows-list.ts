/** A list of a page beside the tool that answers with the same: how each names a row. */

import type { Page } from 'playwright-core';
import type { Person } from './rows-person.ts';

/** A row by what a reader knows it by: the words on the page, the exact times and dates behind them. */
export type Row = Readonly<Record<string, unknown>>;

export interface List {
  /** What is listed. */
  readonly what: string;
  readonly tool: string;
  /** Where page and tool differ because the specification says so: how. */
  readonly differs?: string;
  /** The most rows that the tool gives of these, the first of the page's. */
  readonly most?: number;
  /** What of docs/visibility.md decides who sees which rows: tables, or records as "table/record". */
  readonly decidedBy: readonly string[];
  /** How many different lists there are among the callers. */
  readonly kinds: number;
  readonly shown: (page: Page) => Promise<Row[]>;
  readonly told: (person: Person) => Promise<Row[]>;
}

interface Definition<R> extends Omit<List, 'told'> {
  /** How the tool is asked; by default once, about the deal. */
  readonly ask?: (person: Person) => Promise<R[]>;
  /** A record of the tool in the words of the page. */
  readonly row: (record: R, person: Person) => Row;
}

/** A list whose tool answers with records of this type. */
export function list<R>({ ask, row, ...rest }: Definition<R>): List {
  const found = ask ?? ((person) => person.rows<R>(rest.tool));
  return { ...rest, told: async (person) => (await found(person)).map((record) => row(record, person)) };
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
