import { useId } from 'react';
import { useDealActions } from '../../api/deals.ts';
import type { Id, Invited, ParticipantRole } from '../../api/types.ts';
import { Button } from '../../components/button.tsx';
import { CopyField } from '../../components/copy-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Input, Select } from '../../components/input.tsx';
import { Notice } from '../../components/notice.tsx';
import { toastError } from '../../components/toast.tsx';
import { optionsOf, participantRoles } from '../../lib/states.ts';
import { required, useForm } from '../../lib/use-form.ts';
import { useDeal } from './context.ts';

const hints: Record<ParticipantRole, string> = {
  broker: 'Runs the sale: sees and changes everything on this deal.',
  seller: 'Sees every buyer, offer and document, and answers questions.',
  buyer: 'Sees the sellers and brokers but no other buyer. Most documents need an NDA first.',
  advisor: 'Sees what the person they advise sees.',
  viewer: 'Looks on, and changes nothing.',
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
  const id = useId();
  const { deal, participants } = useDeal();
  const { invite } = useDealActions(deal.id);
  const advisable = participants.filter((one) => one.role !== 'advisor' && one.status !== 'removed');
  const form = useForm<Values, Invited>({
    initial: { role: 'buyer', name: '', email: '', advises: '' },
    check: (values) =>
      required(values, {
        name: 'Type the person’s name.',
        email: 'Type the person’s e-mail address.',
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
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Invite to this deal"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} kind="primary" pending={form.pending}>
            Invite
          </Button>
        </>
      }
    >
      <form {...form.props} id={id} className="flex flex-col gap-4">
        {form.fault && <Notice tone="bad">{form.fault}</Notice>}
        <Field label="Role" error={form.errors.role} hint={hints[form.values.role]}>
          <Select {...form.field('role')} name="role" options={optionsOf(participantRoles)} />
        </Field>
        {form.values.role === 'advisor' && (
          <Field label="Advises" error={form.errors.advises}>
            <Select
              {...form.field('advises')}
              name="advises"
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
      </form>
    </Dialog>
  );
}

interface InvitedDialogProps {
  invited: Invited;
  onInvited: (invited: Invited) => void;
  onClose: () => void;
}

/** How an invitation goes its way: mailed, or as a link to pass on by hand, which is shown this once. */
export function InvitedDialog({ invited, onInvited, onClose }: InvitedDialogProps) {
  const { participant, invitation_url: url } = invited;
  const { deal } = useDeal();
  const { inviteAgain } = useDealActions(deal.id);
  const makeLink = () =>
    inviteAgain.mutate({ participant: participant.id, deliver: 'link' }, { onSuccess: onInvited, onError: toastError });
  return (
    <Dialog
      open
      size="sm"
      onOpenChange={(open) => !open && onClose()}
      title={`${participant.name} is invited`}
      description={
        url === null
          ? `A mail with the link is on its way to ${participant.email}.`
          : `Pass this link on to ${participant.email}: no mail was sent.`
      }
      footer={
        <>
          {url === null && (
            <Button onClick={makeLink} pending={inviteAgain.isPending}>
              Copy a link instead
            </Button>
          )}
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      {url === null ? (
        <p className="text-soft">The link works once, for 14 days, and only for this person.</p>
      ) : (
        <Field label="Invitation link" hint="Only for this person. It works once, for 14 days, and is shown only now.">
          <CopyField value={url} />
        </Field>
      )}
    </Dialog>
  );
}
