import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMe } from '../../../api/me.ts';
import { useSecurityActions, type PendingFactor } from '../../../api/security.ts';
import { StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { CopyField } from '../../../components/copy-field.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input } from '../../../components/input.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { Skeleton } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { plural } from '../../../lib/format.ts';
import { fetchPart } from '../../../lib/parts.ts';
import { required, useForm } from '../../../lib/use-form.ts';

/** The authenticator's URI as a QR code; rendered in the browser, so that the secret is not sent anywhere. */
function QrCode({ uri }: { uri: string }) {
  const { data } = useQuery({
    queryKey: ['qr-code', uri],
    queryFn: async () => {
      const { toString } = await fetchPart(() => import('qrcode'));
      return `data:image/svg+xml,${encodeURIComponent(await toString(uri, { type: 'svg', margin: 4 }))}`;
    },
    gcTime: 0,
  });
  const size = 'size-48 self-center rounded-lg';
  return data ? <img src={data} alt="QR code of the key below" className={size} /> : <Skeleton className={size} />;
}

interface SetUpDialogProps {
  pending: PendingFactor;
  onClose: () => void;
  onCodes: (codes: string[]) => void;
}

function SetUpDialog({ pending, onClose, onCodes }: SetUpDialogProps) {
  const { confirmFactor } = useSecurityActions();
  const form = useForm({
    initial: { code: '' },
    draft: null,
    check: (values) => required(values, { code: 'Enter the code that the app shows.' }),
    about: { code_refused: 'code' },
    submit: ({ code }) => confirmFactor.mutateAsync(code),
    onDone: ({ recovery_codes }) => onCodes(recovery_codes),
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onClose}
      title="Set up an authenticator"
      description="Scan this with an authenticator app, then type the six digits that it shows."
      action="Turn it on"
    >
      <QrCode uri={pending.uri} />
      <Field
        label="Or type this key into the app"
        hint={<span className="font-mono">{pending.secret.match(/.{1,4}/g)?.join(' ')}</span>}
      >
        <CopyField value={pending.secret} label="Key for the app" />
      </Field>
      <Field label="Code" error={form.errors.code}>
        <Input {...form.text('code')} inputMode="numeric" autoComplete="one-time-code" maxLength={16} />
      </Field>
    </FormDialog>
  );
}

function CodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <Dialog
      size="sm"
      shownOnce
      onClose={onClose}
      title="Your recovery codes"
      description="Keep them where you can find them without your phone. Each signs you in once. They are not shown again."
      footer={
        <Button kind="primary" onClick={onClose}>
          I have saved them
        </Button>
      }
    >
      <ul className="mb-4 grid gap-y-1.5 rounded-lg bg-sunken p-4 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <CopyField value={codes.join(' ')} label="All recovery codes" />
    </Dialog>
  );
}

/** The authenticator: setting it up, replacing recovery codes, and removing it. */
export function FactorCard() {
  const { totp, recovery_codes_left } = useMe().second_factor;
  const { beginFactor, removeFactor, renewCodes } = useSecurityActions();
  const withRecentSignIn = useRecentSignIn();
  const confirm = useConfirm();
  const [pending, setPending] = useState<PendingFactor | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);

  const begin = () => withRecentSignIn(() => beginFactor.mutateAsync()).then(setPending, toastError);
  const renew = () =>
    withRecentSignIn(() => renewCodes.mutateAsync()).then((made) => setCodes(made.recovery_codes), toastError);
  const remove = () =>
    confirm(
      {
        title: 'Remove the authenticator?',
        body: 'After that, you sign in with your password alone. Your recovery codes stop working. Other sessions that used a second factor are signed out.',
        action: 'Remove',
        danger: true,
      },
      () =>
        withRecentSignIn(() => removeFactor.mutateAsync()).then(
          () => toast('The authenticator is removed'),
          toastError,
        ),
    );
  return (
    <Card
      title="Authenticator"
      description="After your password, you enter a code from an app on your phone."
      actions={<StatePill look={totp ? { label: 'On', tone: 'good' } : { label: 'Off', tone: 'plain' }} />}
    >
      {totp ? (
        <div className="flex flex-col gap-4">
          <p className={recovery_codes_left < 3 ? 'text-warn' : 'text-soft'}>
            {plural(recovery_codes_left, 'recovery code')} left.
            {recovery_codes_left < 3 && ' Make new ones before you run out.'}
          </p>
          <div className="flex flex-wrap gap-2.5">
            <Button onClick={() => void renew()} pending={renewCodes.isPending}>
              New recovery codes
            </Button>
            <Button onClick={remove}>Remove authenticator</Button>
          </div>
        </div>
      ) : (
        <Button onClick={() => void begin()} pending={beginFactor.isPending}>
          Set up an authenticator
        </Button>
      )}
      {pending && (
        <SetUpDialog
          pending={pending}
          onClose={() => setPending(null)}
          onCodes={(made) => {
            setPending(null);
            setCodes(made);
          }}
        />
      )}
      {codes && <CodesDialog codes={codes} onClose={() => setCodes(null)} />}
    </Card>
  );
}
