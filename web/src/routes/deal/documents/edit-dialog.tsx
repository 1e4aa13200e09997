import { useId } from 'react';
import { useDocumentActions } from '../../../api/documents.ts';
import type { Confidentiality, DealDocument } from '../../../api/types.ts';
import { Button } from '../../../components/button.tsx';
import { CancelButton, Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { toast } from '../../../components/toast.tsx';
import { confidentialities, documentCategory, optionsOf, questionCategories } from '../../../lib/states.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';

interface Values {
  filename: string;
  category: string;
  confidentiality: Confidentiality;
}

/** Changes a document's name, category, or who may open it. */
export function EditDialog({ document, onClose }: { document: DealDocument; onClose: () => void }) {
  const id = useId();
  const { deal } = useDeal();
  const { change } = useDocumentActions(deal.id);
  const { filename, category, confidentiality } = document;
  const form = useForm<Values, DealDocument>({
    initial: { filename, category, confidentiality },
    draft: `document/${document.id}`,
    check: (values) => required(values, { filename: 'Enter a name.' }),
    submit: (values) => change.mutateAsync({ document, ...values }),
    onDone: () => {
      onClose();
      toast('Document changed');
    },
  });
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Edit the document"
      footer={
        <>
          <CancelButton />
          <Button type="submit" form={id} kind="primary" pending={form.pending}>
            Save
          </Button>
        </>
      }
    >
      <form {...form.props} id={id} className="flex flex-col gap-4">
        {form.fault && <Notice tone="bad">{form.fault}</Notice>}
        <Field label="Name" hint="The ending stays: it says what the file is." error={form.errors.filename}>
          <Input {...form.text('filename')} maxLength={255} />
        </Field>
        <Field label="Category" error={form.errors.category}>
          <Select
            {...form.field('category')}
            name="category"
            options={[
              ...optionsOf<string>(questionCategories),
              ...(category in questionCategories ? [] : [{ value: category, label: documentCategory(category) }]),
            ]}
          />
        </Field>
        <Field label="Who may open it" error={form.errors.confidentiality}>
          <Select {...form.field('confidentiality')} name="confidentiality" options={optionsOf(confidentialities)} />
        </Field>
      </form>
    </Dialog>
  );
}
