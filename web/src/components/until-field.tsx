import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from 'react';
import type { Instant } from '../api/shapes.ts';
import { unreadIn } from '../lib/decimal.ts';
import { otherTime } from '../lib/local-time.ts';
import { useUnsaved } from '../lib/use-unsaved.ts';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import { DateTimeField } from './value-fields.tsx';

interface UntilFieldProps {
  label: string;
  /** The subject of the field, for screen readers. */
  about?: string;
  hideLabel?: boolean;
  /** Null for no end. */
  value: Instant | null;
  /** Whether the field replaces the button that opened it, and takes its focus. */
  asked?: boolean;
  onSave: (until: Instant | null) => void;
}

/**
 * A field for the end of something, edited in place: it changes only when saved, since the arrow keys step through days
 * and hours on the way (WCAG 2.2, 3.2.2).
 */
export function UntilField({
  label,
  about,
  hideLabel = false,
  value,
  asked = false,
  onSave,
}: UntilFieldProps): ReactNode {
  const [chosen, setChosen] = useState<Instant | '' | null>(null);
  const input = useRef<HTMLDivElement>(null);
  const present = value ?? '';
  const dirty = chosen !== null && chosen !== present;
  const isUnread = chosen !== null && unreadIn(chosen) !== null;
  const { around } = useUnsaved({ dirty, discard: () => setChosen(null) });
  const focus = () => input.current?.querySelector('input')?.focus();
  const arrive = useEffectEvent(() => asked && focus());
  useEffect(() => void arrive(), []);
  const whole = about === undefined ? label : `${label}, ${about}`;
  return (
    <form
      ref={around}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!dirty || isUnread) return;
        onSave(chosen === '' ? null : chosen);
        setChosen(null);
        // The button disappears after saving.
        focus();
      }}
      className="flex min-w-0 flex-wrap items-end gap-2.5"
    >
      <div ref={input} className="min-w-0 flex-[0_1_15rem]">
        <Field
          label={hideLabel ? whole : label}
          hideLabel={hideLabel}
          optional
          error={isUnread ? otherTime : undefined}
        >
          <DateTimeField
            {...(about !== undefined && { 'aria-label': whole })}
            value={chosen ?? present}
            onChange={setChosen}
          />
        </Field>
      </div>
      {dirty && (
        <Button type="submit" kind="primary">
          Save<span className="sr-only"> {whole}</span>
        </Button>
      )}
    </form>
  );
}
