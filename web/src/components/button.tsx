import { createLink } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { cx } from '../lib/cx.ts';
import { downloadByLink } from '../lib/download.ts';
import { Spinner } from './spinner.tsx';
import { Tooltip } from './tooltip.tsx';

type ButtonKind = 'primary' | 'secondary' | 'quiet' | 'danger';

interface Look {
  /** `primary` at most once per view, for the most likely action. */
  kind?: ButtonKind;
  size?: 'sm' | 'md';
}

const kinds: Record<ButtonKind, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover shadow-1 border-transparent',
  secondary: 'bg-surface text-ink border-edge/60 hover:bg-hover hover:border-edge shadow-1',
  quiet: 'text-soft border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-bad text-on-bad hover:bg-bad-hover shadow-1 border-transparent',
};

const sizes = {
  sm: 'min-h-8 px-2.5 text-sm gap-1.5 coarse:min-h-10',
  md: 'min-h-9 px-3.5 text-base gap-2 coarse:min-h-11',
};

function buttonClass({ kind = 'secondary', size = 'md' }: Look, className?: string): string {
  return cx(
    'relative inline-flex items-center justify-center rounded-md border font-medium whitespace-nowrap select-none',
    'tight:max-w-full tight:text-center tight:whitespace-normal',
    'transition-colors duration-100 disabled:opacity-55 aria-disabled:opacity-55 print:hidden [&_svg]:shrink-0',
    kinds[kind],
    sizes[size],
    className,
  );
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Look {
  /**
   * Whether the action is in progress: the button keeps its width, shows a spinner and ignores clicks. A button that has
   * it also ignores the second click of a double click, which can come when the action is already done.
   */
  pending?: boolean;
  /**
   * Whether there is nothing to do, as after saving: the button ignores clicks but keeps the focus, which `disabled`
   * does not.
   */
  idle?: boolean;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

/** A button. It submits a form only with `type="submit"`. */
export function Button(props: ButtonProps) {
  const { kind, size, pending, idle = false, icon, className, children, onClick, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      aria-busy={pending || undefined}
      aria-disabled={pending || idle || undefined}
      className={buttonClass({ ...(kind && { kind }), ...(size && { size }) }, className)}
      onClick={(event) => {
        const isRepeated = pending !== undefined && event.detail > 1;
        if (pending || idle || isRepeated) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {pending && (
        <span className="absolute inset-0 grid place-items-center">
          <Spinner />
        </span>
      )}
      <span className={cx('contents', pending && '[&>*]:invisible')}>
        {icon}
        <span>{children}</span>
      </span>
    </button>
  );
}

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement>, Look {
  icon?: ReactNode;
  ref?: Ref<HTMLAnchorElement>;
}

function ButtonAnchor({ kind, size, icon, className, children, ...rest }: AnchorProps) {
  return (
    <a {...rest} className={buttonClass({ ...(kind && { kind }), ...(size && { size }) }, className)}>
      {icon}
      <span>{children}</span>
    </a>
  );
}

/** A link to a route that looks like a button; takes `to`, `params` and `search` as Link does. */
export const ButtonLink = createLink(ButtonAnchor);

/** A file to download that looks like a button. */
export function DownloadLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <ButtonAnchor
      href={href}
      download
      onClick={downloadByLink}
      size="sm"
      icon={<Download className="size-4" aria-hidden />}
    >
      {children}
    </ButtonAnchor>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'aria-label' | 'children'> {
  /** The accessible name, also shown as the tooltip. */
  label: string;
  icon: ReactNode;
  size?: 'sm' | 'md';
  kind?: 'quiet' | 'secondary';
  ref?: Ref<HTMLButtonElement>;
}

/** A button that is only an icon, with its name as a tooltip. */
export function IconButton({ label, icon, size = 'md', kind = 'quiet', className, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={cx(
          'inline-grid shrink-0 place-items-center rounded-md border transition-colors duration-100 disabled:opacity-55 aria-disabled:opacity-55 print:hidden',
          kinds[kind],
          size === 'sm' ? 'size-8 coarse:size-10' : 'size-9 coarse:size-11',
          className,
        )}
      >
        {icon}
      </button>
    </Tooltip>
  );
}
