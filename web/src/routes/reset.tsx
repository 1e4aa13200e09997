import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { askReset, resetPassword } from '../api/auth.ts';
import { Button } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Field } from '../components/field.tsx';
import { FormFields } from '../components/form-fields.tsx';
import { Input } from '../components/input.tsx';
import { NewPassword } from '../components/new-password.tsx';
import { Notice } from '../components/notice.tsx';
import { lifetimes } from '../lib/lifetimes.ts';
import { linkToken } from '../lib/link-token.ts';
import { useTitle } from '../lib/use-title.ts';
import { toast } from '../components/toast.tsx';
import { SignedOutTitle } from '../shell/signed-out-title.tsx';
import { useFocusOnMount } from '../lib/use-focus-on-mount.ts';
import { required, useForm } from '../lib/use-form.ts';

function BackToSignIn() {
  return (
    <p className="mt-5 text-center">
      <Link to="/sign-in" className="rounded-sm text-accent-ink underline-offset-3 hover:underline">
        Back to sign-in
      </Link>
    </p>
  );
}

function SentStep({ to }: { to: string }) {
  useTitle('Check your e-mail');
  return (
    <>
      <SignedOutTitle title="Check your e-mail" ref={useFocusOnMount<HTMLHeadingElement>()} />
      <Card>
        <p className="text-soft">
          If an account uses <strong className="font-medium text-ink">{to}</strong>, we sent it a link to choose a new
          password. It works once and expires in {lifetimes.mailedLink}.
        </p>
      </Card>
      <BackToSignIn />
    </>
  );
}

function AskStep() {
  const [sentTo, setSentTo] = useState<string | null>(null);
  const first = useFocusOnMount<HTMLInputElement>();
  const form = useForm({
    initial: { email: '' },
    draft: null,
    check: (values) => required(values, { email: 'Enter your e-mail address.' }),
    submit: ({ email }) => askReset(email.trim()),
    onDone: (_, { email }) => setSentTo(email.trim()),
  });
  if (sentTo !== null) return <SentStep to={sentTo} />;
  return (
    <>
      <SignedOutTitle title="Choose a new password">We send a link to your e-mail address.</SignedOutTitle>
      <Card>
        <FormFields form={form}>
          <Field label="E-mail" error={form.errors.email}>
            <Input {...form.text('email')} type="email" autoComplete="username" ref={first} />
          </Field>
          <Button type="submit" kind="primary" pending={form.pending}>
            Send the link
          </Button>
        </FormFields>
      </Card>
      <BackToSignIn />
    </>
  );
}

function ChooseStep({ token }: { token: string }) {
  const navigate = useNavigate();
  const form = useForm({
    // `token` receives errors about the link, which are shown above the form with a link to request another.
    initial: { token, password: '' },
    draft: null,
    check: (values) => required(values, { password: 'Enter a new password.' }),
    about: { password_refused: 'password', link_expired: 'token' },
    submit: ({ password }) => resetPassword(token, password),
    onDone: async () => {
      toast('Your password was changed. Sign in with the new one.');
      await navigate({ to: '/sign-in', replace: true });
    },
  });
  return (
    <>
      <SignedOutTitle title="Choose a new password">You will be signed out everywhere else.</SignedOutTitle>
      <Card>
        <form {...form.props} className="flex flex-col gap-4">
          {form.fault && (
            <Notice
              tone="bad"
              action={
                form.errors.token !== undefined && (
                  <Link to="/reset" className="font-medium whitespace-nowrap underline">
                    New link
                  </Link>
                )
              }
            >
              {form.fault}
            </Notice>
          )}
          <NewPassword {...form.text('password')} error={form.errors.password} />
          <Button type="submit" kind="primary" pending={form.pending}>
            Change password
          </Button>
        </form>
      </Card>
      <BackToSignIn />
    </>
  );
}

/** The page that requests a link to choose a new password, and the page of that link. */
export default function ResetPage() {
  useTitle('Choose a new password');
  const token = linkToken();
  return token === undefined ? <AskStep /> : <ChooseStep token={token} />;
}
