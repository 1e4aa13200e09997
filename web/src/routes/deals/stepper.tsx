import { Check, X } from 'lucide-react';
import type { DealState } from '../../api/shapes.ts';
import { cx } from '../../lib/cx.ts';
import { dealPath, dealStates } from '../../lib/states.ts';

/** The progress of a sale through its stages. On a phone it is a row of bars, with the current stage in words. */
export function DealStepper({ state }: { state: DealState }) {
  if (state === 'withdrawn') {
    return (
      <p className="flex items-center gap-2 text-soft">
        <span className="grid size-5 shrink-0 place-items-center rounded-full bg-bad-wash text-bad">
          <X className="size-3" strokeWidth={3} aria-hidden />
        </span>
        This sale was withdrawn. No more offers can be made or questions asked.
      </p>
    );
  }
  const present = dealPath.indexOf(state);
  const finished = state === 'closed';
  return (
    <div>
      <p className="mb-2 flex items-baseline justify-between text-sm md:hidden">
        <span className="font-medium text-ink">{dealStates[state].label}</span>
        <span className="text-faint">
          Step {present + 1} of {dealPath.length}
        </span>
      </p>
      <ol aria-label="Progress of the sale" className="flex gap-1 md:gap-0">
        {dealPath.map((step, index) => {
          const done = index < present || finished;
          const here = index === present;
          return (
            <li
              key={step}
              aria-current={here ? 'step' : undefined}
              className="group min-w-0 flex-1 md:pr-1.5 md:last:pr-0"
            >
              <span
                className={cx(
                  'block h-1 rounded-full transition-colors duration-300',
                  done || here ? 'bg-accent' : 'bg-line',
                )}
              />
              <span
                className={cx(
                  'sr-only items-center gap-1.5 pt-2 text-sm md:not-sr-only md:flex',
                  here ? 'font-semibold text-ink' : done ? 'text-soft' : 'text-faint',
                )}
              >
                {done && <Check className="size-3.5 shrink-0 text-accent" strokeWidth={3} aria-hidden />}
                {here && !finished && (
                  <span aria-hidden className="mx-0.5 size-2 shrink-0 rounded-full bg-accent ring-3 ring-accent-wash" />
                )}
                <span className="truncate">{dealStates[step].label}</span>
                {done && <span className="sr-only">(done)</span>}
              </span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
