import { Button } from './button.tsx';
import { CopyField } from './copy-field.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { lifetimes } from '../lib/lifetimes.ts';

interface InvitedDialogProps {
  person: { name: string; email: string };
  /** The link, if it is to be passed on by hand; null when it was mailed. */
  url: string | null;
  /** Creates a link to pass on instead of the mailed one. */
  onLink: () => void;
  making: boolean;
  onClose: () => void;
}

/** Says that an invitation was mailed, or shows its link to pass on by hand, this once. */
export function InvitedDialog({ person: { name, email }, url, onLink, making, onClose }: InvitedDialogProps) {
  return (
    <Dialog
      size="sm"
      shownOnce={url !== null}
      onClose={onClose}
      title={`${name} is invited`}
      description={
        url === null
          ? `An e-mail with the link is on its way to ${email}.`
          : `Send this link to ${email}: no e-mail was sent.`
      }
      footer={
        <>
          {url === null && (
            <Button onClick={onLink} pending={making}>
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
        <p className="text-soft">The link works once, only for this person, and expires in {lifetimes.invitation}.</p>
      ) : (
        <Field
          label="Invitation link"
          hint={`Only for this person. It works once, expires in ${lifetimes.invitation}, and is shown only once.`}
        >
          <CopyField value={url} label="Invitation link" />
        </Field>
      )}
    </Dialog>
  );
}
