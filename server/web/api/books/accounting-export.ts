/**
 * Profit-and-loss exports of the bookkeeping programs QuickBooks and Xero: a column for each month, a row for each
 * account, and headings and totals in between. Only accounts are imported; totals are recognized and used to verify
 * that everything was read.
 */

import {
  isIncome,
  type Account,
  type AccountsExport,
  type Section,
  type ReportedLine,
} from '../../../domain/diligence/account-lines.ts';
import {
  add,
  decimalOrNull,
  equals,
  isZero,
  spoken,
  subtract,
  sum,
  zero,
  type Decimal,
} from '../../../domain/diligence/decimals.ts';
import { unreadable, type RowError } from '../csv.ts';
import { inPortions } from '../portions.ts';
import { exportColumns, type ExportColumns } from './accounting-export-columns.ts';
import { decimalMarksOf } from './decimal-marks.ts';
import { amountFault, readAmount, type Marks } from './values.ts';
import { isStorable } from '../../../http/values.ts';
import type { Table } from './workbook-reader.ts';

/** At most this much of an export is read, and this many of its errors are returned. */
const limits = { rows: 3_000, accounts: 1_000, periods: 120, amounts: 200_000, name: 200, parents: 10, faults: 500 };
/** Number of rows whose amounts are read before other requests get a turn. */
const portion = 25;

export interface ReadExport extends AccountsExport, Pick<ExportColumns, 'leftOut' | 'assumedDay'> {
  readonly program: 'quickbooks' | 'xero' | null;
  readonly basis: 'accrual' | 'cash' | null;
  /** How many rows below the heading are not empty. */
  readonly rowCount: number;
  readonly faults: readonly RowError[];
  /** Totals that differ from the sum of their accounts; not necessarily errors. */
  readonly doubts: readonly RowError[];
}

/** A row with a name, before its amounts are read. */
interface Entry {
  readonly row: number;
  readonly label: string;
  /** The label in lower case, words only, without the "Less" or "Plus" that Xero puts before headings. */
  readonly words: string;
  readonly cells: readonly string[];
  kind: 'heading' | 'account' | 'total' | 'result';
}

/** The rows from a heading, or from an account with others below it, to its total. */
interface Group {
  readonly from: number;
  readonly to: number;
  readonly section: Section | null;
}

const wordsOf = (label: string): string =>
  label
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/^(less|plus|add) /, '');

const sections: readonly (readonly [RegExp, Section | null])[] = [
  [/^(ordinary|other|net) income (and )?expenses?$/, null],
  [/^(other|non operating|other operating) (income|revenues?)$/, 'other_income'],
  [/^(other|non operating) expenses?$/, 'other_expense'],
  [/^((trading|operating|sales|ordinary) )?(income|revenues?|sales|turnover)$/, 'income'],
  [/^(cost of (goods|goods sold|sales|revenues?|services?)|cogs|direct (costs?|expenses?))$/, 'cost'],
  [/\bexpenses?$|^overheads?$|^expenditure$/, 'expense'],
  [/^(income )?tax(es|ation)?$/, 'other_expense'],
];

const sectionOf = (words: string): Section | null => sections.find(([pattern]) => pattern.test(words))?.[1] ?? null;

/** Rows that a program computes from other rows, and the reported lines to which they correspond. */
const results = new Map<string, ReportedLine | null>([
  ['gross profit', 'gross_profit'],
  ['gross loss', 'gross_profit'],
  ...['income', 'profit', 'loss', 'earnings', 'income loss', 'profit loss', 'profit after tax', 'income after tax'].map(
    (what): [string, ReportedLine] => [`net ${what}`, 'net_income'],
  ),
  ...['profit for the year', 'profit for the period', 'profit after tax'].map((what): [string, ReportedLine] => [
    what,
    'net_income',
  ]),
  ...[
    'net operating income',
    'net operating profit',
    'net ordinary income',
    'net other income',
    'net trading income',
    'operating income',
    'operating profit',
    'operating loss',
    'ordinary profit',
    'profit before tax',
    'net profit before tax',
    'net income before tax',
    'earnings before tax',
    'ebit',
    'ebitda',
    'gross margin',
    'net margin',
  ].map((what): [string, null] => [what, null]),
]);

/** The section of an account without a heading. */
function sectionByName(words: string): Section {
  if (/\bcost of\b|\bcogs\b/.test(words)) return 'cost';
  return /\b(sales|revenues?|income|turnover)\b/.test(words) && !/\btax(es)?\b/.test(words) ? 'income' : 'expense';
}

const amountColumns = ({ periods, total }: ExportColumns): number[] =>
  [...periods, ...(total ? [total] : [])].map(({ index }) => index);

function entriesOf(rows: readonly (readonly string[])[], columns: ExportColumns, faults: RowError[]): Entry[] {
  const below = rows.slice(columns.at + 1);
  const amounts = amountColumns(columns);
  const entries: Entry[] = [];
  let ended = false;
  for (const [place, cells] of below.entries()) {
    const row = columns.at + place + 2;
    const names = cells.slice(0, columns.firstPeriod).map((cell) => cell.trim().replaceAll(/\s+/g, ' '));
    const name = names[columns.account ?? 0] || names.find((cell) => cell !== '') || '';
    // The cut may split a surrogate pair, which cannot be stored.
    const label = name.slice(0, limits.name).toWellFormed();
    const filled = amounts.some((index) => (cells[index] ?? '').trim() !== '');
    if (label === '' && !filled) continue;
    if (label === '') {
      const stray = amounts.some((index) => !/^[\s0.-]*$/.test(cells[index] ?? ''));
      if (stray) faults.push({ row, column: 'Account', message: 'The name of the account is missing.' });
      continue;
    }
    if (!isStorable(name)) {
      faults.push({ row, column: 'Account', message: 'This name contains characters that cannot be stored.' });
      continue;
    }
    // The rows below the result are remarks of the program.
    if (!filled && ended) continue;
    const words = wordsOf(label);
    const result = filled && results.has(words);
    if (result && results.get(words) === 'net_income') ended = true;
    entries.push({ row, label, words, cells, kind: result ? 'result' : filled ? 'account' : 'heading' });
    if (entries.length > limits.rows) throw unreadable(`An export can have at most ${limits.rows} rows: split it.`);
  }
  const rowsOfAmounts = entries.filter(({ kind }) => kind !== 'heading').length;
  if (rowsOfAmounts * amounts.length > limits.amounts)
    throw unreadable(`An export can have at most ${limits.amounts} amounts: split it.`);
  return entries;
}

/** Finds the group that each total belongs to, and marks its row as a total. */
async function groupsOf(entries: readonly Entry[]): Promise<Group[]> {
  const open: number[] = [];
  const groups: Group[] = [];
  for await (const [place, entry] of inPortions(entries.entries(), portion)) {
    const of = entry.kind === 'account' ? /^total (.+)$/.exec(entry.words)?.[1] : undefined;
    if (of !== undefined) {
      const bare = of.replace(/^for /, '');
      const words = new Set([of, bare, wordsOf(of), wordsOf(bare)]);
      const at = open.findLastIndex((one) => words.has(entries[one]?.words ?? ''));
      if (at !== -1) {
        const from = open[at] ?? 0;
        groups.push({ from, to: place, section: sectionOf(entries[from]?.words ?? '') });
        open.length = at;
        entry.kind = 'total';
        continue;
      }
      // A total of a section without a heading; any other row is an account with such a name.
      if (sectionOf(bare) !== null) entry.kind = 'total';
    }
    if (entry.words === 'total') entry.kind = 'total';
    if (entry.kind === 'heading' || entry.kind === 'account') open.push(place);
  }
  return groups;
}

const basisOf = (text: string): ReadExport['basis'] => {
  const found = /\b(accrual|cash)[ -]basis\b|\bbasis: ?(accrual|cash)\b/i.exec(text);
  return ((found?.[1] ?? found?.[2])?.toLowerCase() as 'accrual' | 'cash' | undefined) ?? null;
};

function programOf(
  entries: readonly Entry[],
  columns: ExportColumns,
  heading: readonly string[],
): ReadExport['program'] {
  const there = new Set(entries.map(({ words }) => words));
  const first = (heading[columns.account ?? 0] ?? '').trim().toLowerCase();
  if (first === 'distribution account' || ['net operating income', 'net ordinary income'].some((one) => there.has(one)))
    return 'quickbooks';
  return first === 'account' || ['net profit', 'total trading income', 'trading income'].some((one) => there.has(one))
    ? 'xero'
    : null;
}

type Amounts = (Decimal | null)[];

/** The amounts that the program itself computed, by the place of their row; null where there is no readable amount. */
type Computed = ReadonlyMap<number, Amounts>;

async function computedOf(entries: readonly Entry[], { periods }: ExportColumns, marks: Marks): Promise<Computed> {
  const computed = new Map<number, Amounts>();
  for await (const [place, { kind, cells }] of inPortions(entries.entries(), portion)) {
    if (kind === 'total' || kind === 'result')
      computed.set(
        place,
        periods.map(({ index }) => decimalOrNull(readAmount(cells[index] ?? '', marks))),
      );
  }
  return computed;
}

const addedTo = (before: readonly (Decimal | null)[] | undefined, more: Amounts): Amounts =>
  more.map((amount, place) => {
    const other = before?.[place];
    return amount && other ? add(amount, other) : (amount ?? other ?? null);
  });

/** All groups around the place, outermost first (it was closed last). */
const around = (groups: readonly Group[], place: number): Group[] =>
  groups.filter(({ from, to }) => from < place && place < to).toReversed();

/** The accounts of the export, with their amounts. */
async function accountsOf(
  entries: readonly Entry[],
  groups: readonly Group[],
  columns: ExportColumns,
  marks: Marks,
  faults: RowError[],
): Promise<Map<number, Account>> {
  const accounts = new Map<number, Account>();
  const closed = new Set(groups.map(({ from }) => from));
  let heading: Entry | null = null;
  for await (const [place, entry] of inPortions(entries.entries(), portion)) {
    // A heading without a total extends to the next heading.
    if (entry.kind === 'heading' && !closed.has(place) && sectionOf(entry.words)) heading = entry;
    if (entry.kind === 'heading' && closed.has(place) && around(groups, place).length === 0) heading = null;
    if (entry.kind !== 'account') continue;
    const above = around(groups, place);
    const section =
      sectionOf(heading?.words ?? '') ?? above.find((group) => group.section)?.section ?? sectionByName(entry.words);
    const parents = above.slice(-limits.parents).map(({ from }) => entries[from]?.label ?? '');
    const amounts = columns.periods.map(({ index, heading: column }) => {
      const text = entry.cells[index] ?? '';
      const read = readAmount(text, marks);
      if (read === undefined && faults.length < limits.faults)
        faults.push({ row: entry.row, column, message: amountFault(text, marks) });
      return decimalOrNull(read) ?? zero;
    });
    const names = [...(heading ? [heading.label] : []), ...parents, entry.label];
    const key = names.join(' / ').slice(-limits.name).toWellFormed();
    accounts.set(place, { row: entry.row, key, name: entry.label, section, amounts });
    if (accounts.size > limits.accounts) throw unreadable(`An export can have at most ${limits.accounts} accounts.`);
  }
  return accounts;
}

/** The export's own amounts for the reported lines. */
async function totalsOf(
  entries: readonly Entry[],
  groups: readonly Group[],
  computed: Computed,
): Promise<AccountsExport['totals']> {
  const totals: Partial<Record<ReportedLine, Amounts>> = {};
  for await (const [place, entry] of inPortions(entries.entries(), portion)) {
    const says = computed.get(place);
    if (says === undefined) continue;
    if (entry.kind === 'result') {
      const line = results.get(entry.words);
      if (line) totals[line] = says;
    }
    if (entry.kind !== 'total') continue;
    const section = sectionOf(entry.words.replace(/^total (for )?/, ''));
    const line = section === 'income' ? 'revenue' : section === 'cost' ? 'cost_of_goods_sold' : null;
    const within = around(groups, place).some((group) => group.section !== null);
    if (line && !within) totals[line] = addedTo(totals[line], says);
  }
  return totals;
}

/** Row totals that are not the sum of their accounts, and column totals that are not the sum of their columns. */
async function doubtsOf(
  entries: readonly Entry[],
  groups: readonly Group[],
  columns: ExportColumns,
  accounts: ReadonlyMap<number, Account>,
  computed: Computed,
  marks: Marks,
): Promise<RowError[]> {
  const doubts: RowError[] = [];
  // Running sums of the accounts, so that deeply nested groups cost no extra time.
  const before: Decimal[][] = [columns.periods.map(() => zero)];
  const incomes = [0];
  for await (const account of inPortions(accounts.values(), portion)) {
    before.push(account.amounts.map((amount, place) => add(before.at(-1)?.[place] ?? zero, amount)));
    incomes.push((incomes.at(-1) ?? 0) + (isIncome(account) ? 1 : 0));
  }
  let passed = 0;
  const count = entries.map((_, place) => (accounts.has(place) ? passed++ : passed));
  for await (const { from, to } of inPortions(groups, portion)) {
    const total = entries[to];
    const [first = 0, last = 0] = [count[from], count[to]];
    const income = (incomes[last] ?? 0) - (incomes[first] ?? 0);
    // For a group of both income and expenses a program shows the difference.
    if (!total || (income > 0 && income < last - first)) continue;
    for (const [place, says] of (computed.get(to) ?? []).entries()) {
      const come = subtract(before[last]?.[place] ?? zero, before[first]?.[place] ?? zero);
      if (says === null || equals(says, come) || doubts.length >= limits.faults) continue;
      doubts.push({
        row: total.row,
        column: columns.periods[place]?.heading ?? null,
        message: `“${total.label}” is ${spoken(says)}, but the accounts in it add up to ${spoken(come)}.`,
      });
    }
  }
  const { total } = columns;
  if (total === null || columns.leftOut.length > 0) return doubts;
  for await (const [place, { row, amounts }] of inPortions(accounts, portion)) {
    const says = decimalOrNull(readAmount(entries[place]?.cells[total.index] ?? '', marks));
    const come = sum(amounts);
    if (says === null || equals(says, come) || doubts.length >= limits.faults) continue;
    doubts.push({
      row,
      column: total.heading,
      message: `The total is ${spoken(says)}, but the columns add up to ${spoken(come)}.`,
    });
  }
  return doubts;
}

function headingFaults({ at, periods }: ExportColumns): RowError[] {
  const before = new Map<string, string>();
  return periods.flatMap(({ first, last, heading }) => {
    const same = before.get(`${first} ${last}`);
    before.set(`${first} ${last}`, heading);
    if (same === undefined) return [];
    return [{ row: at + 1, column: heading, message: `This is the same period as “${same}”: list each once.` }];
  });
}

async function readTable(table: Table, columns: ExportColumns): Promise<ReadExport> {
  const { rows } = table;
  if (columns.periods.length > limits.periods)
    throw unreadable(`An export can have at most ${limits.periods} months: split it.`);
  const faults = headingFaults(columns);
  const entries = entriesOf(rows, columns, faults);
  const marks = await decimalMarksOf(table, entries, amountColumns(columns));
  const groups = await groupsOf(entries);
  const accounts = await accountsOf(entries, groups, columns, marks, faults);
  if (accounts.size === 0) throw unreadable('There are no accounts with amounts below the months.');
  const computed = await computedOf(entries, columns, marks);
  const totals = await totalsOf(entries, groups, computed);
  // In workbooks whose formulas were never calculated each formula has the value 0.
  const calculated = computed.values().some((amounts) => amounts.some((amount) => amount !== null && !isZero(amount)));
  const texts = rows.flatMap((cells) => cells.slice(0, columns.firstPeriod));
  return {
    program: programOf(entries, columns, rows[columns.at] ?? []),
    basis: texts.map(basisOf).find((one) => one !== null) ?? null,
    rowCount: entries.length,
    leftOut: columns.leftOut,
    assumedDay: columns.assumedDay,
    periods: columns.periods.map(({ heading, label, first, last }) => ({ heading, label, first, last })),
    accounts: [...accounts.values()],
    totals: calculated ? totals : {},
    faults: faults.slice(0, limits.faults),
    // With an unreadable cell no total can match.
    doubts:
      calculated && faults.length === 0 ? await doubtsOf(entries, groups, columns, accounts, computed, marks) : [],
  };
}

/**
 * The only readable sheet, undefined when there is none. Throws 400 when there are several, because the intended one is
 * unknown.
 */
export function onlyOne<Sheet extends { readonly name: string }>(sheets: readonly Sheet[]): Sheet | undefined {
  if (sheets.length > 1)
    throw unreadable(
      `Several sheets could be imported (hidden ones count): ${sheets.map(({ name }) => `“${name}”`).join(', ')}. Combine them into one, or upload each separately.`,
    );
  return sheets[0];
}

/**
 * Whether there is an account with an amount below the heading. Otherwise any date on a sheet would make it an export.
 */
const hasAccounts = ({ rows }: Table, { at, firstPeriod, periods }: ExportColumns): boolean =>
  rows
    .slice(at + 1)
    .some(
      (cells) =>
        cells.slice(0, firstPeriod).some((cell) => cell.trim() !== '') &&
        periods.some(({ index }) => typeof readAmount(cells[index] ?? '') === 'string'),
    );

/**
 * Reads the sheet that is such an export; null when there is none. Throws 400 when there are several, or the sheet is
 * too large or has no accounts.
 */
export async function readExport(
  tables: readonly Table[],
  readerWritesMonthFirst: boolean,
): Promise<ReadExport | null> {
  const found = tables.flatMap((table) => {
    const columns = exportColumns(table.rows, readerWritesMonthFirst);
    return columns ? [{ name: table.name, table, columns }] : [];
  });
  const one = onlyOne(found.filter(({ table, columns }) => hasAccounts(table, columns))) ?? found[0];
  return one ? readTable(one.table, one.columns) : null;
}
