import { lengths } from '../lib/lengths.ts';
import { optionsOf, type Look } from '../lib/states.ts';
import { required, useForm } from '../lib/use-form.ts';
import { Field } from './field.tsx';
import { FormDialog } from './form-dialog.tsx';
import { Input, Select } from './input.tsx';

interface Values<R> {
  role: R;
  name: string;
  email: string;
  /** The id of the person that an advisor advises; empty for other roles. */
  advises: string;
}

interface InviteDialogProps<R extends string, I> {
  title: string;
  /** The key under which the unsent form is saved. */
  draft: string;
  roles: Record<R, Look>;
  /** What a person in each role sees and does. */
  hints: Record<R, string>;
  initialRole: R;
  /** The advisor role, and the persons among whom the advised one is chosen. */
  advisor?: { role: R; of: readonly { value: string; label: string }[] };
  /** The fields for error codes of errors that name no field. */
  about?: Record<string, keyof Values<R>>;
  send: (values: Values<R>) => Promise<I>;
  onInvited: (invited: I) => void;
  onClose: () => void;
}

/** Invites a person in a role. */
export function InviteDialog<R extends string, I>(props: InviteDialogProps<R, I>) {
  const { title, draft, roles, hints, initialRole, advisor, about = {}, send, onInvited, onClose } = props;
  const advises = (role: R) => advisor?.role === role;
  const form = useForm<Values<R>, I>({
    initial: { role: initialRole, name: '', email: '', advises: '' },
    draft,
    offered: { advises: advisor?.of.map(({ value }) => value) },
    check: (values) =>
      required(values, {
        name: 'Enter the person’s name.',
        email: 'Enter the person’s e-mail address.',
        ...(advises(values.role) && { advises: 'Choose who they advise.' }),
      }),
    about,
    submit: (values) => send({ ...values, name: values.name.trim(), email: values.email.trim() }),
    onDone: (invited) => {
      onClose();
      onInvited(invited);
    },
  });
  const { role } = form.values;
  return (
    <FormDialog form={form} title={title} action="Invite" onClose={onClose}>
      <Field label="Role" error={form.errors.role} hint={hints[role]}>
        <Select {...form.field('role')} options={optionsOf(roles)} />
      </Field>
      {advisor && advises(role) && (
        <Field label="Advises" error={form.errors.advises}>
          <Select {...form.field('advises')} placeholder="Choose a person" options={advisor.of} />
        </Field>
      )}
      <Field label="Name" error={form.errors.name}>
        <Input {...form.text('name')} autoComplete="off" maxLength={lengths.participants.invited_name} />
      </Field>
      <Field label="E-mail" error={form.errors.email}>
        <Input {...form.text('email')} type="email" autoComplete="off" />
      </Field>
    </FormDialog>
  );
}
