import { useKeyActions } from '../../../api/settings.ts';
import type { ApiKey, ApiKeyCreated, Id, Instant, KeyScope } from '../../../api/shapes.ts';
import { Checkbox } from '../../../components/checkbox.tsx';
import { Field, FieldGroup } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { DateTimeField } from '../../../components/value-fields.tsx';
import { keyScopeGroups } from '../../../lib/key-scopes.ts';
import { lengths } from '../../../lib/lengths.ts';
import { keyScopes, optionsOf } from '../../../lib/states.ts';
import { orNull, required, useForm } from '../../../lib/use-form.ts';
import { RenewDialog, SecretDialog } from '../secret-dialogs.tsx';
import { wholeNumber } from '../../../lib/whole-number.ts';

interface MakerProps {
  brokerageId: Id;
  onClose: () => void;
  onMade: (made: ApiKeyCreated) => void;
}

interface Values {
  name: string;
  environment: 'live' | 'test';
  scopes: KeyScope[];
  ceiling: string;
  expires_at: Instant | '';
}

const environments = { live: 'Live', test: 'Test' };

/** Creates a key, which requires a recent sign-in. */
export function KeyDialog({ brokerageId, onClose, onMade }: MakerProps) {
  const { create } = useKeyActions(brokerageId);
  const withRecentSignIn = useRecentSignIn();
  const form = useForm<Values, ApiKeyCreated>({
    initial: { name: '', environment: 'live', scopes: ['contacts:read'], ceiling: '', expires_at: '' },
    draft: `api-key/${brokerageId}`,
    check: (values) => ({
      ...required(values, { name: 'Enter what the key is for.' }),
      ...(values.scopes.length === 0 && { scopes: 'Choose what the key may do.' }),
      ...(values.ceiling !== '' &&
        !/^\d+$/.test(values.ceiling) && { ceiling: 'Enter a whole number, or leave it empty.' }),
    }),
    about: { expires_in_the_past: 'expires_at' },
    submit: ({ name, environment, scopes, ceiling, expires_at }) =>
      withRecentSignIn(() =>
        create.mutateAsync({
          name: name.trim(),
          environment,
          scopes,
          ceiling: ceiling === '' ? null : wholeNumber(ceiling),
          expires_at: orNull(expires_at),
        }),
      ),
    onDone: onMade,
  });
  const { scopes } = form.values;
  return (
    <FormDialog
      form={form}
      title="Create an API key"
      description="The token is shown once, right afterward."
      action="Create key"
      onClose={onClose}
    >
      <Field label="Name" error={form.errors.name} hint="The program that will use it.">
        <Input {...form.text('name')} maxLength={lengths.api_keys.name} autoComplete="off" />
      </Field>
      <FieldGroup
        legend="Permissions"
        error={form.errors.scopes}
        hint="Beyond contacts, a key reaches only deals that are open to API keys."
      >
        {keyScopeGroups.map(({ group, scopes: members }) => (
          <FieldGroup key={group} legend={group}>
            <div className="grid gap-x-5 gap-y-3 sm:grid-cols-2">
              {members.map(({ scope, sentence }) => (
                <Checkbox
                  key={scope}
                  label={keyScopes[scope]}
                  hint={sentence}
                  checked={scopes.includes(scope)}
                  onChange={(on) => form.set('scopes', on ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
                />
              ))}
            </div>
          </FieldGroup>
        ))}
      </FieldGroup>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Environment"
          error={form.errors.environment}
          hint="A test key works on the sandbox, with demo data of its own, and never on live records."
        >
          <Select {...form.field('environment')} options={optionsOf(environments)} />
        </Field>
        <Field label="Requests per minute" optional error={form.errors.ceiling} hint="Leave empty for the usual limit.">
          <Input {...form.text('ceiling')} inputMode="numeric" maxLength={6} autoComplete="off" />
        </Field>
      </div>
      <Field
        label="Expires"
        optional
        error={form.errors.expires_at}
        hint="Leave empty for a key that works until it is revoked."
      >
        <DateTimeField {...form.field('expires_at')} />
      </Field>
    </FormDialog>
  );
}

/** Gives a key a new token. */
export function RotateDialog({ apiKey, brokerageId, onClose, onMade }: MakerProps & { apiKey: ApiKey }) {
  const { rotate } = useKeyActions(brokerageId);
  return (
    <RenewDialog
      title={`Rotate ${apiKey.name}`}
      description="The key gets a new token. If the current one stops at once, webhooks that were last added, turned on, or given a new address or secret with it are turned off: check their addresses, and turn them on again."
      action="Rotate"
      current="The current token"
      does="Works"
      draft={`rotation/${apiKey.id}`}
      renew={(overlap_seconds) => rotate.mutateAsync({ id: apiKey.id, overlap_seconds })}
      onClose={onClose}
      onMade={onMade}
    />
  );
}

/** Shows a new token, once only. */
export function TokenDialog({ made, onClose }: { made: ApiKeyCreated; onClose: () => void }) {
  return (
    <SecretDialog
      title={`The token of ${made.key.name}`}
      description="Copy it now: it is not shown again, and no one here can look it up."
      label="Token"
      secret={made.token}
      onClose={onClose}
    />
  );
}
