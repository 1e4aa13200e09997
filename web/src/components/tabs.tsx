import { createLink } from '@tanstack/react-router';
import { useEffect, useRef, type AnchorHTMLAttributes, type ReactNode, type Ref } from 'react';
import { cx } from '../lib/cx.ts';
import { Count } from './badge.tsx';

/** Sections of a page, each with its own route: links in a row that scrolls sideways if it does not fit. */
export function TabNav({ label, children, className }: { label: string; children: ReactNode; className?: string }) {
  return (
    <nav aria-label={label} className={cx('relative min-w-0', className)}>
      <div className="fade-x relative -mb-px flex gap-0.5 overflow-x-auto px-px pt-1 [scrollbar-width:none]">
        {children}
      </div>
    </nav>
  );
}

interface TabAnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  count?: number | undefined;
  /** What the number counts, for screen readers. */
  countLabel?: string;
  ref?: Ref<HTMLAnchorElement>;
}

function TabAnchor({ count, countLabel = 'waiting', children, ref, ...rest }: TabAnchorProps) {
  const own = useRef<HTMLAnchorElement>(null);
  const here = rest['aria-current'] === 'page';
  useEffect(() => {
    const row = own.current?.parentElement;
    if (!here || !row || !own.current) return;
    const { offsetLeft, offsetWidth } = own.current;
    row.scrollTo({ left: offsetLeft - (row.clientWidth - offsetWidth) / 2 });
  }, [here]);
  return (
    <a
      {...rest}
      ref={(element) => {
        own.current = element;
        if (typeof ref === 'function') ref(element);
        else if (ref) ref.current = element;
      }}
      className={cx(
        'flex items-center gap-1.5 rounded-t-md border-b-2 px-2.5 pt-2 pb-2.5 font-medium whitespace-nowrap -outline-offset-2 transition-colors',
        here ? 'border-accent text-ink' : 'border-transparent text-soft hover:border-line hover:text-ink',
      )}
    >
      {children}
      <Count count={count} label={countLabel} tone={here ? 'accent' : 'plain'} />
    </a>
  );
}

/** One tab, with the number of waiting items; takes `to` and `params` as Link does. */
export const TabLink = createLink(TabAnchor);
