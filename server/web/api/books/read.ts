/** Reads a file of accounts: returns the rows that can be stored, and every error of the other rows. */

import { charactersIn, onOneLine } from '../../../domain/characters.ts';
import { currencyPattern, isStorable } from '../../../http/values.ts';
import {
  mostSnapshotRows,
  plAmounts,
  type CustomerRow,
  type PlRow,
  type Snapshot,
} from '../../../domain/diligence/snapshots.ts';
import { lengths } from '../../../domain/lengths.ts';
import { beyond, csvText, headingsAt, isBeyond, parseCsv, unreadable, writeCsv, type RowError } from '../csv.ts';
import { inPortions } from '../portions.ts';
import { readCell } from '../../../lib/csv.ts';
import type { Party } from '../../../lib/fair-queue.ts';
import {
  isIncome,
  mappedBooks,
  proposedLine,
  type AccountLine,
  type AccountLines,
  type AccountsExport,
  type Comparison,
} from '../../../domain/diligence/account-lines.ts';
import { sum, written } from '../../../domain/diligence/decimals.ts';
import { keepsDirection } from '../../../domain/people/names.ts';
import { columnsOf, isAmount, isDay, sameAmount, type Column, type Kind } from './columns.ts';
import { onlyOne, readExport, type ReadExport } from './accounting-export.ts';
import { assumedDayIn, dayOrderOf, type AssumedDay } from './day-order.ts';
import { decimalMarksOf } from './decimal-marks.ts';
import {
  amountFault,
  dayFault,
  hasNoMonths,
  notAnAmount,
  periodBetween,
  readAmount,
  readDay,
  readPeriod,
  slashedDay,
  type DayOrder,
  type Period,
} from './values.ts';
import type { Table } from './workbook-reader.ts';
import { readXlsx, Unreadable } from './workbook.ts';

const shownRows = 50;

export interface ReadBooks {
  readonly columns: string[];
  /** In files with named columns: the headings of columns that contain ignored cells. */
  readonly left_out: string[];
  readonly periods: PlRow[];
  readonly customers: CustomerRow[];
  readonly rows: { row: number; values: Record<string, string | null> }[];
  readonly row_count: number;
  /** The first year or quarter that the file names without its months, as the calendar has it; null without any. */
  calendar: { readonly name: string; readonly first: string; readonly last: string } | null;
  /** The first day of which the file does not show whether the month or the day comes first; null without any. */
  assumed_day: AssumedDay | null;
  readonly faults: RowError[];
  /** Set when the file is the export of a bookkeeping program. */
  readonly export: ExportSeen | null;
}

/** The content of an export, and the line to which each account is assigned. */
interface ExportSeen extends Pick<ReadExport, 'program' | 'basis'> {
  readonly period_count: number;
  /** The headings of ignored columns. */
  readonly left_out: readonly string[];
  readonly accounts: {
    readonly row: number;
    /** Identifies the account in the client's choices and in the next export. */
    readonly account: string;
    readonly name: string;
    readonly is_income: boolean;
    /** The sum over all periods. */
    readonly amount: string;
    readonly line: AccountLine | null;
    /** The origin of the line: chosen now, remembered from the previous export, or proposed by name. */
    readonly by: 'choice' | 'memory' | 'name';
  }[];
  /** The export's own totals beside the sums of the lines. */
  readonly comparison: readonly Comparison[];
  readonly doubts: readonly RowError[];
  readonly doubt_count: number;
  /** The assignments to remember when the snapshot is stored. */
  readonly lines: AccountLines;
}

async function readCsv(bytes: Uint8Array): Promise<Table[]> {
  const csv = csvText(bytes, 'Save the file as CSV in UTF-8, or as XLSX, and try again.');
  const rows = (await parseCsv(csv)).map((cells) => cells.map(readCell));
  return [{ name: '', rows, written: true }];
}

async function tablesOf(bytes: Uint8Array, { parties, signal }: BooksFor): Promise<Table[]> {
  if (bytes[0] !== 0x50 || bytes[1] !== 0x4b) return readCsv(bytes);
  try {
    return await readXlsx(bytes, parties, signal);
  } catch (error) {
    if (error instanceof Unreadable) throw unreadable(error.message);
    throw error;
  }
}

const isEmpty = (cells: readonly string[]): boolean => cells.every((cell) => cell.trim() === '');

interface Sheet {
  readonly kind: Kind;
  readonly name: string;
  readonly written: boolean;
  readonly heading: readonly string[];
  readonly columns: (Column | undefined)[];
  readonly rows: { row: number; cells: readonly string[] }[];
}

function sheetOf({ name, rows, written: asWritten = false }: Table, wanted: readonly Kind[]): Sheet | null {
  const at = rows.findIndex((cells) => !isEmpty(cells));
  const heading = rows[at];
  if (!heading) return null;
  const found = wanted
    .map((kind) => ({ kind, columns: columnsOf(kind, heading) }))
    .find(({ columns }) => columns !== null);
  if (!found?.columns) return null;
  // Rows are numbered as in the spreadsheet, before empty ones are left out.
  const filled = rows
    .map((cells, index) => ({ row: index + 1, cells }))
    .slice(at + 1)
    .filter(({ cells }) => !isEmpty(cells));
  return { kind: found.kind, name, written: asWritten, heading, columns: found.columns, rows: filled };
}

const headings: Record<Snapshot['snapshot_type'], string> = {
  profit_and_loss: 'The first line must name the columns: month and revenue, plus any others from the template.',
  customer_revenue: 'The first line must name the columns: customer, month and revenue.',
  full: 'A full snapshot is a workbook with two sheets: profit and loss by month, and revenue by customer.',
};

function periodOf(
  cells: Partial<Record<Column, string>>,
  order: DayOrder['first'],
): Period | { column: Column; message: string } {
  const { period = '', period_start_date: start = '', period_end_date: end = '' } = cells;
  if (start !== '' || end !== '') {
    const [first, last] = [readDay(start, order), readDay(end, order)];
    if (first === undefined) return { column: 'period_start_date', message: dayFault(start, order, '2025-01-01') };
    if (last === undefined) return { column: 'period_end_date', message: dayFault(end, order, '2025-01-31') };
    if (last < first) return { column: 'period_end_date', message: 'The period ends before it begins.' };
    const between = periodBetween(first, last);
    return period === ''
      ? between
      : { ...between, label: period.slice(0, lengths.pl_periods.period_label).toWellFormed() };
  }
  return (
    readPeriod(period, order) ?? {
      column: 'period',
      message:
        period === ''
          ? 'The month is missing.'
          : slashedDay(period)
            ? dayFault(period, order, '2025-01-31')
            : 'Enter a month, like 2025-01 or Jan 2025, or a year, like FY2025.',
    }
  );
}

/**
 * The deal for which a file is read, and the lines of its accounts: `chosen` is null before a choice is made,
 * `remembered` is from the previous export.
 */
interface BooksFor {
  /** The parties whose share of the queue is used to read a workbook. */
  readonly parties: readonly Party[];
  readonly currency: string;
  readonly chosen: AccountLines | null;
  readonly remembered: AccountLines;
  /** In which order days are read that may be two ({@link dayOrderOf}). */
  readonly writesMonthFirst: boolean;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
}

/** The line of an account, and the origin of that line. Throws 400 when choices were made but none for this account. */
function lineOf(
  account: AccountsExport['accounts'][number],
  { chosen, remembered }: BooksFor,
): Pick<ExportSeen['accounts'][number], 'line' | 'by'> {
  const choice = chosen?.get(account.key);
  if (chosen && choice === undefined)
    throw unreadable(`Choose what “${account.name}” (row ${account.row}) counts as, or that it is not counted.`);
  if (choice !== undefined) return { line: choice, by: 'choice' };
  const memory = remembered.get(account.key);
  return memory === undefined ? { line: proposedLine(account), by: 'name' } : { line: memory, by: 'memory' };
}

const shownDoubts = 50;

function booksOfExport(exported: ReadExport, into: BooksFor): ReadBooks {
  const accounts = exported.accounts.map((account) => ({ account, ...lineOf(account, into) }));
  const lines = new Map(accounts.map(({ account, line }) => [account.key, line]));
  const { periods, comparison, tooMuch } = mappedBooks(exported, lines, into.currency);
  const faults = exported.faults.concat(
    tooMuch.map(({ heading, line }) => ({ row: 1, column: heading, message: `${line}: ${notAnAmount}` })),
  );
  const { program, basis, doubts } = exported;
  const named = exported.periods.find(({ heading }) => hasNoMonths(heading));
  return {
    columns: [],
    left_out: [],
    periods,
    customers: [],
    rows: periods.slice(0, shownRows).map((values, place) => ({ row: place + 1, values: { ...values } })),
    row_count: exported.rowCount,
    calendar: named ? { name: named.heading, first: named.first, last: named.last } : null,
    assumed_day: exported.assumedDay,
    faults,
    export: {
      program,
      basis,
      period_count: periods.length,
      left_out: exported.leftOut,
      accounts: accounts.map(({ account, line, by }) => {
        const { row, key, name, amounts } = account;
        return { row, account: key, name, is_income: isIncome(account), amount: written(sum(amounts)), line, by };
      }),
      comparison,
      doubts: doubts.slice(0, shownDoubts),
      doubt_count: doubts.length,
      lines,
    },
  };
}

/** Reads a file of accounts. Throws 400 when it is not such a file; errors in rows are returned row by row. */
export async function readBooks(
  bytes: Uint8Array,
  type: Snapshot['snapshot_type'],
  into: BooksFor,
): Promise<ReadBooks> {
  const wanted: Kind[] = type === 'full' ? ['customer_revenue', 'profit_and_loss'] : [type];
  const tables = await tablesOf(bytes, into);
  const sheets = tables.map((table) => sheetOf(table, wanted)).filter((sheet) => sheet !== null);
  const used = wanted
    .map((kind) => sheets.filter((sheet) => sheet.kind === kind))
    .map((fitting) => onlyOne(fitting.filter(({ rows }) => rows.length > 0)) ?? fitting[0])
    .filter((sheet) => sheet !== undefined);
  const exported =
    used.length === 0 && type === 'profit_and_loss' ? await readExport(tables, into.writesMonthFirst) : null;
  if (exported) return booksOfExport(exported, into);
  if (used.length < wanted.length) throw unreadable(headings[type]);
  for (const { kind, heading } of used) {
    const [one, other] = sameAmount(kind, heading) ?? [];
    if (one !== undefined)
      throw unreadable(
        `“${one}” and “${other}” are read as the same line: add them up in one column, or keep the one that counts.`,
      );
  }
  const row_count = used.reduce((count, { rows }) => count + rows.length, 0);
  if (row_count === 0) throw unreadable('There are no rows below the heading.');
  if (row_count > mostSnapshotRows)
    throw unreadable(`This file has ${row_count} rows; the limit is ${mostSnapshotRows}.`);

  const books: ReadBooks = {
    columns: [...new Set(used.flatMap(({ columns }) => columns.filter((column) => column !== undefined)))],
    left_out: [],
    periods: [],
    customers: [],
    rows: [],
    row_count,
    calendar: null,
    assumed_day: null,
    faults: [],
    export: null,
  };
  for (const sheet of used) await readSheet(sheet, used.length > 1, into, books);
  return books;
}

const tooMany = beyond('put quotation marks around amounts with commas, or write them without commas.');

async function readSheet(
  sheet: Sheet,
  several: boolean,
  { currency, writesMonthFirst }: BooksFor,
  books: ReadBooks,
): Promise<void> {
  const before = new Map<string, number>();
  const amounts = sheet.columns.flatMap((column, index) => (column && isAmount(column) ? [index] : []));
  const unread = new Set<number>();
  const marks = await decimalMarksOf(sheet, sheet.rows, amounts);
  const days = sheet.columns.flatMap((column, index) => (column && isDay(column) ? [index] : []));
  const dayCells = sheet.rows.flatMap(({ cells }) => days.map((index) => (cells[index] ?? '').trim()));
  const order = dayOrderOf(dayCells, writesMonthFirst);
  books.assumed_day ??= assumedDayIn(dayCells, order);
  for await (const { row, cells } of inPortions(sheet.rows)) {
    const faults: RowError[] = [];
    const blame = (column: string | null, message: string) =>
      faults.push({ row, column, message: several ? `Sheet “${sheet.name}”: ${message}` : message });
    // The row's amounts may be in the wrong columns, so that no other error is reported for it.
    if (isBeyond(sheet.heading, cells)) {
      blame(null, tooMany);
      books.faults.push(...faults);
      continue;
    }
    for (const [place, cell] of cells.entries()) if (cell.trim() !== '' && !sheet.columns[place]) unread.add(place);
    const given: Partial<Record<Column, string>> = {};
    sheet.columns.forEach((column, index) => {
      if (column) given[column] = (cells[index] ?? '').trim();
    });
    const amount = (column: Column, required = false): string | null => {
      const text = given[column] ?? '';
      const value = readAmount(text, marks);
      if (value === undefined) blame(column, amountFault(text, marks));
      else if (value === null && required) blame(column, 'The amount is missing.');
      return value ?? null;
    };
    const period = periodOf(given, order.first);
    if ('column' in period) blame(period.column, period.message);
    const money = (given.currency || currency).toUpperCase();
    if (!currencyPattern.test(money)) blame('currency', 'Enter a three-letter currency code, like USD.');
    const { first = '', last = '', label = '' } = 'column' in period ? {} : period;
    const name = given.period ?? '';
    if (first !== '' && !given.period_start_date && !given.period_end_date && hasNoMonths(name))
      books.calendar ??= { name, first, last };
    const common = { period_start_date: first, period_end_date: last, currency: money };
    const isCustomers = sheet.kind === 'customer_revenue';
    const customer = onOneLine(given.customer_name ?? '');
    const values = isCustomers
      ? { customer_name: customer, ...common, revenue_total: amount('revenue_total', true) }
      : {
          period_label: label,
          ...common,
          ...(Object.fromEntries(plAmounts.map((one) => [one, amount(one, one === 'revenue')])) as Record<
            (typeof plAmounts)[number],
            string | null
          >),
        };
    if (isCustomers && customer === '') blame('customer_name', 'The customer is missing.');
    if (charactersIn(customer) > lengths.customer_revenues.customer_name)
      blame('customer_name', `At most ${lengths.customer_revenues.customer_name} characters.`);
    if (!keepsDirection.test(customer))
      blame('customer_name', 'Leave out characters that change the direction of writing.');
    if (!cells.every(isStorable)) blame(null, 'This row contains characters that cannot be stored.');
    if (first !== '') {
      const key = JSON.stringify([first, last, isCustomers ? customer : '']);
      const same = before.get(key);
      if (same === undefined) before.set(key, row);
      else blame(isCustomers ? 'customer_name' : 'period', `Duplicate of row ${same}: list each once.`);
    }
    if (books.rows.length < shownRows) books.rows.push({ row, values });
    books.faults.push(...faults);
    if (faults.length > 0) continue;
    if ('revenue_total' in values) books.customers.push(values as CustomerRow);
    else books.periods.push(values as PlRow);
  }
  const leftOut = headingsAt(sheet.heading, unread);
  books.left_out.push(...leftOut.map((name) => (several ? `${name} (${sheet.name})` : name)));
}

/** A CSV template with one example row. */
export function booksTemplate(type: 'profit_and_loss' | 'customer_revenue'): string {
  if (type === 'customer_revenue')
    return writeCsv(['customer', 'period', 'currency', 'revenue'], [['Example Ltd', 'FY2025', 'USD', '125000.50']]);
  const example = [
    '2025-01',
    'USD',
    '100000',
    '60000',
    '40000',
    '20000',
    '8000',
    '1500',
    '500',
    '2500',
    '7500',
    '12000',
  ];
  return writeCsv(['month', 'currency', ...plAmounts], [example]);
}
