/** Reads the tables of docs/visibility.md: what each caller is to see, change, remove and add. */

import { readFileSync } from 'node:fs';

export interface Expectation {
  table: string;
  record: string;
  caller: string;
  may: string[];
}

/** One expectation a cell, of both parts of the page; `table` is empty for what may be added. */
export function readExpectations(page: string | URL): { records: Expectation[]; additions: Expectation[] } {
  const records: Expectation[] = [];
  const additions: Expectation[] = [];
  let table = '';
  let callers: string[] = [];
  let adding = false;
  for (const line of readFileSync(page, 'utf8').split('\n')) {
    if (line.startsWith('## ')) adding = line.includes('may add');
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
    cells.forEach((cell, column) => {
      const expectation = {
        table,
        record: first,
        caller: callers[column] ?? '',
        may: cell === '·' ? [] : cell.split(', '),
      };
      if (adding) additions.push({ ...expectation, table: '' });
      else records.push(expectation);
    });
  }
  return { records, additions };
}
