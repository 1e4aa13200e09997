import { useId, type ReactNode } from 'react';
import type { Form } from '../lib/use-form.ts';
import { Button } from './button.tsx';
import { CancelButton, Dialog, type DialogProps } from './dialog.tsx';
import { FormFields } from './form-fields.tsx';

interface FormDialogProps<V> extends Omit<DialogProps, 'footer'> {
  form: Form<V>;
  /** What the button says that sends the form. */
  action: string;
  /** It cannot be undone. */
  danger?: boolean;
  /** Whether it can be sent yet. */
  ready?: boolean;
  /** What the button says that closes the dialog without sending. */
  cancel?: string;
  /** A button of its own at the other end of the footer. */
  aside?: ReactNode;
}

/**
 * A form in a dialog: its fields below each other, what went wrong with the whole above them, and a button that sends it.
 * What was written is kept and asked about as the form's `draft` says.
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
