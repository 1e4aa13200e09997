import { useState } from 'react';
import { mostInvitedAtOnce, useMemberActions, type Attempt } from '../../../api/settings.ts';
import type { Id, MemberRole } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select, Textarea } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { formatCount } from '../../../lib/format.ts';
import { lifetimes } from '../../../lib/lifetimes.ts';
import { memberRoles, optionsOf } from '../../../lib/states.ts';
import { useForm } from '../../../lib/use-form.ts';
import { hints } from './dialogs.tsx';
import { readPeople, writePeople } from './typed-people.ts';

const counted = (count: number) => (count === 1 ? 'One person is' : `${formatCount(count)} people are`);

function faultOf(text: string): string | null {
  const { people, unread } = readPeople(text);
  if (unread.length > 0) return `There is no e-mail address in “${unread[0]}”.`;
  if (people.length === 0) return 'Enter the e-mail addresses.';
  if (people.length > mostInvitedAtOnce)
    return `Enter ${mostInvitedAtOnce} people at most: these are ${formatCount(people.length)}.`;
  return null;
}

/** Those who are invited; with the links, if they are to be passed on by hand. */
function Invited({ invited }: { invited: readonly Attempt[] }) {
  const links = invited.filter(({ url }) => url !== null);
  return (
    <>
      {links.length < invited.length && (
        <p className="break-words text-soft">
          E-mails are on their way to{' '}
          {invited
            .filter(({ url }) => url === null)
            .map(({ person }) => person.email)
            .join(', ')}
          . Each link works once, only for this person, and expires in {lifetimes.invitation}.
        </p>
      )}
      {links.length > 0 && (
        <Field
          label="Invitation links"
          hint={`Send each link to its person: no e-mails were sent. It works once, expires in ${lifetimes.invitation}, and is shown only once.`}
        >
          <Textarea readOnly rows={8} value={links.map(({ person, url }) => `${person.email} ${url}`).join('\n')} />
        </Field>
      )}
    </>
  );
}

/** Says why people are not invited, once for all with the same reason. */
function Left({ left }: { left: readonly Attempt[] }) {
  const reasons = [...new Set(left.map(({ fault }) => fault))];
  return (
    <Notice tone="bad" title={`${counted(left.length)} not invited yet`}>
      {reasons.map((reason) => (
        <p key={reason} className="break-words">
          {left
            .filter(({ fault }) => fault === reason)
            .map(({ person }) => person.email)
            .join(', ')}
          : {reason}
        </p>
      ))}
    </Notice>
  );
}

/** Invites many people to the brokerage in one role, and says of each what came of it. */
export function InviteSeveralDialog({ brokerageId, onClose }: { brokerageId: Id; onClose: () => void }) {
  const { inviteEach } = useMemberActions(brokerageId);
  const withRecentSignIn = useRecentSignIn();
  const [invited, setInvited] = useState<readonly Attempt[]>([]);
  const [left, setLeft] = useState<readonly Attempt[]>([]);
  const form = useForm({
    initial: { role: 'broker' as MemberRole, people: '' },
    draft: `members/${brokerageId}`,
    check: ({ people }): Record<string, string> => {
      const fault = faultOf(people);
      return fault === null ? {} : { people: fault };
    },
    submit: ({ role, people }) =>
      inviteEach.mutateAsync({ people: readPeople(people).people, role, attempt: withRecentSignIn }),
    onDone: (attempts) => {
      const failed = attempts.filter(({ fault }) => fault !== null);
      setInvited((before) => [...before, ...attempts.filter(({ fault }) => fault === null)]);
      setLeft(failed);
      form.set('people', writePeople(failed.map(({ person }) => person)));
    },
  });
  if (invited.length > 0 && left.length === 0)
    return (
      <Dialog
        shownOnce={invited.some(({ url }) => url !== null)}
        title={`${counted(invited.length)} invited`}
        onClose={onClose}
        footer={
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <Invited invited={invited} />
      </Dialog>
    );
  return (
    <FormDialog
      form={form}
      title="Invite several people"
      action={left.length > 0 ? 'Try these again' : 'Invite'}
      cancel={left.length > 0 ? 'Close' : undefined}
      shownOnce={invited.some(({ url }) => url !== null)}
      onClose={onClose}
    >
      {left.length > 0 && <Left left={left} />}
      {invited.length > 0 && (
        <Notice tone="good" title={`${counted(invited.length)} invited`}>
          <Invited invited={invited} />
        </Notice>
      )}
      <Field label="Role" error={form.errors.role} hint={hints[form.values.role]}>
        <Select {...form.field('role')} options={optionsOf(memberRoles)} />
      </Field>
      <Field
        label="People"
        error={form.errors.people}
        hint={`One on each line, with or without a name: Ann Lee <ann@example.com>. ${mostInvitedAtOnce} at most.`}
      >
        <Textarea {...form.text('people')} rows={8} spellCheck={false} autoComplete="off" />
      </Field>
    </FormDialog>
  );
}
