import { useId, type ReactNode } from 'react';
import type { Form } from '../lib/use-form.ts';
import { Button } from './button.tsx';
import { CancelButton, Dialog, type DialogProps } from './dialog.tsx';
import { FormFields } from './form-fields.tsx';

interface FormDialogProps<V> extends Omit<DialogProps, 'footer'> {
  form: Form<V>;
  /** The label of the submit button. */
  action: string;
  /** Whether the action cannot be undone. */
  danger?: boolean;
  /** Whether the form can be submitted yet. */
  ready?: boolean;
  /** The label of the button that closes the dialog without submitting. */
  cancel?: string;
  /** An additional button at the other end of the footer. */
  aside?: ReactNode;
}

/**
 * A form in a dialog: its fields in a column, errors of the whole form above them, and a submit button. Input is saved,
 * and asked about before it is discarded, as the form's `draft` says.
 */
export function FormDialog<V>(props: FormDialogProps<V>) {
  const { form, action, danger = false, ready = true, cancel, aside, children, ...dialog } = props;
  const id = useId();
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          {aside}
          <CancelButton>{cancel}</CancelButton>
          <Button type="submit" form={id} kind={danger ? 'danger' : 'primary'} disabled={!ready} pending={form.pending}>
            {action}
          </Button>
        </>
      }
    >
      <FormFields form={form} id={id}>
        {children}
      </FormFields>
    </Dialog>
  );
}
