import { Check, Minus } from 'lucide-react';
import { Checkbox as RadixCheckbox, Switch as RadixSwitch } from 'radix-ui';
import { useId, type ComponentProps, type ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import { describe, Fault } from './field.tsx';

interface SwitchProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: ReactNode;
  /** A second line under the label. */
  hint?: ReactNode;
  disabled?: boolean;
}

function Words({ id, label, hint }: { id: string } & Pick<SwitchProps, 'label' | 'hint'>) {
  return (
    <span className="min-w-0">
      <label htmlFor={id} className="block text-ink">
        {label}
      </label>
      {hint && (
        <span id={`${id}-hint`} className="block text-sm text-faint">
          {hint}
        </span>
      )}
    </span>
  );
}

interface CheckboxProps extends SwitchProps {
  /** What is wrong, and what to do about it. */
  error?: string | undefined;
}

/** The box of a checkbox alone, for a list; name it by `aria-label`. */
export const CheckboxBox = ({ className, ...rest }: ComponentProps<typeof RadixCheckbox.Root>) => (
  <RadixCheckbox.Root
    {...rest}
    className={cx(
      'relative grid size-4.5 shrink-0 place-items-center rounded-sm border border-edge bg-surface text-on-accent',
      'after:absolute after:-inset-2.5 transition-colors hover:border-soft disabled:opacity-55',
      'not-data-[state=unchecked]:border-accent not-data-[state=unchecked]:bg-accent',
      className,
    )}
  >
    <RadixCheckbox.Indicator>
      {rest.checked === 'indeterminate' ? (
        <Minus className="size-3.5" strokeWidth={3} />
      ) : (
        <Check className="size-3.5" strokeWidth={3} />
      )}
    </RadixCheckbox.Indicator>
  </RadixCheckbox.Root>
);

/** A checkbox. */
export function Checkbox({ checked, onChange, error, ...rest }: CheckboxProps) {
  const id = useId();
  const { errorId, describedBy } = describe(id, error, rest.hint);
  return (
    <div className="flex items-start gap-2.5 coarse:py-1.5">
      <CheckboxBox
        id={id}
        checked={checked}
        onCheckedChange={(state) => onChange(state === true)}
        disabled={rest.disabled}
        aria-describedby={describedBy}
        aria-invalid={error ? true : undefined}
        className="mt-0.5"
      />
      <div className="flex min-w-0 flex-col gap-1">
        <Words id={id} {...rest} />
        {error && <Fault id={errorId}>{error}</Fault>}
      </div>
    </div>
  );
}

/** Turns a setting on or off at once; in a form that is submitted later, use a Checkbox. */
export function Switch({ checked, onChange, ...rest }: SwitchProps) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-4">
      <Words id={id} {...rest} />
      <RadixSwitch.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={rest.disabled}
        aria-describedby={rest.hint ? `${id}-hint` : undefined}
        className={cx(
          'relative mt-0.5 h-5.5 w-9.5 shrink-0 rounded-full border border-edge bg-sunken transition-colors after:absolute after:-inset-2.5',
          'data-[state=checked]:border-accent data-[state=checked]:bg-accent disabled:opacity-55',
        )}
      >
        <RadixSwitch.Thumb
          className={cx(
            'block size-4 translate-x-0.5 rounded-full bg-soft transition-transform duration-150',
            'data-[state=checked]:translate-x-4.5 data-[state=checked]:bg-on-accent',
          )}
        />
      </RadixSwitch.Root>
    </div>
  );
}
