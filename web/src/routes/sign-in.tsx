import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Navigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { finishSignIn, sessionQuery, signIn, signInWaysQuery } from '../api/auth.ts';
import { Button } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { CodeField } from '../components/code-field.tsx';
import { Field } from '../components/field.tsx';
import { FormFields } from '../components/form-fields.tsx';
import { Input, PasswordInput } from '../components/input.tsx';
import { OrDivider } from '../components/or-divider.tsx';
import { PasskeyButton } from '../components/passkey-button.tsx';
import { useArrival } from '../lib/use-arrival.ts';
import { useTitle } from '../lib/use-title.ts';
import { SignedOutTitle } from '../shell/signed-out-title.tsx';
import { useFocusOnMount } from '../lib/use-focus-on-mount.ts';
import { required, useForm } from '../lib/use-form.ts';

const route = getRouteApi('/entrance/sign-in');

interface PasswordStepProps {
  /** Why the person is back at this step; null at first. */
  fault: string | null;
  onSecondFactor: () => void;
  onDone: () => Promise<void>;
}

function PasswordStep({ fault, onSecondFactor, onDone }: PasswordStepProps) {
  const ways = useQuery(signInWaysQuery).data;
  const form = useForm({
    initial: { email: '', password: '' },
    draft: null,
    check: (values) => required(values, { email: 'Enter your e-mail address.', password: 'Enter your password.' }),
    submit: ({ email, password }) => signIn(email.trim(), password),
    onDone: ({ outcome }) => (outcome === 'second_factor' ? onSecondFactor() : onDone()),
  });
  const first = useFocusOnMount<HTMLInputElement>();
  const session = useQuery(sessionQuery);
  useEffect(() => {
    if (session.data) void onDone();
  }, [session.data, onDone]);
  if (ways?.set_up_open) return <Navigate to="/set-up" replace />;
  return (
    <>
      <SignedOutTitle title="Sign in" />
      <Card>
        <FormFields form={{ ...form, fault: form.fault ?? fault }}>
          <Field label="E-mail" error={form.errors.email}>
            <Input {...form.text('email')} type="email" autoComplete="username webauthn" ref={first} />
          </Field>
          <Field
            label="Password"
            error={form.errors.password}
            aside={
              <Link
                to="/reset"
                className="rounded-sm text-sm text-accent-ink underline-offset-3 hover:underline coarse:-my-3 coarse:py-3"
              >
                Forgot password?
              </Link>
            }
          >
            <PasswordInput {...form.text('password')} autoComplete="current-password" />
          </Field>
          <Button type="submit" kind="primary" pending={form.pending} className="mt-1 w-full">
            Sign in
          </Button>
        </FormFields>
        <OrDivider />
        <PasskeyButton onDone={onDone} />
      </Card>
    </>
  );
}

interface SecondFactorStepProps {
  /** Called with an error message, or with null when the person chose to go back. */
  onBack: (fault: string | null) => void;
  onDone: () => Promise<void>;
}

function SecondFactorStep({ onBack, onDone }: SecondFactorStepProps) {
  const form = useForm({
    initial: { code: '' },
    draft: null,
    check: (values) => required(values, { code: 'Enter the code.' }),
    about: { code_refused: 'code' },
    submit: ({ code }) => finishSignIn(code, ({ message }) => onBack(message)),
    onDone,
  });
  return (
    <>
      <SignedOutTitle title="Second step">
        Your password is correct. One more step, to make sure it is you.
      </SignedOutTitle>
      <Card>
        <FormFields form={form}>
          <CodeField {...form.text('code')} error={form.errors.code} />
          <Button type="submit" kind="primary" pending={form.pending} className="w-full">
            Continue
          </Button>
        </FormFields>
        <OrDivider />
        <PasskeyButton onDone={onDone} />
        <Button kind="quiet" onClick={() => onBack(null)} className="mt-2.5 w-full">
          Start over
        </Button>
      </Card>
    </>
  );
}

/**
 * The sign-in page: password or passkey, then the second factor if the account has one, then the page that the person
 * wanted.
 */
export default function SignInPage() {
  useTitle('Sign in');
  const [step, setStep] = useState<'password' | 'second_factor'>('password');
  const [fault, setFault] = useState<string | null>(null);
  const arrive = useArrival(route.useSearch().return_to);
  return step === 'password' ? (
    <PasswordStep fault={fault} onSecondFactor={() => setStep('second_factor')} onDone={arrive} />
  ) : (
    <SecondFactorStep
      onBack={(why) => {
        setFault(why);
        setStep('password');
      }}
      onDone={arrive}
    />
  );
}
