/** The names of account columns in the programs that export them. */

import { plAmounts, type PlAmount } from '../../../domain/diligence/snapshots.ts';
import { columnsNamed } from '../csv.ts';

export type Kind = 'profit_and_loss' | 'customer_revenue';
type Common = 'period' | 'period_start_date' | 'period_end_date' | 'currency';
export type Column = Common | PlAmount | 'customer_name' | 'revenue_total';

const amounts: ReadonlySet<Column> = new Set([...plAmounts, 'revenue_total']);
/** Whether a column contains amounts. */
export const isAmount = (column: Column): boolean => amounts.has(column);

const days: ReadonlySet<Column> = new Set(['period', 'period_start_date', 'period_end_date']);
/** Whether a column may contain days. */
export const isDay = (column: Column): boolean => days.has(column);

/** In lower case, letters only. */
const common: Record<Common, string[]> = {
  period: ['period', 'month', 'date', 'year', 'periodlabel', 'monthending', 'monthended', 'periodending', 'fiscalyear'],
  period_start_date: ['periodstartdate', 'periodstart', 'startdate', 'start', 'from'],
  period_end_date: ['periodenddate', 'periodend', 'enddate', 'end', 'to'],
  currency: ['currency', 'ccy'],
};
const sales = ['revenue', 'revenues', 'sales', 'netsales', 'netrevenue', 'totalrevenue', 'totalsales', 'turnover'];

const names: Record<Kind, Partial<Record<Column, string[]>>> = {
  profit_and_loss: {
    ...common,
    revenue: [...sales, 'income', 'totalincome', 'grosssales'],
    cost_of_goods_sold: [
      'costofgoodssold',
      'cogs',
      'costofsales',
      'costofrevenue',
      'totalcogs',
      'totalcostofgoodssold',
    ],
    gross_profit: ['grossprofit', 'grossmargin'],
    operating_expenses: ['operatingexpenses', 'opex', 'totaloperatingexpenses', 'expenses', 'totalexpenses', 'sga'],
    owner_compensation: ['ownercompensation', 'ownerscompensation', 'ownercomp', 'ownersalary', 'officercompensation'],
    depreciation_amortization: [
      'depreciationamortization',
      'depreciationandamortization',
      'da',
      'depreciation',
      'amortization',
    ],
    interest_expense: ['interestexpense', 'interest'],
    tax_expense: ['taxexpense', 'tax', 'taxes', 'incometax', 'incometaxes', 'incometaxexpense'],
    net_income: ['netincome', 'netprofit', 'netearnings'],
    ebitda: ['ebitda'],
  },
  customer_revenue: {
    ...common,
    customer_name: ['customername', 'customer', 'client', 'clientname', 'name', 'account'],
    revenue_total: ['revenuetotal', ...sales, 'total', 'amount'],
  },
};

const columnNamed: Record<Kind, (heading: string) => Column | undefined> = {
  profit_and_loss: columnsNamed(names.profit_and_loss),
  customer_revenue: columnsNamed(names.customer_revenue),
};

/** Two headings that name the same amount, or null. */
export function sameAmount(kind: Kind, heading: readonly string[]): readonly [string, string] | null {
  const before = new Map<Column, string>();
  for (const name of heading) {
    const column = columnNamed[kind](name);
    if (column === undefined || !isAmount(column)) continue;
    const other = before.get(column);
    if (other !== undefined) return [other, name];
    before.set(column, name);
  }
  return null;
}

/**
 * The column that each cell of the heading names; of several that name the same column only the first counts. Null when
 * a required column is missing.
 */
export function columnsOf(kind: Kind, heading: readonly string[]): (Column | undefined)[] | null {
  const seen = new Set<Column>();
  const columns = heading.map((name) => {
    const column = columnNamed[kind](name);
    if (!column || seen.has(column)) return undefined;
    seen.add(column);
    return column;
  });
  const dated = seen.has('period') || (seen.has('period_start_date') && seen.has('period_end_date'));
  const hasAmounts =
    kind === 'profit_and_loss' ? seen.has('revenue') : seen.has('customer_name') && seen.has('revenue_total');
  return dated && hasAmounts ? columns : null;
}
