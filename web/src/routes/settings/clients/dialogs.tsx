import { useId } from 'react';
import { useClientActions } from '../../../api/settings.ts';
import type { Client, ClientInput, Clients } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { CopyField } from '../../../components/copy-field.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Textarea } from '../../../components/input.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { toast } from '../../../components/toast.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { required, sendChanges, useForm } from '../../../lib/use-form.ts';

interface ClientDialogProps {
  /** The client to change; null to register a new one. */
  client: Client | null;
  presets: Clients['presets'];
  onClose: () => void;
  onRegistered: (client: Client) => void;
}

type Values = Record<'name' | 'redirect_uris', string>;

const toInput = ({ name, redirect_uris }: Values): ClientInput => ({
  name: name.trim(),
  redirect_uris: redirect_uris
    .split('\n')
    .map((uri) => uri.trim())
    .filter((uri) => uri !== ''),
});

/** Registers a client, or changes its name and redirect URIs. */
export function ClientDialog({ client, presets, onClose, onRegistered }: ClientDialogProps) {
  const id = useId();
  const { register, change } = useClientActions();
  const withRecentSignIn = useRecentSignIn();
  const form = useForm<Values, Client | void>({
    initial: { name: client?.name ?? '', redirect_uris: client?.redirect_uris.join('\n') ?? '' },
    draft: `client/${client?.id ?? 'new'}`,
    check: (values) =>
      required(values, { name: 'Enter a name for the client.', redirect_uris: 'Enter at least one redirect URI.' }),
    submit: (values, before) =>
      client
        ? sendChanges(toInput(before), toInput(values), (changes) =>
            // Changing where a shared client's responses go requires a recent sign-in.
            withRecentSignIn(() => change.mutateAsync({ id: client.id, ...changes })),
          )
        : register.mutateAsync(toInput(values)),
    onDone: (made) => {
      if (made) onRegistered(made);
      else {
        onClose();
        toast('Client saved');
      }
    },
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={client ? `Edit ${client.name}` : 'Register a client'}
      action={client ? 'Save' : 'Register'}
    >
      {!client && presets.length > 0 && (
        <div role="group" aria-labelledby={`${id}-presets`} className="flex flex-wrap gap-2">
          <p id={`${id}-presets`} className="w-full text-sm font-medium text-ink">
            Fill in for
          </p>
          {presets.map((preset) => (
            <Button
              key={preset.id}
              size="sm"
              onClick={() => form.reset({ name: preset.name, redirect_uris: preset.redirect_uris.join('\n') })}
            >
              {preset.name}
            </Button>
          ))}
        </div>
      )}
      <Field label="Name" error={form.errors.name}>
        <Input {...form.text('name')} maxLength={lengths.connected_clients.name} autoComplete="off" />
      </Field>
      <Field
        label="Redirect URIs, one per line"
        error={form.errors.redirect_uris}
        hint="https, or http on localhost, 127.0.0.1 or [::1]. URIs must match exactly; a loopback URI without a port matches any port."
      >
        <Textarea
          {...form.text('redirect_uris')}
          rows={3}
          spellCheck={false}
          autoCapitalize="off"
          className="font-mono text-sm"
        />
      </Field>
    </FormDialog>
  );
}

/** The values that the new client needs to connect. */
export function RegisteredDialog({
  client,
  toolServer,
  onClose,
}: {
  client: Client;
  toolServer: string;
  onClose: () => void;
}) {
  return (
    <Dialog
      onClose={onClose}
      title={`${client.name} is registered`}
      description="Give these to the program that you want to connect. It then asks you to sign in and to agree."
      footer={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Field label="Address of the tool server">
          <CopyField value={toolServer} label="Address of the tool server" />
        </Field>
        <Field label="client_id" hint="There is no client secret.">
          <CopyField value={client.client_id} label="client_id" />
        </Field>
      </div>
    </Dialog>
  );
}
