import { useQuery } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import { findingQuery, useFindingActions } from '../../../api/diligence.ts';
import type { Finding, FindingSeverity, FindingStatus, Id } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select, Textarea } from '../../../components/input.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { toast } from '../../../components/toast.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { findingSeverities, findingStates, optionsOf } from '../../../lib/states.ts';
import { orNull, required, sendChanges, useForm, type Form } from '../../../lib/use-form.ts';
import { useDeal, useOwnerName } from '../context.ts';

interface Values {
  title: string;
  category: string;
  severity: FindingSeverity | '';
  description: string;
  owner_user_id: Id | '';
}

/** Records a finding. */
export function FindingDialog({ onClose }: { onClose: () => void }) {
  const { deal, participants } = useDeal();
  const { add } = useFindingActions(deal.id);
  const owners = participants.filter((one) => one.can_own_findings);
  const form = useForm<Values, Finding>({
    initial: { title: '', category: '', severity: '', description: '', owner_user_id: '' },
    draft: `finding/${deal.id}`,
    offered: { owner_user_id: owners.map((one) => one.user_id) },
    check: (values) =>
      required(values, {
        title: 'Enter a short title.',
        category: 'Enter a category, such as tax or lease.',
        severity: 'Choose a severity.',
      }),
    submit: (values) =>
      add.mutateAsync({
        title: values.title.trim(),
        category: values.category.trim(),
        severity: values.severity as FindingSeverity,
        description: orNull(values.description),
        owner_user_id: orNull(values.owner_user_id),
      }),
    onDone: () => {
      onClose();
      toast('Finding recorded');
    },
  });
  return (
    <FormDialog form={form} onClose={onClose} title="Record a finding" action="Record">
      <Field label="Finding" error={form.errors.title}>
        <Input {...form.text('title')} maxLength={lengths.findings.title} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Category" error={form.errors.category}>
          <Input {...form.text('category')} maxLength={lengths.findings.category} />
        </Field>
        <Field label="Severity" error={form.errors.severity}>
          <Select {...form.field('severity')} placeholder="Choose" options={optionsOf(findingSeverities)} />
        </Field>
      </div>
      <Field label="Description" error={form.errors.description} optional>
        <Textarea {...form.text('description')} maxLength={lengths.findings.description} />
      </Field>
      <OwnerField form={form} owners={owners} />
    </FormDialog>
  );
}

interface OwnerFieldProps<V> {
  form: Form<V>;
  owners: readonly { user_id: Id; name: string }[];
}

function OwnerField<V extends { owner_user_id: Id | '' }>({ form, owners }: OwnerFieldProps<V>) {
  return (
    <Field label="Owner" error={form.errors['owner_user_id']} optional>
      <Select
        {...form.field('owner_user_id')}
        options={[
          { value: '', label: 'Unassigned' },
          ...owners.map(({ user_id, name }) => ({ value: user_id, label: name })),
        ]}
      />
    </Field>
  );
}

/** Makes somebody else the owner of a finding, or nobody. */
export function FindingOwnerDialog({ finding, onClose }: { finding: Finding; onClose: () => void }) {
  const { participants } = useDeal();
  const { assign } = useFindingActions(finding.deal_id);
  const ownerName = useOwnerName();
  const query = useQuery(findingQuery(finding.deal_id, finding.id));
  // Also one who has left or can no longer become it: they stay the owner until somebody else is chosen.
  const owners =
    query.data &&
    participants.flatMap(({ user_id, name }) =>
      user_id === finding.owner_user_id
        ? { user_id, name: ownerName(finding) ?? name }
        : query.data.owners.includes(user_id)
          ? { user_id, name }
          : [],
    );
  const form = useForm<Pick<Values, 'owner_user_id'>>({
    initial: { owner_user_id: finding.owner_user_id ?? '' },
    draft: `finding-owner/${finding.id}`,
    offered: { owner_user_id: owners && ['', ...owners.map((one) => one.user_id)] },
    submit: (values, before) =>
      sendChanges(before, values, () =>
        assign.mutateAsync({ id: finding.id, owner_user_id: orNull(values.owner_user_id) }),
      ),
    onDone: () => {
      onClose();
      toast('Owner changed');
    },
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onClose}
      title="Change the owner"
      description={finding.title}
      action="Save"
      ready={owners !== undefined}
    >
      <Loaded query={query} skeleton={<SkeletonText lines={2} />}>
        {() => <OwnerField form={form} owners={owners ?? []} />}
      </Loaded>
    </FormDialog>
  );
}

interface StatusValues {
  status: FindingStatus;
  status_notes: string;
}

/** Changes a finding's status, with notes that are kept in its history. */
export function FindingStatusDialog({ finding, onClose }: { finding: Finding; onClose: () => void }) {
  const { setStatus } = useFindingActions(finding.deal_id);
  const form = useForm<StatusValues, Finding>({
    initial: { status: finding.status, status_notes: '' },
    draft: `finding-status/${finding.id}`,
    submit: ({ status, status_notes }) =>
      setStatus.mutateAsync({ id: finding.id, status, status_notes: orNull(status_notes) }),
    onDone: () => {
      onClose();
      toast('Status changed');
    },
  });
  const follow = useEffectEvent((status: FindingStatus) => form.begin('status', status));
  // Follows a status that another person sets meanwhile: submitting notes alone would otherwise reset it.
  useEffect(() => follow(finding.status), [finding.status]);
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onClose}
      title="Change the status"
      description={finding.title}
      action="Change"
    >
      <Field label="Status" error={form.errors.status}>
        <Select {...form.field('status')} options={optionsOf(findingStates)} />
      </Field>
      <Field label="Notes" error={form.errors.status_notes} optional>
        <Textarea {...form.text('status_notes')} maxLength={lengths.findings.status_notes} />
      </Field>
    </FormDialog>
  );
}
