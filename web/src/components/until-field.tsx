import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from 'react';
import type { Instant } from '../api/shapes.ts';
import { useUnsaved } from '../lib/use-unsaved.ts';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import { DateTimeField } from './value-fields.tsx';

interface UntilFieldProps {
  label: string;
  /** What it is about, for screen readers. */
  about?: string;
  hideLabel?: boolean;
  /** Null of no end. */
  value: Instant | null;
  /** It takes the place of the button that asked for it, and the focus. */
  asked?: boolean;
  onSave: (until: Instant | null) => void;
}

/**
 * Until when something holds, changed where it stands: nothing changes before it is saved, since the arrow keys step
 * through days and hours on the way (WCAG 2.2, 3.2.2).
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
        if (!dirty) return;
        onSave(chosen === '' ? null : chosen);
        setChosen(null);
        // The button goes away with what there was to save.
        focus();
      }}
      className="flex flex-wrap items-end gap-2.5"
    >
      <div ref={input} className="min-w-0 flex-[0_1_15rem]">
        <Field label={hideLabel ? whole : label} hideLabel={hideLabel} optional>
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
