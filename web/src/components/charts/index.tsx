/** The charts, each fetched when it is first shown: the library that draws them is larger than everything else. */
import { lazy, Suspense, type ComponentType } from 'react';
import { Skeleton } from '../states.tsx';

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

export const MonthlyChart = later(() => import('./monthly-chart.tsx'), 'h-[22.75rem]');
export const BridgeChart = later(() => import('./bridge-chart.tsx'), 'h-[23.25rem]');
export const ConcentrationChart = later(() => import('./concentration-chart.tsx'), 'h-[29.5rem]');
