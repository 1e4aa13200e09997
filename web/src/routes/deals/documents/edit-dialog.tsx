import { useDocumentActions } from '../../../api/documents.ts';
import type { Confidentiality, DealDocument } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { toast } from '../../../components/toast.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { confidentialities, documentCategory, optionsOf, questionCategories } from '../../../lib/states.ts';
import { required, sendChanges, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';

interface Values {
  filename: string;
  category: string;
  confidentiality: Confidentiality;
}

/** Changes a document's name, category, or who may open it. */
export function EditDialog({ document, onClose }: { document: DealDocument; onClose: () => void }) {
  const { deal } = useDeal();
  const { change } = useDocumentActions(deal.id);
  const { filename, category, confidentiality } = document;
  const form = useForm<Values>({
    initial: { filename, category, confidentiality },
    draft: `document/${document.id}`,
    check: (values) => required(values, { filename: 'Enter a name.' }),
    submit: (values, before) => sendChanges(before, values, (changes) => change.mutateAsync({ document, ...changes })),
    onDone: () => {
      onClose();
      toast('Document changed');
    },
  });
  return (
    <FormDialog form={form} onClose={onClose} title="Edit the document" action="Save">
      <Field label="Name" hint="The file extension stays the same." error={form.errors.filename}>
        <Input {...form.text('filename')} maxLength={lengths.documents.filename} />
      </Field>
      <Field label="Category" error={form.errors.category}>
        <Select
          {...form.field('category')}
          options={[
            ...optionsOf<string>(questionCategories),
            ...(Object.hasOwn(questionCategories, category)
              ? []
              : [{ value: category, label: documentCategory(category) }]),
          ]}
        />
      </Field>
      <Field label="Who may open it" error={form.errors.confidentiality}>
        <Select {...form.field('confidentiality')} options={optionsOf(confidentialities)} />
      </Field>
    </FormDialog>
  );
}
