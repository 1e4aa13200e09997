import { Button } from '../../components/button.tsx';
import { CopyField } from '../../components/copy-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Select } from '../../components/input.tsx';
import { useRecentSignIn } from '../../components/recent-sign-in.tsx';
import { optionsOf } from '../../lib/states.ts';
import { useForm } from '../../lib/use-form.ts';
import { wholeNumber } from '../../lib/whole-number.ts';

/** Labels by the number of seconds for which the previous secret remains valid. */
const overlaps = { '0': '', '3600': 'another hour', '86400': 'another day', '604800': 'another week' } as const;
type Overlap = keyof typeof overlaps;

interface RenewDialogProps<Made> {
  title: string;
  description: string;
  action: string;
  /** Label of the previous secret, and what it does while it remains valid: “The current token”, “Works”. */
  current: string;
  does: string;
  /** See useForm. */
  draft: string | null;
  renew: (overlapSeconds: number) => Promise<Made>;
  onClose: () => void;
  onMade: (made: Made) => void;
}

/** Replaces a secret, which may remain valid for a while; this requires a recent sign-in. */
export function RenewDialog<Made>({
  title,
  description,
  action,
  current,
  does,
  draft,
  renew,
  onClose,
  onMade,
}: RenewDialogProps<Made>) {
  const withRecentSignIn = useRecentSignIn();
  const form = useForm<{ overlap_seconds: Overlap }, Made>({
    initial: { overlap_seconds: '86400' },
    draft,
    submit: ({ overlap_seconds }) => withRecentSignIn(() => renew(wholeNumber(overlap_seconds))),
    onDone: onMade,
  });
  const options = optionsOf(overlaps).map(({ value, label }) => ({
    value,
    label: label === '' ? 'Stops at once' : `${does} for ${label}`,
  }));
  return (
    <FormDialog form={form} size="sm" onClose={onClose} title={title} description={description} action={action}>
      <Field label={current} error={form.errors.overlap_seconds}>
        <Select {...form.field('overlap_seconds')} options={options} />
      </Field>
    </FormDialog>
  );
}

interface SecretDialogProps {
  title: string;
  description: string;
  label: string;
  secret: string;
  onClose: () => void;
}

/** Shows a new secret, once only. */
export function SecretDialog({ title, description, label, secret, onClose }: SecretDialogProps) {
  return (
    <Dialog
      shownOnce
      onClose={onClose}
      title={title}
      description={description}
      footer={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <CopyField value={secret} label={label} />
    </Dialog>
  );
}
