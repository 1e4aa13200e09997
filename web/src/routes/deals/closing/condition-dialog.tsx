import { useConditionActions } from '../../../api/conditions.ts';
import type { ClosingCondition, ConditionInput } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Input, Select } from '../../../components/input.tsx';
import { toast } from '../../../components/toast.tsx';
import { DateField } from '../../../components/value-fields.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { participantRoles } from '../../../lib/states.ts';
import { orNull, required, sendChanges, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';

const nobody = 'nobody';

const toInput = (values: Record<'name' | 'owner_user_id' | 'deadline', string>): ConditionInput => ({
  name: values.name.trim(),
  owner_user_id: values.owner_user_id === nobody ? null : values.owner_user_id,
  deadline: orNull(values.deadline),
});

/** Adds a closing condition, or changes the name, owner and deadline of one. */
export function ConditionDialog({ condition, onClose }: { condition: ClosingCondition | null; onClose: () => void }) {
  const { deal, participants } = useDeal();
  const { add, edit } = useConditionActions(deal.id);
  // The current owner can stay the owner.
  const owners = participants.filter((one) => one.can_own_conditions || one.user_id === condition?.owner_user_id);
  const form = useForm({
    initial: {
      name: condition?.name ?? '',
      owner_user_id: condition?.owner_user_id ?? nobody,
      deadline: condition?.deadline ?? '',
    },
    draft: `condition/${condition?.id ?? `new on ${deal.id}`}`,
    offered: { owner_user_id: [nobody, ...owners.map((one) => one.user_id)] },
    check: (values) => ({
      ...required(values, { name: 'Enter what must be done.' }),
      ...(values.deadline !== '' && values.deadline < '1900' && { deadline: 'Check the year.' }),
    }),
    submit: (values, before): Promise<unknown> =>
      condition
        ? sendChanges(toInput(before), toInput(values), (changes) => edit.mutateAsync({ id: condition.id, ...changes }))
        : add.mutateAsync(toInput(values)),
    onDone: () => {
      toast(condition ? 'Condition saved' : 'Condition added');
      onClose();
    },
  });
  return (
    <FormDialog
      form={form}
      size="sm"
      onClose={onClose}
      title={condition ? 'Edit condition' : 'Add a closing condition'}
      action={condition ? 'Save' : 'Add condition'}
    >
      <Field label="What must be done" error={form.errors.name}>
        <Input
          {...form.text('name')}
          maxLength={lengths.closing_conditions.name}
          placeholder="Landlord consents to the lease assignment"
        />
      </Field>
      <Field
        label="Owner"
        optional
        error={form.errors.owner_user_id}
        hint="Who is responsible and reports progress. Both sides see the name, so you can choose only people the exclusive buyer knows."
      >
        <Select
          {...form.field('owner_user_id')}
          options={[
            { value: nobody, label: 'Unassigned' },
            ...owners.map((one) => ({
              value: one.user_id,
              label: `${one.name} (${participantRoles[one.role].label.toLowerCase()})`,
            })),
          ]}
        />
      </Field>
      <Field label="Deadline" optional error={form.errors.deadline}>
        <DateField {...form.field('deadline')} />
      </Field>
    </FormDialog>
  );
}
