import { useQuery } from '@tanstack/react-query';
import { Fingerprint, Plus } from 'lucide-react';
import { useState } from 'react';
import { ApiError } from '../../../api/client.ts';
import { passkeysQuery, useSecurityActions, type OwnPasskey } from '../../../api/security.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input } from '../../../components/input.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { Loaded, SkeletonRows } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast } from '../../../components/toast.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { deviceOf } from './device.ts';
import { required, useForm } from '../../../lib/use-form.ts';

/** Converts the browser's error when no passkey was created to an error that the form shows. */
function inWords(error: unknown): never {
  if (error instanceof ApiError) throw error;
  const message =
    (error as Error).name === 'InvalidStateError'
      ? 'You already have a passkey on this device.'
      : 'No passkey was created. Try again, and confirm on your device when it asks.';
  throw new ApiError(0, { code: 'no_passkey', message });
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { addPasskey } = useSecurityActions();
  const withRecentSignIn = useRecentSignIn();
  const form = useForm({
    initial: { name: deviceOf(navigator.userAgent) },
    draft: 'passkey/new',
    check: (values) => required(values, { name: 'Enter a name for this passkey.' }),
    submit: ({ name }) => withRecentSignIn(() => addPasskey.mutateAsync(name.trim())).catch(inWords),
    onDone: () => {
      onClose();
      toast('The passkey is added');
    },
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onClose}
      title="Add a passkey"
      description="Your browser asks you to confirm with this device, or with another one."
      action="Continue"
    >
      <Field label="Name" error={form.errors.name} hint="To recognize it in the list.">
        <Input {...form.text('name')} maxLength={lengths.passkeys.name} autoComplete="off" />
      </Field>
    </FormDialog>
  );
}

function RenameDialog({ passkey, onClose }: { passkey: OwnPasskey; onClose: () => void }) {
  const { renamePasskey } = useSecurityActions();
  const form = useForm({
    initial: { name: passkey.name },
    draft: `passkey/${passkey.id}`,
    check: (values) => required(values, { name: 'Enter a name for this passkey.' }),
    submit: ({ name }) => renamePasskey.mutateAsync({ id: passkey.id, name: name.trim() }),
    onDone: () => {
      onClose();
      toast('The passkey is renamed');
    },
  });
  return (
    <FormDialog form={form} size="sm" onClose={onClose} title="Rename the passkey" action="Rename">
      <Field label="Name" error={form.errors.name}>
        <Input {...form.text('name')} maxLength={lengths.passkeys.name} autoComplete="off" />
      </Field>
    </FormDialog>
  );
}

function PasskeyRow({ passkey }: { passkey: OwnPasskey }) {
  const { removePasskey } = useSecurityActions();
  const [renaming, setRenaming] = useState(false);
  const withRecentSignIn = useRecentSignIn();
  const confirm = useConfirm();
  return (
    <li className="flex items-center gap-3.5 px-4 py-3 sm:px-5">
      <Fingerprint className="size-5 shrink-0 text-faint" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{passkey.name}</p>
        <p className="text-sm text-faint">
          Added <Time at={passkey.created_at} as="date" />
          {passkey.last_used_at !== null && (
            <>
              , last used <Time at={passkey.last_used_at} />
            </>
          )}
        </p>
      </div>
      <Button size="sm" onClick={() => setRenaming(true)}>
        Rename<span className="sr-only"> {passkey.name}</span>
      </Button>
      <Button
        size="sm"
        onClick={() =>
          confirm(
            {
              title: `Remove ${passkey.name}?`,
              body: 'You can no longer sign in with it. Other sessions that used a second factor are signed out. Delete it on your device, too.',
              action: 'Remove passkey',
              danger: true,
              done: 'The passkey is removed',
            },
            () => withRecentSignIn(() => removePasskey.mutateAsync(passkey.id)),
          )
        }
      >
        Remove<span className="sr-only"> {passkey.name}</span>
      </Button>
      {renaming && <RenameDialog passkey={passkey} onClose={() => setRenaming(false)} />}
    </li>
  );
}

/** The person's passkeys: listing, adding, renaming and removing them. */
export function PasskeysCard() {
  const query = useQuery(passkeysQuery);
  const [adding, setAdding] = useState(false);
  return (
    <Card
      flush
      title="Passkeys"
      description="Sign in with the fingerprint, face or PIN of a device, without a password."
      actions={
        <Button size="sm" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
          Add a passkey
        </Button>
      }
    >
      <Loaded query={query} skeleton={<SkeletonRows rows={1} height="h-16" />}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <p className="px-4 pb-5 text-soft sm:px-5">None yet.</p>
          ) : (
            <ul className="divide-y divide-line border-t border-line">
              {passkeys.map((passkey) => (
                <PasskeyRow key={passkey.id} passkey={passkey} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {adding && <AddDialog onClose={() => setAdding(false)} />}
    </Card>
  );
}
