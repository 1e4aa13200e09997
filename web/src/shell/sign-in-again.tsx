import { useState } from 'react';
import { flushSync } from 'react-dom';
import { finishSignIn, signIn } from '../api/auth.ts';
import { useMe } from '../api/me.ts';
import { CodeField } from '../components/code-field.tsx';
import { Field } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { Input, PasswordInput } from '../components/input.tsx';
import { PasskeyButton } from '../components/passkey-button.tsx';
import { useArrival } from '../components/recent-sign-in.tsx';
import { keepDraftsNow } from '../lib/drafts.ts';
import { leaveFreely } from '../lib/unsaved.ts';
import { required, useForm, type Form } from '../lib/use-form.ts';
import { paths } from '../paths.ts';

/** Goes to the sign-in page, which leads back here. Unsaved input is kept as drafts. */
async function leave(): Promise<void> {
  const { pathname, search, hash } = window.location;
  await keepDraftsNow();
  leaveFreely();
  window.location.assign(`${paths.signIn}?${new URLSearchParams({ return_to: pathname + search + hash })}`);
}

/**
 * Signs in over the page after the session has ended, so that the page keeps its state. If another person signs in
 * here, the page is reloaded for them.
 */
export default function SignInAgain({ onDone }: { onDone: () => void }) {
  const { user } = useMe();
  const [step, setStep] = useState<'password' | 'code'>('password');
  const arrive = useArrival(onDone);
  // Synchronous, as the error about the password is shown at its field only if that is rendered.
  const backToPassword = () =>
    flushSync(() => {
      setStep('password');
      form.reset({ ...form.values, password: '', code: '' });
    });
  const form: Form<{ email: string; password: string; code: string }> = useForm({
    initial: { email: user.email, password: '', code: '' },
    draft: null,
    check: (values) =>
      required(
        values,
        step === 'password'
          ? { email: 'Enter your e-mail address.', password: 'Enter your password.' }
          : { code: 'Enter the code.' },
      ),
    about: { sign_in_refused: 'password', sign_in_expired: 'password', code_refused: 'code' },
    submit: ({ email, password, code }) =>
      step === 'password' ? signIn(email.trim(), password) : finishSignIn(code, backToPassword),
    onDone: ({ outcome }) => (outcome === 'signed_in' ? arrive() : setStep('code')),
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      shownOnce
      veiled
      title="Sign in again"
      description="Your session has ended. What you entered is still here, and you can continue where you left off."
      action={step === 'password' ? 'Sign in' : 'Continue'}
      cancel="Go to the sign-in page"
      onClose={() => void leave()}
    >
      {step === 'password' ? (
        <>
          <Field label="E-mail" error={form.errors.email}>
            <Input {...form.text('email')} type="email" autoComplete="username" />
          </Field>
          <Field label="Password" error={form.errors.password}>
            <PasswordInput {...form.text('password')} autoComplete="current-password" />
          </Field>
        </>
      ) : (
        <CodeField {...form.text('code')} error={form.errors.code} />
      )}
      <div>
        <PasskeyButton onDone={arrive} />
      </div>
    </FormDialog>
  );
}
