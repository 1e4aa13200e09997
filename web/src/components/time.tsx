import type { Day, Instant } from '../api/shapes.ts';
import { cx } from '../lib/cx.ts';
import {
  formatDate,
  formatDay,
  formatExactly,
  formatLanguage,
  formatRelative,
  formatSpan,
  formatTime,
  languageOfRelative,
} from '../lib/format.ts';
import { useNow, useNowNear } from '../lib/use-now.ts';

interface TimeProps {
  at: Instant;
  /** 'relative' ("3 hours ago", the default), 'date' or 'time' (date and time). */
  as?: 'relative' | 'date' | 'time';
  className?: string;
}

/** An instant in the viewer's time zone; the exact time with its zone in the tooltip. */
export function Time({ at, as = 'relative', className }: TimeProps) {
  const now = useNow('half-minute');
  const text = as === 'relative' ? formatRelative(at, now) : as === 'date' ? formatDate(at) : formatTime(at);
  return (
    <time
      dateTime={at}
      lang={as === 'relative' ? languageOfRelative(text) : formatLanguage}
      title={formatExactly(at)}
      className={cx('whitespace-nowrap', className)}
    >
      {text}
    </time>
  );
}

/** A date without a time. */
export function DayText({ day }: { day: Day }) {
  return (
    <time dateTime={day} lang={formatLanguage} className="whitespace-nowrap">
      {formatDay(day)}
    </time>
  );
}

interface CountdownProps {
  until: Instant;
  className?: string;
}

/**
 * The time left until an instant, counting down; in a warning colour for the last three days, in red for the last day.
 */
export function Countdown({ until, className }: CountdownProps) {
  const end = new Date(until).getTime();
  const left = end - useNowNear(end);
  const tone =
    left <= 0 ? 'text-faint' : left < 86_400_000 ? 'text-bad' : left < 3 * 86_400_000 ? 'text-warn' : 'text-ink';
  return (
    <time
      dateTime={until}
      title={formatExactly(until)}
      className={cx('font-medium whitespace-nowrap tabular', tone, className)}
    >
      {left <= 0 ? 'Ended' : `${formatSpan(left)} left`}
    </time>
  );
}
