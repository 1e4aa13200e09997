import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';

interface ScrollRegionProps {
  /** The accessible name of the region. */
  label: string;
  className?: string;
  children: ReactNode;
}

/** A region that scrolls by itself, also by keyboard, for wide tables. */
export function ScrollRegion({ label, className, children }: ScrollRegionProps) {
  return (
    // A scrollable element must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div role="region" aria-label={label} tabIndex={0} className={cx('edge-shade relative overflow-x-auto', className)}>
      {children}
    </div>
  );
}
