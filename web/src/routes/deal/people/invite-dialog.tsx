import { useDealActions } from '../../../api/deals.ts';
import type { Id, Invited, ParticipantRole } from '../../../api/types.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { InvitedDialog } from '../../../components/invited-dialog.tsx';
import { toastError } from '../../../components/toast.tsx';
import { optionsOf, participantRoles } from '../../../lib/states.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';

const hints: Record<ParticipantRole, string> = {
  broker: 'Runs the sale: sees and changes everything on this deal.',
  seller: 'Sees every buyer, offer and document, and answers questions.',
  buyer: 'Sees the sellers and brokers but no other buyer. Most documents need an NDA first.',
  advisor: 'Sees what the person they advise sees.',
  viewer: 'Can view, but change nothing.',
};

interface InviteDialogProps {
  onClose: () => void;
  onInvited: (invited: Invited) => void;
}

interface Values {
  role: ParticipantRole;
  name: string;
  email: string;
  advises: Id;
}

/** Invites a person to the deal. */
export function InviteDialog({ onClose, onInvited }: InviteDialogProps) {
  const { deal, participants } = useDeal();
  const { invite } = useDealActions(deal.id);
  const advisable = participants.filter((one) => one.role !== 'advisor' && one.status !== 'removed');
  const form = useForm<Values, Invited>({
    initial: { role: 'buyer', name: '', email: '', advises: '' },
    draft: `invitation/${deal.id}`,
    check: (values) =>
      required(values, {
        name: 'Enter the person’s name.',
        email: 'Enter the person’s e-mail address.',
        ...(values.role === 'advisor' && { advises: 'Choose whom they advise.' }),
      }),
    submit: ({ role, name, email, advises }) =>
      invite.mutateAsync({
        role,
        name: name.trim(),
        email: email.trim(),
        advises: role === 'advisor' ? advises : null,
      }),
    onDone: (invited) => {
      onClose();
      onInvited(invited);
    },
  });
  return (
    <FormDialog form={form} onClose={onClose} title="Invite to this deal" action="Invite">
      <Field label="Role" error={form.errors.role} hint={hints[form.values.role]}>
        <Select {...form.field('role')} options={optionsOf(participantRoles)} />
      </Field>
      {form.values.role === 'advisor' && (
        <Field label="Advises" error={form.errors.advises}>
          <Select
            {...form.field('advises')}
            placeholder="Choose a person"
            options={advisable.map((one) => ({
              value: one.id,
              label: `${one.name} (${participantRoles[one.role].label.toLowerCase()})`,
            }))}
          />
        </Field>
      )}
      <Field label="Name" error={form.errors.name}>
        <Input {...form.text('name')} autoComplete="off" maxLength={200} />
      </Field>
      <Field label="E-mail" error={form.errors.email}>
        <Input {...form.text('email')} type="email" autoComplete="off" />
      </Field>
    </FormDialog>
  );
}

interface InvitedDialogProps {
  invited: Invited;
  onInvited: (invited: Invited) => void;
  onClose: () => void;
}

/** How an invitation to the deal goes its way. */
export function InvitedToDealDialog({ invited, onInvited, onClose }: InvitedDialogProps) {
  const { participant, invitation_url } = invited;
  const { inviteAgain } = useDealActions(useDeal().deal.id);
  return (
    <InvitedDialog
      person={participant}
      url={invitation_url}
      making={inviteAgain.isPending}
      onLink={() =>
        inviteAgain.mutate(
          { participant: participant.id, deliver: 'link' },
          { onSuccess: onInvited, onError: toastError },
        )
      }
      onClose={onClose}
    />
  );
}
