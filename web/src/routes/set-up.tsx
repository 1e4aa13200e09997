import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Terminal } from 'lucide-react';
import { setUp } from '../api/auth.ts';
import { Button } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Field } from '../components/field.tsx';
import { FormFields } from '../components/form-fields.tsx';
import { Input } from '../components/input.tsx';
import { NewPassword } from '../components/new-password.tsx';
import { lengths } from '../lib/lengths.ts';
import { linkToken } from '../lib/link-token.ts';
import { useTitle } from '../lib/use-title.ts';
import { EmptyState } from '../components/states.tsx';
import { SignedOutTitle } from '../shell/signed-out-title.tsx';
import { useFocusOnMount } from '../lib/use-focus-on-mount.ts';
import { required, useForm } from '../lib/use-form.ts';

function SetUpForm({ token }: { token: string }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const first = useFocusOnMount<HTMLInputElement>();
  const form = useForm({
    initial: { brokerage_name: '', name: '', email: '', password: '' },
    draft: null,
    check: (values) =>
      required(values, {
        brokerage_name: 'Enter the name of your brokerage.',
        name: 'Enter your name.',
        email: 'Enter your e-mail address.',
        password: 'Choose a password.',
      }),
    about: { password_refused: 'password' },
    submit: (values) => setUp({ token, ...values, email: values.email.trim() }),
    onDone: async () => {
      client.clear();
      await navigate({ to: '/', replace: true });
    },
  });
  return (
    <>
      <SignedOutTitle title="Set up your brokerage">
        You will be its first admin, and can then invite colleagues, buyers and sellers.
      </SignedOutTitle>
      <Card>
        <FormFields form={form}>
          <Field label="Brokerage" error={form.errors.brokerage_name} hint="The name that buyers and sellers know.">
            <Input
              {...form.text('brokerage_name')}
              autoComplete="organization"
              maxLength={lengths.brokerages.name}
              ref={first}
            />
          </Field>
          <Field label="Your name" error={form.errors.name}>
            <Input {...form.text('name')} autoComplete="name" maxLength={lengths.users.name} />
          </Field>
          <Field label="E-mail" error={form.errors.email}>
            <Input {...form.text('email')} type="email" autoComplete="username" />
          </Field>
          <NewPassword {...form.text('password')} error={form.errors.password} label="Password" />
          <Button type="submit" kind="primary" pending={form.pending} className="mt-1">
            Create brokerage
          </Button>
        </FormFields>
      </Card>
    </>
  );
}

/**
 * The page of the first start: creates the brokerage and its first admin, for the holder of the link that the server
 * printed.
 */
export default function SetUpPage() {
  useTitle('Set up');
  const token = linkToken();
  if (token !== undefined) return <SetUpForm token={token} />;
  return (
    <Card>
      <EmptyState level={1} icon={Terminal} title="Open the set-up link">
        <p>
          When it starts on an empty database, Dealkeep makes a link that lets one person create the first brokerage. It
          prints the link in the terminal it was started in; without a terminal, it writes the link to the file
          set-up-link in its data folder.
        </p>
        <p className="mt-4">The link works for 24 hours. A restart makes a new one.</p>
        <p className="mt-4">
          <Link to="/sign-in" className="text-accent-ink underline-offset-3 hover:underline">
            I already have an account
          </Link>
        </p>
      </EmptyState>
    </Card>
  );
}
