import { CircleAlert, CircleCheck, Info, TriangleAlert, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';

type NoticeTone = 'info' | 'good' | 'warn' | 'bad';

const looks: Record<NoticeTone, { box: string; icon: LucideIcon }> = {
  info: { box: 'bg-info-wash [&>svg]:text-info', icon: Info },
  good: { box: 'bg-good-wash [&>svg]:text-good', icon: CircleCheck },
  warn: { box: 'bg-warn-wash [&>svg]:text-warn', icon: TriangleAlert },
  bad: { box: 'bg-bad-wash [&>svg]:text-bad', icon: CircleAlert },
};

interface NoticeProps {
  tone?: NoticeTone;
  title?: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
  className?: string;
}

/** A message in its place in the page. With tone `bad` it is announced at once. */
export function Notice({ tone = 'info', title, children, action, className }: NoticeProps) {
  const { box, icon: Icon } = looks[tone];
  return (
    <div role={tone === 'bad' ? 'alert' : undefined} className={cx('flex gap-3 rounded-lg px-4 py-3', box, className)}>
      <Icon className="mt-0.5 size-4.5 shrink-0" aria-hidden />
      <div className="min-w-0 flex-1">
        {title && <p className="font-medium text-ink">{title}</p>}
        {children && <div className="text-soft">{children}</div>}
      </div>
      {action && <div className="shrink-0 self-center">{action}</div>}
    </div>
  );
}
