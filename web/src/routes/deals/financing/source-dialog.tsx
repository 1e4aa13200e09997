import { useFinancingActions } from '../../../api/diligence.ts';
import type { CommitmentStatus, FinancingSource, FinancingSourceType } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { toast } from '../../../components/toast.tsx';
import { MoneyField } from '../../../components/value-fields.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { commitmentStates, financingTypes, optionsOf } from '../../../lib/states.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';

interface Values {
  source_type: FinancingSourceType | '';
  source_name: string;
  commitment_amount: string;
  commitment_status: CommitmentStatus;
}

/** Adds a source of financing. */
export function SourceDialog({ onClose }: { onClose: () => void }) {
  const { deal } = useDeal();
  const { add } = useFinancingActions(deal.id);
  const form = useForm<Values, FinancingSource>({
    initial: { source_type: '', source_name: '', commitment_amount: '', commitment_status: 'identified' },
    draft: `financing-source/${deal.id}`,
    check: (values) =>
      required(values, {
        source_type: 'Choose the type of source.',
        source_name: 'Enter the lender or investor.',
        commitment_amount: 'Enter the amount.',
      }),
    submit: (values) => add.mutateAsync({ ...values, source_type: values.source_type as FinancingSourceType }),
    onDone: () => {
      onClose();
      toast('Source added');
    },
  });
  return (
    <FormDialog form={form} onClose={onClose} title="Add a source of financing" action="Add">
      <Field label="Type" error={form.errors.source_type}>
        <Select {...form.field('source_type')} placeholder="Choose" options={optionsOf(financingTypes)} />
      </Field>
      <Field label="Lender or investor" error={form.errors.source_name}>
        <Input {...form.text('source_name')} maxLength={lengths.financing_sources.source_name} />
      </Field>
      <Field label="Amount" error={form.errors.commitment_amount} hint="A whole amount, without cents.">
        <MoneyField {...form.field('commitment_amount')} currency={deal.currency} />
      </Field>
      <Field label="Status" error={form.errors.commitment_status}>
        <Select {...form.field('commitment_status')} options={optionsOf(commitmentStates)} />
      </Field>
    </FormDialog>
  );
}
