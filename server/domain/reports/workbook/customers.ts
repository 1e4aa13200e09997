/** The sheet of customers with their shares, and their totals. */

import type { PlAmount } from '../../diligence/snapshots.ts';
import { amount, at, downFrom, fixed, formula, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { addedUpWords, leftOutWords } from '../words.ts';
import { dashed, firstRow, listed, widthFor, type Row } from './layout.ts';
import { amountColumn } from './periods.ts';

/** The row of the list's headings, below the totals. */
const customerHead = 10;

/** Returns the sheet of customers; null when there are none. */
export function customersSheet({ customers, periods, computed }: ReportContents): ReportSheet | null {
  if (!customers) return null;
  const { others } = customers;
  const listing = [
    ...customers.customers,
    ...(others.count > 0
      ? [
          {
            name: `${others.count} more together`,
            revenue: others.revenue,
            share: null,
            cumulative: null,
          },
        ]
      : []),
  ];
  const [first, last] = [customerHead + 1, customerHead + listing.length];
  const lastCustomerRow = customerHead + customers.customers.length;
  const revenues = downFrom(1, first, last);
  const [total, ofRevenue] = ['$B$4', '$B$5'];
  const places = new Map(periods.map(({ id }, place) => [id, firstRow + place]));
  const rows = customers.rows.flatMap((id) => places.get(id) ?? []);
  const ofPeriods = (line: PlAmount) => `SUM(${listed('Periods', amountColumn(line), rows)})`;
  const isWhole = others.count === 0;
  const without = customers.ebitda_without_largest;
  const summary: Row[] = [
    [text(`Customers, ${dashed(customers.first, customers.last)}`, { title: true })],
    [
      text(
        `In ${customers.currency}${customers.uploaded_periods > 1 ? '' : ', from the latest upload with customers'}.${addedUpWords(customers.uploaded_periods)}`,
        { faint: true },
      ),
    ],
    [],
    [text('All uploaded customers'), formula(`SUM(${revenues})`, customers.total)],
    [
      text('Revenue for the same dates'),
      customers.revenue === null ? null : formula(ofPeriods('revenue'), customers.revenue),
    ],
    [
      text('HHI of the uploaded customers, up to 10,000'),
      customers.hhi === null
        ? null
        : isWhole
          ? formula(`ROUND(SUMSQ(${revenues})*10000/${total}^2,0)`, customers.hhi, 'count')
          : amount(customers.hhi, { format: 'count' }),
    ],
    [
      text('HHI of all revenue'),
      customers.hhi_of_revenue === null
        ? null
        : isWhole
          ? formula(`ROUND(SUMSQ(${revenues})*10000/${ofRevenue}^2,0)`, customers.hhi_of_revenue, 'count')
          : amount(customers.hhi_of_revenue, { format: 'count' }),
    ],
    [
      text('Reported EBITDA without the largest, at gross margin'),
      without === null
        ? null
        : formula(
            `ROUND((${ofPeriods('ebitda')}*${ofRevenue}-${fixed(1, first)}*${ofPeriods('gross_profit')})/${ofRevenue},2)`,
            without,
          ),
    ],
    [text(computed.concentration ? leftOutWords(computed.concentration.left_out) : '', { faint: true })],
    [
      head('Customer', false),
      head('Revenue'),
      head('Share of customers'),
      head('Cumulative'),
      head('Share of revenue'),
      head('Cumulative'),
    ],
  ];
  return {
    name: 'Customers',
    widths: [48, Math.max(16, widthFor([customers.total])), 14, 12, 14, 12],
    rows: [
      ...summary,
      ...listing.map((one, place): Row => {
        const row = first + place;
        const upTo = `SUM(${fixed(1, first)}:${at(1, row)})`;
        const share = (body: string, of: string, comes: string | null | undefined) =>
          comes === null || comes === undefined || row > lastCustomerRow
            ? null
            : formula(`IF(${of}>0,ROUND(${body}/${of},6),"")`, comes, 'share');
        const customer = customers.customers[place];
        return [
          text(one.name, { wrap: true }),
          amount(one.revenue),
          share(at(1, row), total, customer?.share),
          share(upTo, total, customer?.cumulative),
          share(at(1, row), ofRevenue, customer?.share_of_revenue),
          share(upTo, ofRevenue, customer?.cumulative_of_revenue),
        ];
      }),
    ],
    frozen: { rows: customerHead, columns: 1 },
    landscape: false,
  };
}
