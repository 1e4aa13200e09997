import { useQuery } from '@tanstack/react-query';
import { ChartColumn, ChartPie } from 'lucide-react';
import { useState } from 'react';
import { bridgeQuery, customersQuery, periodsQuery } from '../../../api/qoe.ts';
import type { CustomerDates, Id } from '../../../api/shapes.ts';
import { Card } from '../../../components/card.tsx';
import { BridgeChart } from '../../../components/charts/bridge-chart.tsx';
import { ConcentrationChart } from '../../../components/charts/concentration-chart.tsx';
import { chartHeights } from '../../../components/charts/heights.ts';
import { MonthlyChart } from '../../../components/charts/monthly-chart.tsx';
import { Select } from '../../../components/input.tsx';
import { Money } from '../../../components/money.tsx';
import { Notice } from '../../../components/notice.tsx';
import { EmptyState, Loaded, Skeleton } from '../../../components/states.tsx';
import { formatCount, formatDates, plural } from '../../../lib/format.ts';
import { addedUp, charted } from '../../../lib/periods.ts';

/** Revenue and EBITDA by month. */
export function PeriodsCard({ dealId }: { dealId: Id }) {
  const query = useQuery(periodsQuery(dealId));
  return (
    <Card>
      <Loaded query={query} skeleton={<Skeleton className={`w-full ${chartHeights.monthly}`} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={ChartColumn} title="No monthly figures yet">
              They show here once a profit and loss by month has been uploaded.
            </EmptyState>
          ) : (
            <MonthlyChart periods={charted(items)} />
          )
        }
      </Loaded>
    </Card>
  );
}

/** Warns of normalizations for periods without figures, which count nowhere. */
function Unmatched({ labels }: { labels: readonly string[] }) {
  if (labels.length === 0) return null;
  return (
    <Notice tone="warn" title="Some adjustments are not in any bridge">
      There are no figures with an EBITDA of {labels.map((label) => `“${label}”`).join(', ')}. Upload them, or add the
      adjustments again for a period that has figures.
    </Notice>
  );
}

/** The bridge from reported to adjusted EBITDA for a chosen period. */
export function BridgeCard({ dealId }: { dealId: Id }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const query = useQuery(bridgeQuery(dealId, chosen));
  return (
    <Card>
      <Loaded query={query} skeleton={<Skeleton className={`w-full ${chartHeights.bridge}`} />}>
        {(bridge) =>
          bridge.period_label === null ? (
            <div className="flex flex-col gap-4">
              <EmptyState icon={ChartColumn} title="No bridge yet">
                Upload the financials and add adjustments: the bridge leads from reported to adjusted EBITDA.
              </EmptyState>
              <Unmatched labels={bridge.unmatched_labels} />
            </div>
          ) : (
            <div className="flex flex-col gap-4">
              <Unmatched labels={bridge.unmatched_labels} />
              <BridgeChart
                bridge={bridge}
                actions={
                  bridge.period_labels.length > 1 && (
                    <Select
                      aria-label="Period of the bridge"
                      value={bridge.period_label}
                      onChange={setChosen}
                      options={bridge.period_labels.map((label) => ({ value: label, label }))}
                    />
                  )
                }
              />
              {bridge.period_count === 0 && (
                <Notice tone="warn">
                  No figures with an EBITDA for {bridge.period_label} have been uploaded: the bridge starts at zero.
                </Notice>
              )}
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}

const datesOf = ({ first, last }: CustomerDates): string => `${first} ${last}`;

/** The concentration of revenue on few customers in a chosen period. */
export function CustomersCard({ dealId }: { dealId: Id }) {
  const [chosen, setChosen] = useState<CustomerDates | null>(null);
  const query = useQuery(customersQuery(dealId, chosen));
  return (
    <Card>
      <Loaded query={query} skeleton={<Skeleton className={`w-full ${chartHeights.concentration}`} />}>
        {({ period, items, largest, periods, period_count: periodCount }) =>
          period === null ? (
            <EmptyState icon={ChartPie} title="No revenue by customer yet">
              The shares of the largest customers show here once revenue by customer has been uploaded.
            </EmptyState>
          ) : (
            <ConcentrationChart
              items={items}
              largest={largest}
              about={
                <>
                  {plural(period.count, 'customer')} with <Money amount={period.total} currency={period.currency} />
                  {period.revenue !== null && (
                    <>
                      {' '}
                      of <Money amount={period.revenue} currency={period.currency} /> revenue
                    </>
                  )}
                  {addedUp(period.uploaded_periods)}
                  {period.count > items.length && `; the table has the largest ${formatCount(items.length)}`}.
                  {periodCount > periods.length &&
                    ` You can choose from the latest ${formatCount(periods.length)} of ${formatCount(periodCount)} periods.`}
                </>
              }
              actions={
                periods.length > 1 && (
                  <Select
                    aria-label="Period of the concentration"
                    value={datesOf(period)}
                    onChange={(dates) => setChosen(periods.find((one) => datesOf(one) === dates) ?? null)}
                    options={periods.map((one) => ({
                      value: datesOf(one),
                      label: formatDates(one),
                    }))}
                  />
                )
              }
            />
          )
        }
      </Loaded>
    </Card>
  );
}
