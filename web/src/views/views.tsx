import { useState } from 'react';
import type { ViewName } from '../../../server/contract.ts';
import { StatePill } from '../components/badge.tsx';
import { BridgeChart } from '../components/charts/bridge-chart.tsx';
import { ConcentrationChart } from '../components/charts/concentration-chart.tsx';
import { MonthlyChart } from '../components/charts/monthly-chart.tsx';
import { ConditionLine, ConditionsProgress } from '../components/conditions/condition-line.tsx';
import { ComparisonTable } from '../components/offers/comparison-table.tsx';
import { byPrice, highestPrice } from '../components/offers/payload.ts';
import { OfferSheet } from '../components/offers/sheet.tsx';
import { Decision, Price, Standing } from '../components/offers/terms.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { Time } from '../components/time.tsx';
import { sum } from '../lib/decimal.ts';
import { formatCount, formatDates, formatTime } from '../lib/format.ts';
import { charted } from '../lib/periods.ts';
import { conditionStates } from '../lib/states.ts';
import { useBreakpoint } from '../lib/use-media.ts';
import { paths } from '../paths.ts';
import {
  bridgeIn,
  checklistIn,
  conditionsIn,
  customersIn,
  offersIn,
  periodsIn,
  type ConditionIn,
  type Customer,
  type OfferIn,
  type Period,
} from './results.ts';
import type { View } from './view.tsx';
import { wholeNumber } from '../lib/whole-number.ts';

/**
 * Returns the periods of each snapshot, the most recently completed first, since its figures are the valid ones;
 * snapshots without that time are ordered by their latest period.
 */
function bySnapshot(periods: readonly Period[]): Period[][] {
  const snapshots = Map.groupBy(periods, ({ snapshot_id }) => snapshot_id);
  const last = (of: readonly Period[]) =>
    of
      .map(({ period_end_date }) => period_end_date)
      .toSorted()
      .at(-1) ?? '';
  const completed = ([period]: readonly Period[]) => period?.completed_at ?? '';
  return [...snapshots.values()].toSorted(
    (a, b) => completed(b).localeCompare(completed(a)) || last(b).localeCompare(last(a)) || b.length - a.length,
  );
}

function nameOf(periods: readonly Period[]): string {
  const first = periods.map((period) => period.period_start_date).toSorted()[0] ?? '';
  const last =
    periods
      .map((period) => period.period_end_date)
      .toSorted()
      .at(-1) ?? '';
  const completed = periods[0]?.completed_at;
  return `${formatDates({ first, last })}${completed ? `, uploaded ${formatTime(completed)}` : ''}`;
}

/** Revenue and EBITDA by month, from one snapshot of the books; another one can be chosen when there are several. */
function Months({ periods }: { periods: readonly Period[] }) {
  const snapshots = bySnapshot(periods);
  const [chosen, choose] = useState(0);
  const shown = charted(snapshots[chosen] ?? snapshots[0] ?? []);
  return (
    <>
      <MonthlyChart periods={shown} />
      {snapshots.length > 1 && (
        <label className="mt-3 flex flex-wrap items-center gap-2 text-sm text-soft">
          Books
          <select
            value={chosen}
            onChange={({ currentTarget }) => choose(wholeNumber(currentTarget.value))}
            className="min-h-9 max-w-full rounded-md border border-edge bg-surface px-2 text-ink"
          >
            {snapshots.map((snapshot, place) => (
              <option key={snapshot[0]?.snapshot_id} value={place}>
                {place + 1}: {nameOf(snapshot)}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}

function Checklist({ done, of }: { done: number; of: number }) {
  return (
    <div className="mt-4 border-t border-line pt-4">
      <p className="font-medium text-ink">
        Checklist: {formatCount(done)} of {formatCount(of)} completed
      </p>
      <ProgressBar label="Checklist completed" done={done} of={of} className="mt-2.5 h-1.5" />
    </div>
  );
}

interface CustomersProps {
  customers: readonly Customer[];
  period: string | null;
}

function Customers({ customers, period }: CustomersProps) {
  // Shares are of all customers in the period and one currency; the tool returns only the largest customers.
  const together = (those: readonly Customer[]) => {
    const shares = those.map(({ revenue_share }) => revenue_share);
    const isOne = those.every(({ currency }) => currency === those[0]?.currency);
    return isOne && shares.every((share) => share !== null) ? sum(shares) : null;
  };
  const upTo = ({ currency }: Customer, place: number) =>
    customers.slice(0, place + 1).filter((one) => one.currency === currency);
  return (
    <>
      <ConcentrationChart
        items={customers.map((customer, place) => ({ ...customer, cumulative_share: together(upTo(customer, place)) }))}
        largest={[1, 5, 10].map((count) => ({ count, share: together(customers.slice(0, count)) }))}
      />
      {period && <p className="mt-3 text-sm text-faint">{period}</p>}
    </>
  );
}

function Note({ offer: { submitted_at, revision } }: { offer: OfferIn }) {
  return (
    <>
      {submitted_at && (
        <>
          Submitted <Time at={submitted_at} as="date" />
          {', '}
        </>
      )}
      revision {formatCount(revision)}
    </>
  );
}

/** The offers in the comparison, highest first: side by side, or stacked on narrow screens. */
function Offers({ offers }: { offers: readonly OfferIn[] }) {
  const inOrder = byPrice(offers);
  const highest = highestPrice(offers);
  const narrow = useBreakpoint() === null;
  if (!narrow && offers.length > 1) {
    return (
      <ComparisonTable
        offers={inOrder.map((offer) => ({
          id: offer.id,
          name: offer.buyer,
          note: <Note offer={offer} />,
          payload: offer.payload,
        }))}
        above={[
          {
            key: 'price',
            label: 'Price',
            cells: inOrder.map((offer) => (
              <Price key={offer.id} payload={offer.payload} highest={highest}>
                <Decision offer={offer} />
              </Price>
            )),
          },
        ]}
        standing={{
          key: 'standing',
          label: 'Valid until',
          cells: inOrder.map((offer) => <Standing key={offer.id} offer={offer} />),
        }}
      />
    );
  }
  return (
    <ul className="flex flex-col gap-4">
      {inOrder.map((offer) => (
        <li key={offer.id} className="rounded-xl border border-line">
          <OfferSheet
            label={`Offer from ${offer.buyer}`}
            name={offer.buyer}
            note={<Note offer={offer} />}
            price={
              <Price payload={offer.payload} highest={highest}>
                <Decision offer={offer} />
              </Price>
            }
            payload={offer.payload}
            standing={<Standing offer={offer} />}
          />
        </li>
      ))}
    </ul>
  );
}

/** Sorts open conditions first, then by earliest deadline. */
const byUrgency = (conditions: readonly ConditionIn[]): ConditionIn[] =>
  conditions.toSorted(
    (a, b) =>
      Number(a.completed_at !== null) - Number(b.completed_at !== null) ||
      (a.deadline ?? '9999').localeCompare(b.deadline ?? '9999'),
  );

function Conditions({ answer }: { answer: Readonly<Record<string, unknown>> }) {
  const conditions = conditionsIn(answer);
  return (
    <section aria-label="Closing conditions" className="-mx-4 -mt-4">
      <ConditionsProgress conditions={conditions} />
      <ul className="divide-y divide-line border-y border-line">
        {byUrgency(conditions).map((condition) => (
          <ConditionLine key={condition.id} condition={condition} owner={condition.owner}>
            <StatePill look={conditionStates[condition.status]} />
          </ConditionLine>
        ))}
      </ul>
    </section>
  );
}

/** The views by name. */
export const views: Readonly<Record<ViewName, View>> = {
  monthly: {
    title: 'Revenue and EBITDA',
    page: paths.dealQoe,
    draw: ({ answer }) => {
      const periods = periodsIn(answer);
      return periods.length > 0 ? <Months periods={periods} /> : null;
    },
    empty: 'There are no profit and loss periods to show.',
  },
  bridge: {
    title: 'Quality of earnings',
    page: paths.dealQoe,
    draw: ({ answer }) => {
      const bridge = bridgeIn(answer);
      const checklist = checklistIn(answer);
      if (bridge === null && checklist.of === 0) return null;
      return (
        <>
          {bridge && <BridgeChart bridge={bridge} title={`From reported to adjusted EBITDA, ${bridge.period_label}`} />}
          {checklist.of > 0 && <Checklist {...checklist} />}
        </>
      );
    },
    empty: 'There are no figures to show.',
  },
  customers: {
    title: 'Customers',
    page: paths.dealQoe,
    draw: ({ answer }) => {
      const { customers, first, last } = customersIn(answer);
      const period = first && last ? formatDates({ first, last }) : null;
      return customers.length > 0 ? <Customers customers={customers} period={period} /> : null;
    },
    empty: 'There is no revenue by customer to show.',
  },
  offers: {
    title: 'Offers',
    page: paths.dealOffers,
    draw: ({ answer }) => {
      const offers = offersIn(answer);
      return offers.length > 0 ? <Offers offers={offers} /> : null;
    },
    empty: 'There are no offers to compare.',
  },
  conditions: {
    title: 'Closing conditions',
    page: paths.dealClosing,
    draw: ({ answer }) =>
      Array.isArray(answer['closing_conditions']) && answer['closing_conditions'].length > 0 ? (
        <Conditions answer={answer} />
      ) : null,
    empty: 'There are no closing conditions.',
  },
};
