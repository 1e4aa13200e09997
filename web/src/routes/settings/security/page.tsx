import { useQuery } from '@tanstack/react-query';
import { Laptop, Smartphone } from 'lucide-react';
import { forgetPerson } from '../../../api/live.ts';
import { useMe } from '../../../api/me.ts';
import { sessionsQuery, useSecurityActions, type OwnSession } from '../../../api/security.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormFields } from '../../../components/form-fields.tsx';
import { PasswordInput } from '../../../components/input.tsx';
import { NewPassword } from '../../../components/new-password.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { Loaded, SkeletonRows } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { deviceOf } from './device.ts';
import { leaveFreely } from '../../../lib/unsaved.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { paths } from '../../../paths.ts';
import { FactorCard } from './factor-card.tsx';
import { OwedCard } from './owed-card.tsx';
import { PasskeysCard } from './passkeys-card.tsx';
import { SettingsPage } from '../settings-page.tsx';

function PasswordCard() {
  const { user } = useMe();
  const { changePassword } = useSecurityActions();
  const form = useForm({
    initial: { current_password: '', password: '' },
    draft: null,
    check: (values) =>
      required(values, { current_password: 'Enter your current password.', password: 'Enter a new password.' }),
    about: { password_wrong: 'current_password', password_refused: 'password' },
    submit: (input) => changePassword.mutateAsync(input),
    onDone: () => {
      form.reset();
      toast('Your password is changed');
    },
  });
  return (
    <Card
      title="Password"
      description="A new password signs you out everywhere else, and connected clients must be authorized again."
    >
      <FormFields form={form} className="max-w-md">
        <input type="email" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <Field label="Current password" error={form.errors.current_password}>
          <PasswordInput {...form.text('current_password')} autoComplete="current-password" />
        </Field>
        <NewPassword {...form.text('password')} error={form.errors.password} />
        <div>
          <Button type="submit" kind="primary" pending={form.pending}>
            Change password
          </Button>
        </div>
      </FormFields>
    </Card>
  );
}

function SessionRow({ session }: { session: OwnSession }) {
  const { endSession } = useSecurityActions();
  const withRecentSignIn = useRecentSignIn();
  const device = deviceOf(session.user_agent);
  const Icon = /iPhone|Android/.test(device) ? Smartphone : Laptop;
  return (
    <li className="flex items-center gap-3.5 px-4 py-3 sm:px-5">
      <Icon className="size-5 shrink-0 text-faint" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">{device}</span>
          {session.is_this && <Badge tone="good">This device</Badge>}
        </p>
        <p className="truncate text-sm text-faint">
          {session.address ?? 'Unknown address'}
          {!session.is_this && (
            <>
              {' · '}
              <Time at={session.last_seen_at} />
            </>
          )}
        </p>
      </div>
      {!session.is_this && (
        <Button
          size="sm"
          pending={endSession.isPending}
          // The row is unmounted before the response arrives; the promise continues.
          onClick={() =>
            void withRecentSignIn(() => endSession.mutateAsync(session.id)).then(
              () => toast(`${device} is signed out`),
              toastError,
            )
          }
        >
          Sign out<span className="sr-only"> {device}</span>
        </Button>
      )}
    </li>
  );
}

function SessionsCard() {
  const query = useQuery(sessionsQuery);
  const { endSession, leaveEverywhere } = useSecurityActions();
  const withRecentSignIn = useRecentSignIn();
  const confirm = useConfirm();
  const others = query.data?.sessions.some(({ is_this }) => !is_this) ?? false;
  const leave = () =>
    confirm(
      {
        title: 'Sign out everywhere?',
        body: 'Every session ends, this one too, and every connected client has to be authorized again.',
        action: 'Sign out everywhere',
        danger: true,
      },
      async () => {
        await withRecentSignIn(() => leaveEverywhere.mutateAsync());
        forgetPerson();
        leaveFreely();
        window.location.assign(paths.signIn);
      },
    );
  return (
    <Card
      flush
      title="Where you are signed in"
      actions={
        <>
          {others && (
            <Button
              size="sm"
              onClick={() =>
                void withRecentSignIn(() => endSession.mutateAsync('others')).then(
                  () => toast('All other sessions are signed out'),
                  toastError,
                )
              }
            >
              Sign out all others
            </Button>
          )}
          <Button size="sm" onClick={leave}>
            Sign out everywhere
          </Button>
        </>
      }
    >
      <Loaded query={query} skeleton={<SkeletonRows rows={2} height="h-16" />}>
        {({ sessions }) => (
          <ul className="divide-y divide-line border-t border-line">
            {sessions.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

/** The settings page “Security”: password, second factors, passkeys and sessions. */
export default function SecuritySettings() {
  return (
    <SettingsPage title="Security">
      <PasswordCard />
      <OwedCard />
      <FactorCard />
      <PasskeysCard />
      <SessionsCard />
    </SettingsPage>
  );
}
