import type { ChangeEvent } from 'react';
import { useFocusOnMount } from '../lib/use-focus-on-mount.ts';
import { Field } from './field.tsx';
import { Input } from './input.tsx';

interface CodeFieldProps {
  name: string;
  value: string;
  onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
  error: string | undefined;
}

/** Input of the code of a second factor; takes the focus, since nothing else is to be done when it appears. */
export function CodeField({ error, ...input }: CodeFieldProps) {
  return (
    <Field label="Code" error={error} hint="The six digits from your authenticator, or one of your recovery codes.">
      <Input
        {...input}
        ref={useFocusOnMount<HTMLInputElement>()}
        autoComplete="one-time-code"
        autoCapitalize="off"
        spellCheck={false}
        className="tabular text-center text-lg tracking-[0.3em]"
      />
    </Field>
  );
}
