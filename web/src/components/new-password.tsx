import { Field } from './field.tsx';
import { PasswordInput } from './input.tsx';
import { shortestPassword } from '../lib/lengths.ts';

interface NewPasswordProps {
  name: string;
  value: string;
  onChange: (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
  error: string | undefined;
  label?: string;
}

/** Input of a new password. The server judges its strength and says so in words; the hint only states the rules. */
export function NewPassword({ label = 'New password', error, ...input }: NewPasswordProps) {
  return (
    <Field
      label={label}
      error={error}
      hint={`At least ${shortestPassword} characters, and not easy to guess. Several words work well.`}
    >
      <PasswordInput {...input} autoComplete="new-password" minLength={shortestPassword} />
    </Field>
  );
}
