import { Link, type LinkOptions } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTitle } from '../lib/use-title.ts';

interface PageHeaderProps {
  title: string;
  /** What the browser's title says where it needs more than the heading: "Documents · Harbour Bakery". */
  documentTitle?: string;
  description?: ReactNode;
  /** Buttons, the main one last. */
  actions?: ReactNode;
  /** Where one comes from, above the title. */
  back?: { label: string; link: LinkOptions };
  /** Beside the title: a state. */
  beside?: ReactNode;
}

/** The head of a page: its one h1, and what one can do on the whole of it. */
export function PageHeader({ title, documentTitle, description, actions, back, beside }: PageHeaderProps) {
  useTitle(documentTitle ?? title);
  return (
    <header className="mb-5 sm:mb-6">
      {back && (
        <Link
          {...back.link}
          className="-ml-1 mb-1.5 inline-flex items-center gap-0.5 rounded-sm py-0.5 pr-1.5 text-sm text-faint hover:text-ink"
        >
          <ChevronLeft className="size-4" aria-hidden />
          {back.label}
        </Link>
      )}
      <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 max-w-full">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
            <h1 className="min-w-0 font-serif text-2xl font-semibold text-balance text-ink">{title}</h1>
            {beside}
          </div>
          {description && <div className="mt-1 text-soft">{description}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
    </header>
  );
}
