import { Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { forgetPerson } from '../../../api/live.ts';
import { useMe } from '../../../api/me.ts';
import { useSecurityActions } from '../../../api/security.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Field } from '../../../components/field.tsx';
import { FormFields } from '../../../components/form-fields.tsx';
import { Input } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { announce } from '../../../lib/announce.ts';
import { save } from '../../../lib/download.ts';
import { cx } from '../../../lib/cx.ts';
import { lengths, longestEmailAddress } from '../../../lib/lengths.ts';
import { leaveFreely } from '../../../lib/unsaved.ts';
import { chooseTheme, useTheme } from '../../../lib/theme.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { paths } from '../../../paths.ts';
import { ConfirmationCard } from '../confirmation-card.tsx';
import { SettingsPage } from '../settings-page.tsx';

function NameCard() {
  const { user } = useMe();
  const { rename } = useSecurityActions();
  const form = useForm({
    initial: { name: user.name },
    draft: 'profile/name',
    check: (values) => required(values, { name: 'Enter your name.' }),
    submit: ({ name }) => rename.mutateAsync(name.trim()),
    onDone: () => toast('Name saved'),
  });
  return (
    <Card title="Your name">
      <FormFields form={form} className="max-w-md">
        <Field label="Name" error={form.errors.name} hint="Everyone on your deals sees it.">
          <Input {...form.text('name')} autoComplete="name" maxLength={lengths.users.name} />
        </Field>
        <div>
          <Button type="submit" kind="primary" pending={form.pending} idle={!form.dirty}>
            Save name
          </Button>
        </div>
      </FormFields>
    </Card>
  );
}

function AddressCard() {
  const { user } = useMe();
  const { askAddress } = useSecurityActions();
  const withRecentSignIn = useRecentSignIn();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const form = useForm({
    initial: { email: user.email },
    draft: 'profile/address',
    check: (values) => required(values, { email: 'Enter an e-mail address.' }),
    about: { conflict: 'email' },
    submit: ({ email }) => withRecentSignIn(() => askAddress.mutateAsync(email.trim())),
    onDone: (_, { email }) => {
      setSentTo(email.trim());
      announce(`A link is on its way to ${email.trim()}.`);
    },
  });
  return (
    <Card title="E-mail address" description="You sign in with it and get e-mail there.">
      <FormFields form={form} className="max-w-md">
        {sentTo !== null && !form.dirty && (
          <Notice tone="good" title="Check your e-mail">
            A link is on its way to {sentTo}. The address changes when you open it.
          </Notice>
        )}
        <Field label="E-mail" error={form.errors.email}>
          <Input {...form.text('email')} type="email" autoComplete="email" maxLength={longestEmailAddress} />
        </Field>
        <div>
          <Button type="submit" kind="primary" pending={form.pending} idle={!form.dirty}>
            Change address
          </Button>
        </div>
      </FormFields>
    </Card>
  );
}

function DataCard() {
  const { exportOwnData } = useSecurityActions();
  const withRecentSignIn = useRecentSignIn();
  const take = () =>
    withRecentSignIn(() => exportOwnData.mutateAsync()).then(
      (json) => save(new File([json], 'my-dealkeep-data.json', { type: 'application/json' })),
      toastError,
    );
  return (
    <Card
      title="Your data"
      description="Your account, what you wrote and did on deals, and your own audit trail, as one JSON file."
    >
      <Button pending={exportOwnData.isPending} onClick={() => void take()}>
        Download my data
      </Button>
    </Card>
  );
}

function EraseCard() {
  const { user } = useMe();
  const { erase } = useSecurityActions();
  return (
    <ConfirmationCard
      title="Erase your account"
      description="Your name, address, sign-in and connected clients are erased at once and for good, and you leave every deal and brokerage. What you did on deals stays there under a pseudonym. What you and others wrote or uploaded stays as it was written."
      word={user.email}
      wrong="Type your own e-mail address to confirm."
      action="Erase my account"
      submit={(confirmation) => erase.mutateAsync(confirmation)}
      onDone={() => {
        forgetPerson();
        leaveFreely();
        window.location.assign(paths.signIn);
      }}
    />
  );
}

const themes = [
  { value: 'system', label: 'Use device setting', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
] as const;

function ThemeCard() {
  const chosen = useTheme();
  return (
    <Card title="Appearance" description="On this device only.">
      <div role="radiogroup" aria-label="Appearance" className="flex flex-wrap gap-2">
        {themes.map(({ value, label, icon: Icon }) => (
          <label
            key={value}
            className={cx(
              'inline-flex cursor-pointer items-center gap-2 rounded-md border px-3.5 py-2',
              'has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
              chosen === value
                ? 'border-accent bg-accent-wash text-accent-ink'
                : 'border-line text-soft hover:bg-hover',
            )}
          >
            <input
              type="radio"
              name="theme"
              value={value}
              checked={chosen === value}
              onChange={() => chooseTheme(value)}
              className="sr-only"
            />
            <Icon className="size-4" aria-hidden />
            {label}
          </label>
        ))}
      </div>
    </Card>
  );
}

/**
 * The settings page “Profile”: name, e-mail address, appearance, export of the person's data, and erasure of the
 * account.
 */
export default function ProfileSettings() {
  const { user } = useMe();
  return (
    <SettingsPage title="Profile">
      <NameCard />
      <AddressCard key={user.email} />
      <ThemeCard />
      <DataCard />
      <EraseCard />
    </SettingsPage>
  );
}
