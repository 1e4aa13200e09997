import { ChevronDown } from 'lucide-react';
import { cx } from '../lib/cx.ts';
import type { Look } from '../lib/states.ts';
import { washes } from './badge.tsx';
import { Menu, MenuChoice } from './menu.tsx';

interface StatusSelectProps<V extends string> {
  /** The accessible name: "Status of the lease". */
  label: string;
  value: V;
  onChange: (value: V) => void;
  /** The current status and those it can change to. */
  options: readonly { value: V; label: string }[];
  look: Look;
}

/**
 * A status with the label and colour of a StatePill, editable in place. It is a menu rather than a select, since in
 * many browsers the arrow keys change a closed select at once (WCAG 2.2, 3.2.2).
 */
export function StatusSelect<V extends string>({ label, value, onChange, options, look }: StatusSelectProps<V>) {
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={`${label}: ${look.label}`}
          data-status={value}
          className={cx(
            'inline-flex max-w-full items-center gap-1.5 rounded-full border border-transparent py-1 pr-2 pl-2.5 text-sm font-medium transition-colors hover:border-current coarse:min-h-11 coarse:text-md',
            washes[look.tone],
          )}
        >
          <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />
          <span className="min-w-0 truncate">{look.label}</span>
          <ChevronDown className="size-3.5 shrink-0" aria-hidden />
        </button>
      }
    >
      <MenuChoice
        label="Status"
        value={value}
        onChange={(next) => next !== value && onChange(next)}
        options={options}
      />
    </Menu>
  );
}
