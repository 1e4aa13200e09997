import type { ReactNode } from 'react';
import { cx } from '../lib/cx.ts';
import type { Form } from '../lib/use-form.ts';
import { Notice } from './notice.tsx';

interface FormFieldsProps<V> {
  form: Form<V>;
  /** For a button that sends the form from outside it. */
  id?: string;
  className?: string;
  children: ReactNode;
}

/** A form: its fields below each other, and above them what went wrong with the whole. */
export function FormFields<V>({ form, id, className, children }: FormFieldsProps<V>) {
  return (
    <form {...form.props} id={id} className={cx('flex flex-col gap-4', className)}>
      {form.fault && <Notice tone="bad">{form.fault}</Notice>}
      {children}
    </form>
  );
}
