import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';

interface ScrollRegionProps {
  /** What the region is called. */
  label: string;
  className?: string;
  children: ReactNode;
}

/** What scrolls within itself, also by keyboard: a wide table. */
export function ScrollRegion({ label, className, children }: ScrollRegionProps) {
  return (
    // What scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div role="region" aria-label={label} tabIndex={0} className={cx('edge-shade relative overflow-x-auto', className)}>
      {children}
    </div>
  );
}
