import { useState, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { finishSignIn, proveOneself } from '../api/auth.ts';
import { required, useForm, type Form } from '../lib/use-form.ts';
import { CodeField } from './code-field.tsx';
import { Field } from './field.tsx';
import { PasswordInput } from './input.tsx';

/**
 * Returns the form with which a signed-in person proves their identity: by password, then by code if a second factor is
 * due.
 */
export function useIdentityCheck(onProven: () => unknown): {
  form: Form<{ password: string; code: string }>;
  field: ReactNode;
} {
  const [owed, setOwed] = useState<'password' | 'code'>('password');
  // Synchronous, as the error about the password is shown at its field only if that is rendered.
  const backToPassword = () =>
    flushSync(() => {
      setOwed('password');
      form.reset();
    });
  const form: Form<{ password: string; code: string }> = useForm({
    initial: { password: '', code: '' },
    draft: null,
    check: (values) =>
      required(values, owed === 'password' ? { password: 'Enter your password.' } : { code: 'Enter the code.' }),
    about: { sign_in_refused: 'password', sign_in_expired: 'password', code_refused: 'code' },
    submit: ({ password, code }) => (owed === 'password' ? proveOneself(password) : finishSignIn(code, backToPassword)),
    onDone: ({ outcome }) => (outcome === 'signed_in' ? onProven() : setOwed('code')),
  });
  const field =
    owed === 'password' ? (
      <Field label="Password" error={form.errors.password}>
        <PasswordInput {...form.text('password')} autoComplete="current-password" />
      </Field>
    ) : (
      <CodeField {...form.text('code')} error={form.errors.code} />
    );
  return { form, field };
}
