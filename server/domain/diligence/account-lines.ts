/**
 * Assigns each account of a bookkeeping program's export to a line of our profit and loss, and sums the lines
 * (docs/books.md, "Exports of bookkeeping programs"). Files are read in server/web/api/books.
 */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import {
  absolute,
  add,
  compare,
  decimal,
  isZero,
  negate,
  subtract,
  sum,
  written,
  zero,
  type Decimal,
} from './decimals.ts';
import { plAmounts, type PlAmount, type PlRow } from './snapshots.ts';

/** The lines that accounts can be assigned to; gross profit, net income and EBITDA are computed from them. */
export const accountLines = [
  'revenue',
  'cost_of_goods_sold',
  'operating_expenses',
  'owner_compensation',
  'depreciation_amortization',
  'interest_expense',
  'tax_expense',
] as const satisfies readonly PlAmount[];
export type AccountLine = (typeof accountLines)[number];

/** The line of each account, by account key; null for no line. */
export type AccountLines = ReadonlyMap<string, AccountLine | null>;

/** The section of an export that an account is in. */
export type Section = 'income' | 'cost' | 'expense' | 'other_income' | 'other_expense';

export interface Account {
  /** The row number in the spreadsheet. */
  readonly row: number;
  /** The account's name and its parents' names, the same in the next export. */
  readonly key: string;
  readonly name: string;
  readonly section: Section;
  /** One amount for each period; an empty cell is zero. */
  readonly amounts: readonly Decimal[];
}

interface ExportedPeriod {
  /** The column heading: "Mar 2025". */
  readonly heading: string;
  readonly label: string;
  readonly first: string;
  readonly last: string;
}

/** Lines that an export may have totals of. */
const reportedLines = ['revenue', 'cost_of_goods_sold', 'gross_profit', 'net_income'] as const;
export type ReportedLine = (typeof reportedLines)[number];

export interface AccountsExport {
  readonly periods: readonly ExportedPeriod[];
  readonly accounts: readonly Account[];
  /** The export's own totals, by period; null where it has none. */
  readonly totals: Readonly<Partial<Record<ReportedLine, readonly (Decimal | null)[]>>>;
}

/** Whether an account is in a section of income. */
export const isIncome = ({ section }: Pick<Account, 'section'>): boolean =>
  section === 'income' || section === 'other_income';

const owners = /\b(owners?|(?<!\b(security|loan) )officers?|shareholders?|proprietors?)\b/;
const paid = 'pay|salary|salaries|wages?|compensation|remuneration|draws?|drawings';
const pay = new RegExp(`\\b(${paid}|payments?)\\b`);
/**
 * Directors, members and partners are owners only where the name has no other qualifier: team members, directors of
 * departments and delivery partners are not.
 */
const ownersByTheirPay = [
  new RegExp(`^((managing|general|equity|llc) )?(director|member|partner)s?( s)? (${paid})\\b`),
  new RegExp(`\\b(${paid}) ((to|of|for) )?(directors?|members?|partners?)$`),
  /\bguaranteed payments?\b/,
];
const incomeTax =
  /\b(income|corporate|corporation|federal|state|franchise|profits) tax(es|ation)?\b|^tax(es|ation)?( expense)?$|\bprovision for tax/;

/**
 * The line that an account probably counts to, by its name and section. Other income lowers operating expenses
 * (interest earned: interest expense), so that revenue is sales alone and net income equals the export's.
 */
export function proposedLine({ name, section }: Pick<Account, 'name' | 'section'>): AccountLine {
  const words = name
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, ' ')
    .trim();
  if (section === 'income') return 'revenue';
  if (/\b(depreciation|amorti[sz]ation)\b/.test(words)) return 'depreciation_amortization';
  if (section === 'cost') return 'cost_of_goods_sold';
  if (/\binterest\b/.test(words)) return 'interest_expense';
  if (section === 'other_income') return 'operating_expenses';
  if ((owners.test(words) && pay.test(words)) || ownersByTheirPay.some((known) => known.test(words)))
    return 'owner_compensation';
  return incomeTax.test(words) ? 'tax_expense' : 'operating_expenses';
}

/** An account's amount with the sign of its line: income raises revenue and lowers any expense. */
const counted = (account: Account, line: AccountLine, place: number): Decimal => {
  const amount = account.amounts[place] ?? zero;
  return (line === 'revenue') === isIncome(account) ? amount : negate(amount);
};

type LineAmounts = Record<PlAmount, Decimal | null>;

type Chosen = Readonly<Record<AccountLine, readonly Account[]>>;

const chosenBy = ({ accounts }: AccountsExport, lines: AccountLines): Chosen =>
  Object.fromEntries(
    accountLines.map((line) => [line, accounts.filter(({ key }) => lines.get(key) === line)]),
  ) as unknown as Chosen;

/** The line amounts of one period. Owner's pay is null where no account counts to it, as wages may include it. */
function amountsOf(chosen: Chosen, place: number): LineAmounts {
  const of = (line: AccountLine): Decimal => sum(chosen[line].map((account) => counted(account, line, place)));
  const [revenue, cost] = [of('revenue'), of('cost_of_goods_sold')];
  const [operating, owner] = [of('operating_expenses'), of('owner_compensation')];
  const [depreciation, interest, tax] = [of('depreciation_amortization'), of('interest_expense'), of('tax_expense')];
  const gross = subtract(revenue, cost);
  const ebitda = subtract(gross, add(operating, owner));
  return {
    revenue,
    cost_of_goods_sold: cost,
    gross_profit: gross,
    operating_expenses: operating,
    owner_compensation: chosen.owner_compensation.length > 0 ? owner : null,
    depreciation_amortization: depreciation,
    interest_expense: interest,
    tax_expense: tax,
    net_income: subtract(ebitda, sum([depreciation, interest, tax])),
    ebitda,
  };
}

/** The smallest amount too large for numeric(20,4). */
const tooMuch = decimal('10000000000000000');

/** A line whose total is too large to be stored. */
interface TooMuch {
  readonly heading: string;
  readonly line: PlAmount;
}

/** An export's own total compared with the computed line, over all periods that have the total. */
export interface Comparison {
  readonly line: ReportedLine;
  /** The export's own total. */
  readonly reported: string;
  readonly counted: string;
  /** The computed amount less the export's total; "0" when they agree in every period. */
  readonly difference: string;
  /** The periods that differ. */
  readonly periods: readonly { readonly heading: string; readonly difference: string }[];
}

/** The lines of each period of an export, and their comparison with its own totals. */
interface MappedBooks {
  readonly periods: PlRow[];
  readonly comparison: Comparison[];
  readonly tooMuch: TooMuch[];
}

/** Sums the accounts into lines; `currency` is the currency of the amounts. */
export function mappedBooks(exported: AccountsExport, lines: AccountLines, currency: string): MappedBooks {
  const chosen = chosenBy(exported, lines);
  const all = exported.periods.map((_, place) => amountsOf(chosen, place));
  const beyond: TooMuch[] = [];
  const periods = exported.periods.map(({ heading, label, first, last }, place) => {
    const texts = plAmounts.map((line): [PlAmount, string | null] => {
      const amount = all[place]?.[line] ?? null;
      if (amount && compare(absolute(amount), tooMuch) >= 0) beyond.push({ heading, line });
      return [line, amount && written(amount)];
    });
    const dates = { period_label: label, period_start_date: first, period_end_date: last, currency };
    return { ...dates, ...(Object.fromEntries(texts) as Record<PlAmount, string | null>) };
  });
  return { periods, comparison: comparisonOf(exported, all), tooMuch: beyond };
}

function comparisonOf({ periods, totals }: AccountsExport, all: readonly LineAmounts[]): Comparison[] {
  return reportedLines.flatMap((line) => {
    const compared = periods.flatMap(({ heading }, place) => {
      const [amount, own] = [totals[line]?.[place], all[place]?.[line]];
      return amount && own ? [{ heading, amount, own, difference: subtract(own, amount) }] : [];
    });
    if (compared.length === 0) return [];
    const differing = compared.filter(({ difference }) => !isZero(difference));
    return [
      {
        line,
        reported: written(sum(compared.map(({ amount }) => amount))),
        counted: written(sum(compared.map(({ own }) => own))),
        difference: written(sum(differing.map(({ difference }) => difference))),
        periods: differing.map(({ heading, difference }) => ({ heading, difference: written(difference) })),
      },
    ];
  });
}

/**
 * Limits of stored and of proposed lines: accounts, and characters of all their keys together; and how many uploads a
 * proposal reads.
 */
const remembered = { accounts: 1_000, characters: 150_000, uploads: 10 };

/**
 * Merges the lines of uploads, latest first, up to the limits: the first upload that has an account decides its line.
 */
export function linesToRemember(uploads: readonly AccountLines[]): AccountLines {
  const kept = new Map<string, AccountLine | null>();
  let characters = 0;
  for (const [key, line] of uploads.flatMap((lines) => [...lines])) {
    if (kept.has(key)) continue;
    characters += JSON.stringify(key).length;
    if (kept.size === remembered.accounts || characters > remembered.characters) break;
    kept.set(key, line);
  }
  return kept;
}

const remember = rows<{ account_lines: Record<string, AccountLine | null> }, [dealId: string, most: number]>(
  'remembered_account_lines',
  'select r.account_lines from app.remembered_account_lines($1, $2) r',
);

/**
 * The lines of the accounts in the deal's latest stored exports, of those that the caller's own side uploaded; empty
 * when there are none. Only for callers who may upload.
 */
export const rememberedLines = (dealId: string): Statement<AccountLines> =>
  mapped(remember(dealId, remembered.uploads), (uploads) =>
    linesToRemember(uploads.map(({ account_lines: lines }) => new Map(Object.entries(lines)))),
  );
