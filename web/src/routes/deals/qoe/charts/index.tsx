/** The charts, each fetched when it is first shown: the library that draws them is larger than everything else. */
import { lazy, Suspense, type ComponentType } from 'react';
import { Skeleton } from '../../../../components/states.tsx';

/** The room that each chart takes with its heading, for what stands in its place until it is there. */
export const chartHeights = {
  monthly: 'h-[22.75rem]',
  bridge: 'h-[23.25rem]',
  concentration: 'h-[29.5rem]',
} as const;

function later<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>, height: string) {
  const Chart = lazy(load) as ComponentType<Props>;
  return function LateChart(props: Props) {
    return (
      <Suspense
        fallback={
          <div aria-busy="true">
            <Skeleton className={`w-full ${height}`} />
          </div>
        }
      >
        <Chart {...props} />
      </Suspense>
    );
  };
}

export const MonthlyChart = later(() => import('./monthly-chart.tsx'), chartHeights.monthly);
export const BridgeChart = later(() => import('./bridge-chart.tsx'), chartHeights.bridge);
export const ConcentrationChart = later(() => import('./concentration-chart.tsx'), chartHeights.concentration);
