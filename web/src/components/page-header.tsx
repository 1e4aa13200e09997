import type { ReactNode } from 'react';
import { useTitle } from '../lib/use-title.ts';

interface PageHeaderProps {
  title: string;
  /** The title of the browser tab, if it differs from the heading: "Documents · Harbour Bakery". */
  documentTitle?: string;
  description?: ReactNode;
  /** Buttons, the main one last. */
  actions?: ReactNode;
}

/** The header of a page: its only h1, and the actions for the whole page. */
export function PageHeader({ title, documentTitle, description, actions }: PageHeaderProps) {
  useTitle(documentTitle ?? title);
  return (
    <header className="mb-5 sm:mb-6">
      <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 max-w-full">
          <h1 className="font-serif text-2xl font-semibold text-balance text-ink">{title}</h1>
          {description && <div className="mt-1 text-soft">{description}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
    </header>
  );
}
