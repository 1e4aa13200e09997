/**
 * Reads the tables of docs/visibility.md: what each caller sees, changes, removes and adds, and what functions tell
 * them.
 */

import { readFileSync } from 'node:fs';

export interface Expectation {
  table: string;
  record: string;
  caller: string;
  may: string[];
}

/**
 * The scopes that a key needs, all of them, for each thing that it may do with the records of a table; "any" for any
 * scope, null when no key may.
 */
export interface ScopesOfTable {
  table: string;
  needed: Record<string, string[] | null>;
}

/** Stands for the table where functions tell what no table shows. */
export const byFunctions = 'functions';

/** One expectation per cell, for each part of the page; `table` is empty for additions and for computed figures. */
export function readExpectations(page: string | URL): {
  records: Expectation[];
  additions: Expectation[];
  ofFunctions: Expectation[];
  computed: Expectation[];
  books: Expectation[];
  scopes: ScopesOfTable[];
} {
  const records: Expectation[] = [];
  const additions: Expectation[] = [];
  const ofFunctions: Expectation[] = [];
  const computed: Expectation[] = [];
  const books: Expectation[] = [];
  const scopes: ScopesOfTable[] = [];
  let table = '';
  let callers: string[] = [];
  let part = '';
  for (const line of readFileSync(page, 'utf8').split('\n')) {
    if (line.startsWith('## ')) part = line.slice(3);
    if (line.startsWith('### ')) table = line.slice(4).trim();
    if (!line.startsWith('|') || /^\|\s*-/.test(line)) continue;
    const [first = '', ...cells] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (first === '') {
      callers = cells;
      continue;
    }
    if (part.startsWith('Which scope')) {
      const needed = Object.fromEntries(
        cells.map((cell, column) => [callers[column], cell === '·' ? null : cell.split(', ')]),
      );
      scopes.push({ table: first, needed });
      continue;
    }
    cells.forEach((cell, column) => {
      const expectation = {
        table,
        record: first,
        caller: callers[column] ?? '',
        may: cell === '·' ? [] : cell.split(', '),
      };
      if (part.includes('may add')) additions.push({ ...expectation, table: '' });
      else if (part.includes('computed of the books')) books.push({ ...expectation, table: '' });
      else if (part.includes('is computed')) computed.push({ ...expectation, table: '' });
      else if (part.includes('functions tell')) ofFunctions.push({ ...expectation, table: byFunctions });
      else records.push(expectation);
    });
  }
  return { records, additions, ofFunctions, computed, books, scopes };
}
