import { ChevronDown } from 'lucide-react';
import { cx } from '../lib/cx.ts';
import type { Look } from '../lib/states.ts';
import { washes } from './badge.tsx';

interface StatusSelectProps<V extends string> {
  /** Names it for screen readers: "Status of the lease". */
  label: string;
  value: V;
  onChange: (value: V) => void;
  /** Where it can go from here, and where it is. */
  options: readonly { value: V; label: string }[];
  look: Look;
}

/** The state of something, named and coloured as a StatePill, which the person can change where it stands. */
export function StatusSelect<V extends string>({ label, value, onChange, options, look }: StatusSelectProps<V>) {
  return (
    <span className={cx('relative inline-flex max-w-full items-center rounded-full', washes[look.tone])}>
      <span aria-hidden className="pointer-events-none absolute left-2.5 size-1.5 rounded-full bg-current" />
      <select
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value as V)}
        className="min-w-0 [field-sizing:content] appearance-none truncate rounded-full border border-transparent bg-transparent py-1 pr-7 pl-5.5 text-sm font-medium transition-colors hover:border-current coarse:min-h-11 coarse:text-md"
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} className="bg-surface text-ink">
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown className="pointer-events-none absolute right-2 size-3.5" aria-hidden />
    </span>
  );
}
