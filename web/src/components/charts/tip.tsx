import type { ReactNode } from 'react';

interface TipProps {
  title: ReactNode;
  rows: readonly { label: string; value: ReactNode; color?: string }[];
}

/** The tooltip of the selected point, with exact amounts. */
export function Tip({ title, rows }: TipProps) {
  return (
    <div className="rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-2">
      <p className="mb-1 font-medium text-ink">{title}</p>
      {rows.map(({ label, value, color }) => (
        <p key={label} className="flex items-center justify-between gap-5 text-soft">
          <span className="inline-flex items-center gap-1.5">
            {color && <span style={{ background: `var(${color})` }} className="size-2 rounded-full" />}
            {label}
          </span>
          <span className="text-ink tabular">{value}</span>
        </p>
      ))}
    </div>
  );
}
