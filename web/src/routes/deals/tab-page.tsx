import type { ReactNode } from 'react';
import { useTitle } from '../../lib/use-title.ts';
import { useDeal } from './context.ts';

interface TabPageProps {
  /** The tab's name; shown as its heading and, with the deal's title, as the browser's title. */
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** The page of a deal's tab: a heading with actions, and the content below it. */
export function TabPage({ title, description, actions, children }: TabPageProps) {
  useTitle(`${title} · ${useDeal().deal.title}`);
  return (
    <div className="flex flex-col gap-5">
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-x-6 gap-y-3 coarse:min-h-11">
        <div className="min-w-0">
          <h2 className="font-serif text-xl font-semibold text-ink">{title}</h2>
          {description && <p className="mt-0.5 text-soft">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
