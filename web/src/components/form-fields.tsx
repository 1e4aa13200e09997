import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import type { Form } from '../lib/use-form.ts';
import { Notice } from './notice.tsx';

interface FormFieldsProps<V> {
  form: Form<V>;
  /** For a submit button outside of the form. */
  id?: string;
  className?: string;
  children: ReactNode;
}

/** A form: its fields in a column, and above them the errors of the whole form. */
export function FormFields<V>({ form, id, className, children }: FormFieldsProps<V>) {
  return (
    <form {...form.props} id={id} className={cx('flex flex-col gap-4', className)}>
      {form.fault && <Notice tone="bad">{form.fault}</Notice>}
      {children}
    </form>
  );
}
