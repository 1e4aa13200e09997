import { CircleAlert } from 'lucide-react';
import { createContext, useContext, useId, type ReactNode } from 'react';
import { cx } from '../lib/cx.ts';

interface Control {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
  required: boolean;
}

const ControlContext = createContext<Control | null>(null);

/**
 * Returns the attributes of a control inside a {@link Field}: its id, its description, whether it is invalid or
 * required. Empty outside of a field.
 */
export function useControl() {
  const control = useContext(ControlContext);
  if (!control) return {};
  return {
    id: control.id,
    'aria-describedby': control.describedBy,
    'aria-invalid': control.invalid || undefined,
    'aria-required': control.required || undefined,
  };
}

/** The error message of a control or group. */
export function Fault({ id, children }: { id: string; children: ReactNode }) {
  return (
    <p id={id} className="flex gap-1.5 text-sm text-bad">
      <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      {children}
    </p>
  );
}

interface FieldProps {
  label: ReactNode;
  /** What is wrong, and what to do about it. */
  error?: string | undefined;
  /** Shown also while there is no error. */
  hint?: ReactNode;
  /** Marks a field that may be left empty; all others are required. */
  optional?: boolean;
  /** Shown to the right of the label, such as "Forgot password?". */
  aside?: ReactNode;
  /** Shows the label to screen readers only. */
  hideLabel?: boolean;
  className?: string;
  children: ReactNode;
}

/** Returns the ids of a control's hint and error, and its aria-describedby. */
export function describe(id: string, error: ReactNode, hint: ReactNode) {
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  return { hintId, errorId, describedBy: [error && errorId, hint && hintId].filter(Boolean).join(' ') || undefined };
}

/** A label, one control, a hint and the control's error, associated for screen readers. */
export function Field({ label, error, hint, optional, aside, hideLabel, className, children }: FieldProps) {
  const id = useId();
  const { hintId, errorId, describedBy } = describe(id, error, hint);
  return (
    <div className={cx('flex min-w-0 flex-col gap-1.5', className)}>
      <div className={cx('flex items-baseline justify-between gap-3', hideLabel && 'sr-only')}>
        <label htmlFor={id} className="text-sm font-medium text-ink">
          {label}
          {optional && <span className="ml-1.5 font-normal text-faint">optional</span>}
        </label>
        {aside}
      </div>
      <ControlContext value={{ id, describedBy, invalid: Boolean(error), required: !optional }}>
        {children}
      </ControlContext>
      {hint && (
        <p id={hintId} className="text-sm text-faint">
          {hint}
        </p>
      )}
      {error && <Fault id={errorId}>{error}</Fault>}
    </div>
  );
}

interface FieldGroupProps {
  legend: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  children: ReactNode;
}

/**
 * Several controls that answer one question, such as a set of checkboxes. The form focuses the group as a whole when it
 * is invalid.
 */
export function FieldGroup({ legend, hint, error, children }: FieldGroupProps) {
  const { hintId, errorId, describedBy } = describe(useId(), error, hint);
  return (
    <fieldset
      className="flex min-w-0 flex-col gap-2"
      aria-describedby={describedBy}
      {...(error && { 'data-invalid': true, tabIndex: -1 })}
    >
      <legend className="mb-2 text-sm font-medium text-ink">{legend}</legend>
      {hint && (
        <p id={hintId} className="-mt-1 text-sm text-faint">
          {hint}
        </p>
      )}
      {children}
      {error && <Fault id={errorId}>{error}</Fault>}
    </fieldset>
  );
}
