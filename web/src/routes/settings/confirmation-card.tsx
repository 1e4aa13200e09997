import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { Field } from '../../components/field.tsx';
import { FormFields } from '../../components/form-fields.tsx';
import { Input } from '../../components/input.tsx';
import { useRecentSignIn } from '../../components/recent-sign-in.tsx';
import { longestEmailAddress } from '../../lib/lengths.ts';
import { required, useForm } from '../../lib/use-form.ts';

interface ConfirmationCardProps {
  title: string;
  description: string;
  /** The text to type, in lower case. */
  word: string;
  /** The error message when another text was typed. */
  wrong: string;
  /** The button's label. */
  action: string;
  /** Called with the typed text, trimmed and in lower case. */
  submit: (confirmation: string) => Promise<unknown>;
  onDone: () => void;
}

/**
 * A card for an action that cannot be undone: the person types a name to confirm it, and it requires a recent sign-in.
 */
export function ConfirmationCard({ title, description, word, wrong, action, submit, onDone }: ConfirmationCardProps) {
  const withRecentSignIn = useRecentSignIn();
  const form = useForm({
    initial: { confirmation: '' },
    draft: null,
    check: (values) =>
      values.confirmation.trim().toLowerCase() === word ? required(values, {}) : { confirmation: wrong },
    about: { validation_error: 'confirmation' },
    submit: ({ confirmation }) => withRecentSignIn(() => submit(confirmation.trim().toLowerCase())),
    onDone,
  });
  return (
    <Card title={title} description={description}>
      <FormFields form={form} className="max-w-md">
        <Field label={`Type ${word} to confirm`} error={form.errors.confirmation}>
          <Input {...form.text('confirmation')} autoComplete="off" maxLength={longestEmailAddress} />
        </Field>
        <div>
          <Button type="submit" kind="danger" pending={form.pending} idle={!form.dirty}>
            {action}
          </Button>
        </div>
      </FormFields>
    </Card>
  );
}
