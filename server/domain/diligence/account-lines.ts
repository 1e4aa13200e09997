/**
 * To which line of our profit and loss each account of a bookkeeping program's export counts, and what the lines come to
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

/** The lines that accounts count to; gross profit, net income and EBITDA are computed from them. */
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

/** What each account, by its key, counts to; null: to nothing. */
export type AccountLines = ReadonlyMap<string, AccountLine | null>;

/** The part of an export that an account stands in. */
export type Section = 'income' | 'cost' | 'expense' | 'other_income' | 'other_expense';

export interface Account {
  /** As the spreadsheet numbers it. */
  readonly row: number;
  /** Its name and those above it, which the next export has again. */
  readonly key: string;
  readonly name: string;
  readonly section: Section;
  /** Of each period; an empty cell is nothing. */
  readonly amounts: readonly Decimal[];
}

interface ExportedPeriod {
  /** As the column is headed: "Mar 2025". */
  readonly heading: string;
  readonly label: string;
  readonly first: string;
  readonly last: string;
}

/** Lines that an export may sum up by itself. */
const reportedLines = ['revenue', 'cost_of_goods_sold', 'gross_profit', 'net_income'] as const;
export type ReportedLine = (typeof reportedLines)[number];

export interface AccountsExport {
  readonly periods: readonly ExportedPeriod[];
  readonly accounts: readonly Account[];
  /** The export's own totals, by period; null where it has none. */
  readonly totals: Readonly<Partial<Record<ReportedLine, readonly (Decimal | null)[]>>>;
}

/** Whether an account stands among what was earned. */
export const isIncome = ({ section }: Pick<Account, 'section'>): boolean =>
  section === 'income' || section === 'other_income';

const owners = /\b(owners?|(?<!\b(security|loan) )officers?|shareholders?|proprietors?)\b/;
const paid = 'pay|salary|salaries|wages?|compensation|remuneration|draws?|drawings';
const pay = new RegExp(`\\b(${paid}|payments?)\\b`);
/** Directors, members and partners own a business where nothing else says whose they are: team members, directors of departments and delivery partners do not. */
const ownersByTheirPay = [
  new RegExp(`^((managing|general|equity|llc) )?(director|member|partner)s?( s)? (${paid})\\b`),
  new RegExp(`\\b(${paid}) ((to|of|for) )?(directors?|members?|partners?)$`),
  /\bguaranteed payments?\b/,
];
const incomeTax =
  /\b(income|corporate|corporation|federal|state|franchise|profits) tax(es|ation)?\b|^tax(es|ation)?( expense)?$|\bprovision for tax/;

/**
 * What an account probably counts to, by its name and the section that it stands in. Other income lowers operating expenses (interest, the
 * interest), so that revenue is what was sold and net income is that of the export.
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

/** An account as its line counts it: income is more revenue and less of any expense. */
const counted = (account: Account, line: AccountLine, place: number): Decimal => {
  const amount = account.amounts[place] ?? zero;
  return (line === 'revenue') === isIncome(account) ? amount : negate(amount);
};

type LineAmounts = Record<PlAmount, Decimal | null>;

/** The accounts of each line. */
type Chosen = Readonly<Record<AccountLine, readonly Account[]>>;

const chosenBy = ({ accounts }: AccountsExport, lines: AccountLines): Chosen =>
  Object.fromEntries(
    accountLines.map((line) => [line, accounts.filter(({ key }) => lines.get(key) === line)]),
  ) as unknown as Chosen;

/** What the lines of one period come to: none of the owner's pay where no account counts to it, as wages may hold it. */
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

/** More than numeric(20,4) holds. */
const tooMuch = decimal('10000000000000000');

/** An amount that adds up to more than can be stored. */
interface TooMuch {
  readonly heading: string;
  readonly line: PlAmount;
}

/** An export's own total and what the lines come to, over all periods that have the total. */
export interface Comparison {
  readonly line: ReportedLine;
  /** By the export. */
  readonly reported: string;
  readonly counted: string;
  /** What is counted less the total of the export; "0" when they agree in every period. */
  readonly difference: string;
  /** Each period that differs. */
  readonly periods: readonly { readonly heading: string; readonly difference: string }[];
}

/** The lines of each period of an export, and how they compare with its own totals. */
interface MappedBooks {
  readonly periods: PlRow[];
  readonly comparison: Comparison[];
  readonly tooMuch: TooMuch[];
}

/** Adds the accounts up to lines, in the currency of `currency`. */
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

/** The most accounts that are kept of an upload, and proposed of all, and the most characters that their names may have together. */
const remembered = { accounts: 1_000, characters: 150_000, uploads: 10 };

/** The lines to remember of uploads, the latest first: of an account what the first that has it says, of as many as there is room for. */
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
 * What the accounts of a deal's last exports that were stored counted to, of those that the caller's own side uploaded; none when there
 * were none. For editors alone.
 */
export const rememberedLines = (dealId: string): Statement<AccountLines> =>
  mapped(remember(dealId, remembered.uploads), (uploads) =>
    linesToRemember(uploads.map(({ account_lines: lines }) => new Map(Object.entries(lines)))),
  );
