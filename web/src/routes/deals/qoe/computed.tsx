/** The figures computed from the uploaded books: earnings and margins, customers, and restatements. */
import { useQuery } from '@tanstack/react-query';
import { Calculator } from 'lucide-react';
import { Fragment, useState, type ReactNode } from 'react';
import { computedQuery } from '../../../api/qoe.ts';
import type { ComputedBooks, Decimal, Earnings, Id, SharedWords } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { Money } from '../../../components/money.tsx';
import { ScrollRegion } from '../../../components/scroll-region.tsx';
import { EmptyState, Loaded, SkeletonCard, SkeletonRows } from '../../../components/states.tsx';
import { cx } from '../../../lib/cx.ts';
import { compare } from '../../../lib/decimal.ts';
import {
  formatCount,
  formatDates,
  formatDay,
  formatMonth,
  formatMonthOfYear,
  formatShare,
  plural,
} from '../../../lib/format.ts';
import { addedUp } from '../../../lib/periods.ts';
import { plLines } from '../../../lib/states.ts';
import { wholeNumber } from '../../../lib/whole-number.ts';

const cell = 'px-2 py-1.5 text-right whitespace-nowrap first:pl-4 last:pr-4 sm:first:pl-5 sm:last:pr-5';
const computedFrom: SharedWords['computedFrom'] =
  'Computed from the uploaded financials. This is not an audit and not advice.';
const restated: SharedWords['restated'] = 'Line by line, where two uploads cover the same dates.';

const Share = ({ of, signed = false }: { of: Decimal | null; signed?: boolean }) =>
  of === null ? (
    <Money amount={null} currency={null} />
  ) : (
    <span className="tabular">{formatShare(of, { signed })}</span>
  );

interface Line {
  label: string;
  of: (one: Earnings) => ReactNode;
  /** Whether the line is a detail of the line above. */
  sub?: boolean;
}

const money = (of: (one: Earnings) => Decimal | null) => (one: Earnings) => (
  <Money amount={of(one)} currency={one.currency} />
);

const lines: readonly Line[] = [
  { label: 'Revenue', of: money(({ amounts }) => amounts.revenue) },
  { label: 'Revenue growth', sub: true, of: ({ revenue_growth }) => <Share of={revenue_growth} signed /> },
  { label: 'Gross margin', of: ({ gross_margin }) => <Share of={gross_margin} /> },
  { label: 'Reported EBITDA', of: money(({ reported_ebitda }) => reported_ebitda) },
  { label: 'EBITDA margin', sub: true, of: ({ ebitda_margin }) => <Share of={ebitda_margin} /> },
  { label: 'EBITDA growth', sub: true, of: ({ ebitda_growth }) => <Share of={ebitda_growth} signed /> },
  { label: 'Adjusted EBITDA', of: money(({ adjusted_ebitda }) => adjusted_ebitda) },
  {
    label: 'Adjusted EBITDA margin',
    sub: true,
    of: ({ adjusted_ebitda_margin }) => <Share of={adjusted_ebitda_margin} />,
  },
  { label: 'SDE', of: money(({ sde }) => sde) },
];

/** Number of periods shown as columns at first. */
const columnsFirst = 6;

/** Sorted as the columns: whole periods, then partial years. */
const columnsOf = (earnings: readonly Earnings[]): readonly Earnings[] =>
  earnings.toSorted((a, b) => Number(a.kind === 'partial_year') - Number(b.kind === 'partial_year'));

const monthOf = (month: string): number => wholeNumber(month.slice(5));

/** "Jan 26 – Mar 26, May 26": months of a year, consecutive ones as a range. */
function inRuns(months: readonly string[]): string {
  const runs: string[][] = [];
  for (const month of months) {
    const run = runs.at(-1);
    if (run && monthOf(month) === monthOf(run.at(-1) ?? '') + 1) run.push(month);
    else runs.push([month]);
  }
  return runs
    .map((run) => [...new Set([run[0], run.at(-1)])].map((month) => formatMonth(`${month}-01`)).join(' – '))
    .join(', ');
}

/** The months that the partial years cover. */
function PartialYears({ earnings }: { earnings: readonly Earnings[] }) {
  const partial = earnings.filter(({ kind }) => kind === 'partial_year');
  if (partial.length === 0) return null;
  return (
    <p className="border-t border-line px-4 py-3 text-sm text-faint sm:px-5">
      Partial years:{' '}
      {partial
        .map(({ label, months, first, last }) =>
          months.length > 0 ? `${label} (${inRuns(months)})` : `${label} (${formatDates({ first, last })})`,
        )
        .join('; ')}
      .
    </p>
  );
}

function Seasons({ seasonality }: Pick<ComputedBooks, 'seasonality'>) {
  const inOrder = seasonality.toSorted((a, b) => compare(b.share, a.share));
  const [best, worst] = [inOrder[0], inOrder.at(-1)];
  if (!best || !worst || best.share === worst.share) return null;
  return (
    <p className="border-t border-line px-4 py-3 text-sm text-soft sm:px-5">
      Across full years, {formatMonthOfYear(best.month)} brings in the most revenue ({formatShare(best.share)}) and{' '}
      {formatMonthOfYear(worst.month)} the least ({formatShare(worst.share)}).
    </p>
  );
}

/** The business's earnings: the last twelve months and years, with margins and growth. */
export function EarningsCard({ dealId }: { dealId: Id }) {
  const query = useQuery(computedQuery(dealId));
  const [all, setAll] = useState(false);
  const earned = columnsOf(query.data?.earnings ?? []);
  const columns = earned.slice(0, all ? undefined : columnsFirst);
  return (
    <Card
      title="Earnings and margins"
      description={computedFrom}
      flush
      actions={
        earned.length > columnsFirst && (
          <Button size="sm" onClick={() => setAll(!all)}>
            {all ? 'Show fewer' : `Show all ${formatCount(earned.length)} periods`}
          </Button>
        )
      }
    >
      <Loaded query={query} skeleton={<SkeletonRows rows={9} height="h-8" />}>
        {({ earnings, seasonality, counted }) =>
          earnings.length === 0 ? (
            <EmptyState icon={Calculator} title="No earnings yet">
              {counted.not_counted.length === 0
                ? 'They show here once a profit and loss has been uploaded.'
                : counted.not_counted.join(' ')}
            </EmptyState>
          ) : (
            <>
              <ScrollRegion label="Earnings and margins">
                <table className="w-full border-collapse text-sm">
                  <thead className="border-y border-line bg-sunken text-faint">
                    <tr>
                      <th scope="col" className="sticky left-0 bg-sunken px-4 py-2 text-left font-medium sm:px-5">
                        <span className="sr-only">Line</span>
                      </th>
                      {columns.map((one) => (
                        <th
                          key={`${one.kind} ${one.first} ${one.last}`}
                          scope="col"
                          className={cx(cell, 'font-medium')}
                        >
                          {one.label}
                          <span className="block text-xs font-normal">{formatDay(one.first)} –</span>
                          <span className="block text-xs font-normal">{formatDay(one.last)}</span>
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {lines.map(({ label, of, sub }) => (
                      <tr key={label} className={cx(!sub && 'border-t border-line first:border-t-0')}>
                        <th
                          scope="row"
                          className={cx(
                            'sticky left-0 bg-surface py-1.5 text-left whitespace-nowrap',
                            sub ? 'pl-6 font-normal text-faint' : 'pl-4 font-medium sm:pl-5',
                          )}
                        >
                          {label}
                        </th>
                        {columns.map((one) => (
                          <td key={`${one.kind} ${one.first} ${one.last}`} className={cx(cell, sub && 'text-faint')}>
                            {of(one)}
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </ScrollRegion>
              <PartialYears earnings={columns} />
              <Seasons seasonality={seasonality} />
              {(counted.superseded > 0 || counted.not_counted.length > 0) && (
                <p className="border-t border-line px-4 py-3 text-sm text-faint sm:px-5">
                  Computed from {plural(counted.rows, 'row')}.
                  {counted.superseded > 0 &&
                    ` Later uploads of the same dates replaced ${plural(counted.superseded, 'row')}.`}
                  {counted.not_counted.map((sentence) => ` ${sentence}`)}
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

type Customers = Pick<ComputedBooks, 'concentration' | 'bridge'>;
type Change = NonNullable<Customers['bridge']>['lost'];

const changeWords: SharedWords['changes'] = {
  grown: 'Grown',
  new: 'New',
  kept: 'Unchanged',
  shrunk: 'Shrunk',
  lost: 'Lost',
};

function ChangeRow({ label, change, currency }: { label: string; change: Change; currency: string }) {
  const named = change.largest.slice(0, 3).map(({ name }) => name);
  const others = change.count - named.length;
  return (
    <tr className="border-t border-line align-top">
      <th scope="row" className="px-4 py-1.5 text-left font-medium whitespace-nowrap sm:px-5">
        {label}
      </th>
      <td className={cx(cell, 'tabular')}>{formatCount(change.count)}</td>
      <td className={cell}>
        <Money amount={change.difference} currency={currency} signed />
      </td>
      <td className="w-full min-w-40 px-3 py-1.5 pr-4 break-words text-soft sm:pr-5">
        {named.join(', ')}
        {others > 0 && named.length > 0 && ` and ${formatCount(others)} more`}
      </td>
    </tr>
  );
}

/** The dependence on the largest customer, and the changes of customers since the period before. */
export function CustomerChangesCard({ dealId }: { dealId: Id }) {
  const { data, isPending } = useQuery(computedQuery(dealId));
  if (isPending) return <SkeletonCard rows={6} />;
  const { concentration = null, bridge = null } = data ?? {};
  if (!concentration) return null;
  const { largest, currency } = concentration;
  const left = (bridge ?? concentration).left_out;
  return (
    <Card
      title="Customer concentration in detail"
      description={`${formatDates(concentration)}${addedUp(concentration.uploaded_periods)}. ${computedFrom}`}
      flush
    >
      <Facts className="border-t border-line px-4 py-4 sm:px-5">
        <Fact label="Half of the uploaded revenue comes from">{plural(concentration.half, 'customer')}</Fact>
        {concentration.hhi !== null && (
          <Fact label="Herfindahl-Hirschman index (HHI, up to 10,000)">
            {formatCount(wholeNumber(concentration.hhi))} by uploaded customers
            {concentration.hhi_of_revenue !== null &&
              `, ${formatCount(wholeNumber(concentration.hhi_of_revenue))} by all revenue`}
          </Fact>
        )}
        <Fact label={`Largest: ${largest.name}`}>
          <Share of={largest.share} /> of uploaded customers
          {largest.share_of_revenue !== null && (
            <>
              , <Share of={largest.share_of_revenue} /> of all revenue
            </>
          )}
        </Fact>
        {concentration.ebitda_without_largest !== null && (
          <Fact label="Reported EBITDA without the largest, at gross margin">
            <Money amount={concentration.ebitda_without_largest} currency={currency} />
          </Fact>
        )}
      </Facts>
      {bridge && (
        <>
          <p className="border-t border-line px-4 py-2 text-sm text-faint sm:px-5">
            From {formatDates(bridge.before)} (
            <Money amount={bridge.before.total} currency={bridge.currency} />) to the period of the same length ending{' '}
            {formatDay(bridge.after.last)} (<Money amount={bridge.after.total} currency={bridge.currency} />)
          </p>
          <ScrollRegion label="Customers between two periods">
            <table className="w-full border-collapse text-sm">
              <thead className="sr-only">
                <tr>
                  {['Change', 'Customers', 'Revenue', 'Largest'].map((header) => (
                    <th key={header} scope="col">
                      {header}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {(['grown', 'new', 'kept', 'shrunk', 'lost'] as const).map((part) => (
                  <ChangeRow key={part} label={changeWords[part]} change={bridge[part]} currency={bridge.currency} />
                ))}
              </tbody>
            </table>
          </ScrollRegion>
        </>
      )}
      {left.count > 0 && (
        <p className="border-t border-line px-4 py-3 text-sm break-words text-soft sm:px-5">
          Left out because they are not in {currency}:{' '}
          {left.items.map(({ name, first, last, revenue, currency: its }, place) => (
            <Fragment key={`${name} ${last} ${its}`}>
              {place > 0 && ', '}
              {name} in {formatDates({ first, last })} (<Money amount={revenue} currency={its} />)
            </Fragment>
          ))}
          {left.count > left.items.length && ` and ${formatCount(left.count - left.items.length)} more`}.
        </p>
      )}
      {concentration.same_names.count > 0 && (
        <div className="border-t border-line px-4 py-3 text-sm text-soft sm:px-5">
          <p>The names on each line may be the same customer. They are counted separately:</p>
          <ul className="mt-1 list-disc pl-5">
            {concentration.same_names.items.map(({ names, revenue }) => (
              <li key={names.join()} className="break-words">
                {names.join(' · ')}, together <Money amount={revenue} currency={currency} />
              </li>
            ))}
          </ul>
          {concentration.same_names.count > concentration.same_names.items.length && (
            <p className="mt-1">
              And {formatCount(concentration.same_names.count - concentration.same_names.items.length)} more.
            </p>
          )}
        </div>
      )}
    </Card>
  );
}

const shownFirst = 10;

/** The figures that later uploads changed in periods that earlier uploads covered. */
export function RestatementsCard({ dealId }: { dealId: Id }) {
  const query = useQuery(computedQuery(dealId));
  const [all, setAll] = useState(false);
  return (
    <Loaded query={query} skeleton={<SkeletonCard rows={3} />}>
      {({ restatements: { count, items } }) =>
        count === 0 ? null : (
          <Card
            title={`Restated figures (${formatCount(count)})`}
            description={restated}
            flush
            actions={
              items.length > shownFirst && (
                <Button size="sm" onClick={() => setAll(!all)}>
                  {all ? 'Show fewer' : `Show ${items.length < count ? formatCount(items.length) : 'all'}`}
                </Button>
              )
            }
          >
            <ScrollRegion label="Restated figures">
              <table className="w-full border-collapse text-sm">
                <thead className="border-y border-line bg-sunken text-faint">
                  <tr>
                    {['Period', 'Line'].map((header) => (
                      <th key={header} scope="col" className="px-4 py-2 text-left font-medium sm:px-5">
                        {header}
                      </th>
                    ))}
                    {['Before', 'Now', 'Difference'].map((header) => (
                      <th key={header} scope="col" className={cx(cell, 'font-medium')}>
                        {header}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody className="divide-y divide-line">
                  {items.slice(0, all ? undefined : shownFirst).map((one) => (
                    <tr key={`${one.from} ${one.first} ${one.last} ${one.currency} ${one.line}`}>
                      <td className="px-4 py-1.5 whitespace-nowrap sm:px-5">{one.label}</td>
                      <td className="px-4 py-1.5 whitespace-nowrap sm:px-5">{plLines[one.line]}</td>
                      <td className={cell}>
                        <Money amount={one.old} currency={one.currency} />
                      </td>
                      <td className={cell}>
                        <Money amount={one.new} currency={one.currency} />
                      </td>
                      <td className={cell}>
                        <Money amount={one.difference} currency={one.currency} signed />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollRegion>
          </Card>
        )
      }
    </Loaded>
  );
}
