import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { apiKeysQuery, useWebhookActions } from '../../../api/settings.ts';
import type { EventType, Id, Instant, Webhook, WebhookInput, WebhookSecret } from '../../../api/shapes.ts';
import { Checkbox } from '../../../components/checkbox.tsx';
import { Field, FieldGroup } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { toast } from '../../../components/toast.tsx';
import { DateTimeField } from '../../../components/value-fields.tsx';
import { eventTypeGroups } from '../../../lib/event-types.ts';
import { lengths } from '../../../lib/lengths.ts';
import { orNull, required, sendChanges, useForm, type Form } from '../../../lib/use-form.ts';
import { RenewDialog, SecretDialog } from '../secret-dialogs.tsx';

interface DialogProps {
  onClose: () => void;
}

/** The name of a webhook: its description, or the host of its address. */
export const nameOf = ({ description, url }: Pick<Webhook, 'description' | 'url'>): string =>
  description ?? URL.parse(url)?.host ?? url;

interface TypesProps {
  all: boolean;
  types: readonly EventType[];
  error: string | undefined;
  onAll: (all: boolean) => void;
  onTypes: (types: EventType[]) => void;
}

/** The changes that are sent: all, or the ticked ones. */
function Types({ all, types, error, onAll, onTypes }: TypesProps) {
  return (
    <FieldGroup legend="What is sent" error={error}>
      <Checkbox
        label="Everything the key can read"
        hint="Including kinds of changes added later."
        checked={all}
        onChange={onAll}
      />
      {!all && (
        <div className="mt-2 flex flex-col gap-4">
          {eventTypeGroups.map(({ group, types: members }) => (
            <FieldGroup key={group} legend={group}>
              <div className="grid grid-cols-2 gap-x-5 gap-y-2.5 sm:grid-cols-3">
                {members.map(({ type, label }) => (
                  <Checkbox
                    key={type}
                    label={label}
                    checked={types.includes(type)}
                    onChange={(on) => onTypes(on ? [...types, type] : types.filter((one) => one !== type))}
                  />
                ))}
              </div>
            </FieldGroup>
          ))}
        </div>
      )}
    </FieldGroup>
  );
}

interface Values {
  url: string;
  description: string;
  all: boolean;
  types: EventType[];
}

const checkOf = (values: Values) => ({
  ...required(values, { url: 'Enter the address that changes are sent to.' }),
  ...(!values.all && values.types.length === 0 && { types: 'Choose what is sent.' }),
});
const toInput = ({ url, description, all, types }: Values): WebhookInput => ({
  url: url.trim(),
  description: orNull(description),
  types: all ? null : types,
});

interface FieldsProps {
  form: Pick<Form<Values>, 'values' | 'set' | 'errors' | 'text'>;
  /** Fields between the description and the changes that are sent. */
  children?: ReactNode;
}

/** The fields of a webhook: address, description, and the changes that are sent. */
function Fields({ form: { values, set, errors, text }, children }: FieldsProps) {
  return (
    <>
      <Field label="Address" error={errors.url} hint="It must begin with https:// and be reachable from the Internet.">
        <Input
          {...text('url')}
          type="url"
          maxLength={lengths.webhook_endpoints.url}
          autoComplete="off"
          placeholder="https://"
        />
      </Field>
      <Field label="Description" optional error={errors.description} hint="A name that your team will recognize.">
        <Input {...text('description')} maxLength={lengths.webhook_endpoints.description} autoComplete="off" />
      </Field>
      {children}
      <Types
        all={values.all}
        types={values.types}
        error={errors.types}
        onAll={(all) => set('all', all)}
        onTypes={(types) => set('types', types)}
      />
    </>
  );
}

/** Adds a webhook, which requires a recent sign-in. */
export function AddDialog({
  brokerageId,
  onClose,
  onMade,
}: DialogProps & { brokerageId: Id; onMade: (made: WebhookSecret) => void }) {
  const { add } = useWebhookActions();
  const withRecentSignIn = useRecentSignIn();
  const keys = useQuery(apiKeysQuery(brokerageId)).data?.items.filter(({ state }) => state === 'active');
  const form = useForm<Values & { key_id: Id }, WebhookSecret>({
    initial: { key_id: '', url: '', description: '', all: true, types: [] },
    draft: `webhook/${brokerageId}`,
    offered: { key_id: keys?.map(({ id }) => id) },
    check: (values) => ({ ...checkOf(values), ...required(values, { key_id: 'Choose a key.' }) }),
    about: { api_key_ended: 'key_id', too_many_webhooks: 'key_id' },
    submit: (values) => withRecentSignIn(() => add.mutateAsync({ key_id: values.key_id, ...toInput(values) })),
    onDone: onMade,
  });
  return (
    <FormDialog
      form={form}
      title="Add a webhook"
      description="Changes from now on are sent there. Its signing secret is shown once, right afterward."
      action="Add webhook"
      onClose={onClose}
    >
      <Fields form={form}>
        <Field
          label="API key"
          error={form.errors.key_id}
          hint={
            keys?.length === 0
              ? 'There is no active key: create one under API keys first.'
              : 'Only what the key may read is sent, and nothing once it is revoked.'
          }
        >
          <Select
            {...form.field('key_id')}
            options={[
              { value: '', label: 'Choose a key' },
              ...(keys ?? []).map(({ id, name, environment }) => ({
                value: id,
                label: environment === 'test' ? `${name} (test)` : name,
              })),
            ]}
          />
        </Field>
      </Fields>
    </FormDialog>
  );
}

/**
 * Changes a webhook's address, description and the changes that are sent; another address requires a recent sign-in.
 */
export function EditDialog({ webhook, onClose }: DialogProps & { webhook: Webhook }) {
  const { change } = useWebhookActions();
  const withRecentSignIn = useRecentSignIn();
  const { id, url, description, types } = webhook;
  const form = useForm<Values>({
    initial: { url, description: description ?? '', all: types === null, types: [...(types ?? [])] },
    draft: `webhook/${id}`,
    check: checkOf,
    submit: (values, before) =>
      sendChanges(toInput(before), toInput(values), (changes) =>
        withRecentSignIn(() => change.mutateAsync({ id, ...changes })),
      ),
    onDone: () => {
      onClose();
      toast('Webhook saved');
    },
  });
  return (
    <FormDialog form={form} title={`Edit ${nameOf(webhook)}`} action="Save" onClose={onClose}>
      <Fields form={form} />
    </FormDialog>
  );
}

/** Gives a webhook a new secret. */
export function RenewSecretDialog({
  webhook,
  onClose,
  onMade,
}: DialogProps & { webhook: Webhook; onMade: (made: WebhookSecret) => void }) {
  const { rotate } = useWebhookActions();
  return (
    <RenewDialog
      title={`Rotate the secret of ${nameOf(webhook)}`}
      description="Each delivery has a signature by every secret that still signs, five at most, and the receiver can check any of them. If the current one stops at once, so do all before it."
      action="Rotate secret"
      current="The current secret"
      does="Signs"
      draft={null}
      renew={(overlap_seconds) => rotate.mutateAsync({ id: webhook.id, overlap_seconds })}
      onClose={onClose}
      onMade={onMade}
    />
  );
}

/** Shows a webhook's new secret, once only. */
export function NewSecretDialog({ made, onClose }: DialogProps & { made: WebhookSecret }) {
  return (
    <SecretDialog
      title={`The secret of ${nameOf(made.webhook)}`}
      description="The receiver checks each delivery with it. Copy it now: it is not shown again."
      label="Secret"
      secret={made.secret}
      onClose={onClose}
    />
  );
}

interface RangeValues {
  since: Instant | '';
  until: Instant | '';
  failed_only: boolean;
}

interface Resent {
  readonly deliveries: number;
  /** The time from which more deliveries are left; null when there are none. */
  readonly next_since: Instant | null;
}

/** Sends the deliveries of a period again. */
export function AgainDialog({
  webhook,
  onClose,
  onSent,
}: DialogProps & { webhook: Webhook; onSent: (sent: Resent) => void }) {
  const { redeliverRange } = useWebhookActions();
  const form = useForm<RangeValues, Resent>({
    initial: { since: '', until: '', failed_only: true },
    draft: null,
    check: (values) => required(values, { since: 'Choose when it begins.', until: 'Choose when it ends.' }),
    submit: (values) => redeliverRange.mutateAsync({ id: webhook.id, ...values }),
    onDone(sent) {
      if (sent.next_since !== null) form.set('since', sent.next_since);
      onSent(sent);
    },
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onClose}
      title="Resend several deliveries"
      description="Finished deliveries from a period, at most the earliest 10,000, in the order of the changes."
      action="Send again"
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="From" error={form.errors.since}>
          <DateTimeField {...form.field('since')} />
        </Field>
        <Field label="Until" error={form.errors.until}>
          <DateTimeField {...form.field('until')} />
        </Field>
      </div>
      <Checkbox
        label="Only those that failed"
        checked={form.values.failed_only}
        onChange={(only) => form.set('failed_only', only)}
      />
    </FormDialog>
  );
}
