import { useId } from 'react';
import { useMemberActions } from '../../api/settings.ts';
import type { Id, MemberInvited, MemberRole } from '../../api/types.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Input, Select } from '../../components/input.tsx';
import { InvitedDialog } from '../../components/invited-dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { toastError } from '../../components/toast.tsx';
import { memberRoles, optionsOf } from '../../lib/states.ts';
import { required, useForm } from '../../lib/use-form.ts';

const hints: Record<MemberRole, string> = {
  admin: 'Manages members, API keys and the audit trail, and can join any deal of the brokerage.',
  broker: 'Opens and runs deals, and keeps contacts.',
  staff: 'Keeps contacts.',
};

interface InviteMemberDialogProps {
  brokerageId: Id;
  onClose: () => void;
  onInvited: (invited: MemberInvited) => void;
}

/** Invites a person to the brokerage. */
export function InviteMemberDialog({ brokerageId, onClose, onInvited }: InviteMemberDialogProps) {
  const id = useId();
  const { invite } = useMemberActions(brokerageId);
  const form = useForm<{ role: MemberRole; name: string; email: string }, MemberInvited>({
    initial: { role: 'broker', name: '', email: '' },
    check: (values) =>
      required(values, { name: 'Type the person’s name.', email: 'Type the person’s e-mail address.' }),
    about: { already_member: 'email' },
    submit: ({ role, name, email }) => invite.mutateAsync({ role, name: name.trim(), email: email.trim() }),
    onDone: (invited) => {
      onClose();
      onInvited(invited);
    },
  });
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Invite to the brokerage"
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
        <Field label="Name" error={form.errors.name}>
          <Input {...form.text('name')} autoComplete="off" maxLength={200} />
        </Field>
        <Field label="E-mail" error={form.errors.email}>
          <Input {...form.text('email')} type="email" autoComplete="off" />
        </Field>
        <Field label="Role" error={form.errors.role} hint={hints[form.values.role]}>
          <Select {...form.field('role')} name="role" options={optionsOf(memberRoles)} />
        </Field>
      </form>
    </Dialog>
  );
}

interface InvitedMemberDialogProps {
  brokerageId: Id;
  invited: MemberInvited;
  onInvited: (invited: MemberInvited) => void;
  onClose: () => void;
}

/** How an invitation to the brokerage goes its way. */
export function InvitedMemberDialog({ brokerageId, invited, onInvited, onClose }: InvitedMemberDialogProps) {
  const { member, invitation_url } = invited;
  const { renew } = useMemberActions(brokerageId);
  return (
    <InvitedDialog
      person={member}
      url={invitation_url}
      making={renew.isPending}
      onLink={() =>
        renew.mutate({ user_id: member.user_id, deliver: 'link' }, { onSuccess: onInvited, onError: toastError })
      }
      onClose={onClose}
    />
  );
}
