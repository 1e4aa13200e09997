import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import type { Look, Tone } from '../lib/states.ts';

/** The background and text colour of each tone. */
export const washes: Record<Tone, string> = {
  plain: 'bg-plain-wash text-plain',
  info: 'bg-info-wash text-info',
  good: 'bg-good-wash text-good',
  warn: 'bg-warn-wash text-warn',
  bad: 'bg-bad-wash text-bad',
  rare: 'bg-rare-wash text-rare',
  accent: 'bg-accent-wash text-accent-ink',
};

interface BadgeProps {
  tone?: Tone;
  icon?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** A short word about the item beside it. */
export function Badge({ tone = 'plain', icon, className, children }: BadgeProps) {
  return (
    <span
      className={cx(
        'inline-flex max-w-full items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        washes[tone],
        className,
      )}
    >
      {icon}
      <span className="truncate">{children}</span>
    </span>
  );
}

/** The state of an item, with label and colour from lib/states.ts: `<StatePill look={dealStates[deal.state]} />`. */
export function StatePill({ look, className }: { look: Look; className?: string }) {
  return (
    <Badge
      tone={look.tone}
      icon={<span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />}
      {...(className && { className })}
    >
      {look.label}
    </Badge>
  );
}

/** A count; empty for zero. `label` says of what, for screen readers. */
export function Count({ count, label, tone = 'plain' }: { count: number | undefined; label: string; tone?: Tone }) {
  if (!count) return null;
  return (
    <span
      className={cx(
        'inline-grid h-5 min-w-5 place-items-center rounded-full px-1.5 text-xs font-semibold tabular',
        washes[tone],
      )}
    >
      <span aria-hidden>{count > 999 ? '999+' : count}</span>
      <span className="sr-only">
        {count} {label}
      </span>
    </span>
  );
}
