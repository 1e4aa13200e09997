import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';

interface BannerProps {
  /** The accessible name. */
  label: string;
  icon: LucideIcon;
  tone: 'info' | 'rare';
  says: ReactNode;
  /** Actions, beside the text if there is room. */
  children?: ReactNode;
}

const colours = { info: ['bg-info-wash', 'text-info'], rare: ['bg-rare-wash', 'text-rare'] } as const;

/** A message about the whole page, above its content. */
export function Banner({ label, icon: Icon, tone, says, children }: BannerProps) {
  const [wash, ink] = colours[tone];
  return (
    <section aria-label={label} className={cx('mb-5 flex gap-x-4 rounded-lg px-4 py-2.5', wash)}>
      <Icon className={cx('mt-1.5 size-5 shrink-0', ink)} strokeWidth={1.8} aria-hidden />
      <div className="flex min-h-8 min-w-0 flex-1 flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1 basis-52 text-soft">{says}</p>
        {children}
      </div>
    </section>
  );
}
