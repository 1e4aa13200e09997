import type { ReactNode } from 'react';
import { useTitle } from '../../lib/use-title.ts';

interface SettingsPageProps {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** One page of the settings: a heading with actions, and cards below it. */
export function SettingsPage({ title, description, actions, children }: SettingsPageProps) {
  useTitle(`${title} · Settings`);
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 flex-[1_1_20rem]">
          <h2 className="font-serif text-xl font-semibold text-ink">{title}</h2>
          {description && <p className="mt-0.5 max-w-prose text-soft">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
