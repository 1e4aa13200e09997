import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { bridgeQuery, useQoeActions } from '../../../api/qoe.ts';
import type { AdjustmentCategory, Id, QoeMember } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select, Textarea } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { toast } from '../../../components/toast.tsx';
import { MoneyField } from '../../../components/value-fields.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { adjustmentCategories, optionsOf } from '../../../lib/states.ts';
import { orNull, required, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';

interface RowDialogProps {
  dealId: Id;
  /** The categories in use, as suggestions. */
  categories: readonly string[];
  onClose: () => void;
}

/** Adds a row to the checklist. */
export function RowDialog({ dealId, categories, onClose }: RowDialogProps) {
  const list = useId();
  const { addRow } = useQoeActions(dealId);
  const form = useForm({
    initial: { category: '', title: '' },
    draft: `checklist-row/${dealId}`,
    check: (values) => required(values, { category: 'Enter a category.', title: 'Enter what to verify.' }),
    submit: (values) => addRow.mutateAsync(values),
    onDone: () => {
      onClose();
      toast('Added to the checklist');
    },
  });
  return (
    <FormDialog
      title="Add to the checklist"
      description="What needs to be verified."
      action="Add"
      form={form}
      onClose={onClose}
    >
      <Field label="Category" error={form.errors.category}>
        <Input {...form.text('category')} list={list} maxLength={lengths.qoe_checklist.category} />
      </Field>
      <datalist id={list}>
        {categories.map((category) => (
          <option key={category} value={category}>
            {category}
          </option>
        ))}
      </datalist>
      <Field label="Title" error={form.errors.title}>
        <Input {...form.text('title')} maxLength={lengths.qoe_checklist.title} />
      </Field>
    </FormDialog>
  );
}

interface NormalizationValues {
  period_label: string;
  adjustment_category: AdjustmentCategory | '';
  adjustment_amount: string;
  rationale: string;
}

/** Adds a normalization. */
export function NormalizationDialog({
  dealId,
  currency,
  onClose,
}: {
  dealId: Id;
  currency: string;
  onClose: () => void;
}) {
  const { addNormalization } = useQoeActions(dealId);
  const bridge = useQuery(bridgeQuery(dealId, null)).data;
  const periods = bridge ? [...new Set([...bridge.period_labels, ...bridge.month_labels])] : [];
  const form = useForm<NormalizationValues>({
    initial: { period_label: '', adjustment_category: '', adjustment_amount: '', rationale: '' },
    draft: `normalization/${dealId}`,
    check: (values) =>
      required(values, {
        period_label: 'Choose a period.',
        adjustment_category: 'Choose a category.',
        adjustment_amount: 'Enter the amount.',
      }),
    submit: ({ adjustment_category, rationale, ...rest }) =>
      addNormalization.mutateAsync({
        ...rest,
        adjustment_category: adjustment_category as AdjustmentCategory,
        rationale: orNull(rationale),
      }),
    onDone: () => {
      onClose();
      toast('Adjustment added');
    },
  });
  return (
    <FormDialog
      title="Add an add-back or adjustment"
      description="Income a new owner would not earn, and costs they would not pay."
      action="Add"
      form={form}
      onClose={onClose}
    >
      {periods.length > 0 ? (
        <Field
          label="Period"
          hint="Periods with figures. TTM is the last twelve months."
          error={form.errors.period_label}
        >
          <Select
            {...form.field('period_label')}
            placeholder="Choose a period"
            options={periods.map((label) => ({ value: label, label }))}
          />
        </Field>
      ) : (
        <Field
          label="Period"
          hint={`There are no figures yet. The adjustment counts once there are figures in ${currency} for this period, such as FY2025, or TTM for the last twelve months.`}
          error={form.errors.period_label}
        >
          <Input {...form.text('period_label')} maxLength={lengths.normalizations.period_label} />
        </Field>
      )}
      <Field label="Category" error={form.errors.adjustment_category}>
        <Select
          {...form.field('adjustment_category')}
          placeholder="Choose a category"
          options={optionsOf(adjustmentCategories)}
        />
      </Field>
      <Field label="Amount" hint="Enter a negative amount to lower earnings." error={form.errors.adjustment_amount}>
        <MoneyField {...form.field('adjustment_amount')} currency={currency} />
      </Field>
      <Field label="Rationale" optional error={form.errors.rationale}>
        <Textarea {...form.text('rationale')} maxLength={lengths.normalizations.rationale} />
      </Field>
    </FormDialog>
  );
}

interface AdmitDialogProps {
  dealId: Id;
  members: readonly QoeMember[];
  onClose: () => void;
}

/** Adds a participant of the deal to the workspace. */
export function AdmitDialog({ dealId, members, onClose }: AdmitDialogProps) {
  const { participants } = useDeal();
  const { admit } = useQoeActions(dealId);
  const inside = new Set(members.filter((one) => one.can_remove).map((one) => one.participant_id));
  const people = participants.filter(
    ({ id, role, status }) => status === 'active' && role !== 'broker' && role !== 'seller' && !inside.has(id),
  );
  const form = useForm<{ id: Id; role: QoeMember['role'] }>({
    initial: { id: '', role: 'reader' },
    draft: `qoe-member/${dealId}`,
    offered: { id: people.map((one) => one.id) },
    check: (values) => required(values, { id: 'Choose someone.' }),
    submit: (values) => admit.mutateAsync(values),
    onDone: () => {
      onClose();
      toast('Added to the workspace');
    },
  });
  return (
    <FormDialog
      title="Add to the workspace"
      description="Buyers need a signed NDA. Their advisors read with them."
      action="Add to workspace"
      form={form}
      onClose={onClose}
    >
      {people.length === 0 && (
        <Notice>Everyone on the deal who can be added is in the workspace already. Invite people first.</Notice>
      )}
      <Field label="Person" error={form.errors.id}>
        <Select
          {...form.field('id')}
          placeholder="Choose someone"
          options={people.map(({ id, name }) => ({ value: id, label: name }))}
        />
      </Field>
      <Field label="Access" error={form.errors.role}>
        <Select<QoeMember['role']>
          {...form.field('role')}
          options={[
            { value: 'reader', label: 'Can view' },
            { value: 'editor', label: 'Can view and edit' },
          ]}
        />
      </Field>
    </FormDialog>
  );
}
