import { cx } from '../lib/cx.ts';

interface ProgressBarProps {
  label: string;
  /** The amount done, of the total `of`. */
  done: number;
  of: number;
  className?: string;
}

/** A progress bar. */
export function ProgressBar({ label, done, of, className }: ProgressBarProps) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={done}
      className={cx('overflow-hidden rounded-full bg-line', className)}
    >
      <div
        style={{ transform: `scaleX(${of === 0 ? 0 : done / of})` }}
        className="h-full origin-left rounded-full bg-accent transition-transform duration-200"
      />
    </div>
  );
}
