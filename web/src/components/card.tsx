import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';

interface CardProps {
  /** For links to the card. */
  id?: string;
  title?: ReactNode;
  description?: ReactNode;
  /** Buttons to the right of the title. */
  actions?: ReactNode;
  /** Extends the content to the card's edges, for tables and lists. */
  flush?: boolean;
  className?: string;
  children: ReactNode;
}

/** A bordered part of the page: one subject with a title. */
export function Card({ id, title, description, actions, flush = false, className, children }: CardProps) {
  return (
    <section id={id} className={cx('min-w-0 scroll-mt-4 rounded-xl border border-line bg-surface shadow-1', className)}>
      {(title || actions) && (
        <header className="flex flex-wrap items-start justify-between gap-x-3 gap-y-2 px-4 pt-4 pb-3 sm:px-5">
          <div className="min-w-0 flex-1 basis-40">
            {title && <h2 className="text-md font-semibold text-ink">{title}</h2>}
            {description && <p className="mt-0.5 text-sm text-faint">{description}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={cx(!flush && 'px-4 pb-4 sm:px-5 sm:pb-5', !flush && !title && !actions && 'pt-4 sm:pt-5')}>
        {children}
      </div>
    </section>
  );
}

/** Names and values, in two columns if there is room. */
export function Facts({ children, className }: { children: ReactNode; className?: string }) {
  return <dl className={cx('grid grid-cols-2 gap-x-6 gap-y-4 max-[22.5rem]:grid-cols-1', className)}>{children}</dl>;
}

/** One line of {@link Facts}. */
export function Fact({ label, wide, children }: { label: string; wide?: boolean; children: ReactNode }) {
  return (
    <div className={cx('min-w-0', wide && 'col-span-full')}>
      <dt className="text-sm text-faint">{label}</dt>
      <dd className="mt-0.5 break-words text-ink">{children}</dd>
    </div>
  );
}
