import { useQuery } from '@tanstack/react-query';
import { dealsRunQuery, useMemberActions } from '../../../api/settings.ts';
import type { Id, Member } from '../../../api/shapes.ts';
import { Checkbox } from '../../../components/checkbox.tsx';
import { Field, FieldGroup } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select } from '../../../components/input.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { toast } from '../../../components/toast.tsx';
import { formatCount } from '../../../lib/format.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { SuccessorField } from './successor.tsx';

interface HandOverDialogProps {
  brokerageId: Id;
  member: Member;
  onClose: () => void;
}

/** Makes another member a broker of deals that this member runs, for example while the member is ill. */
export function HandOverDialog({ brokerageId, member, onClose }: HandOverDialogProps) {
  const { handOver } = useMemberActions(brokerageId);
  const deals = useQuery(dealsRunQuery(brokerageId, member.user_id));
  const form = useForm({
    initial: { successor_id: '', all: 'all' as 'all' | 'chosen', deal_ids: [] as Id[], leaves: 'no' as 'no' | 'yes' },
    draft: null,
    check: ({ all, deal_ids, ...values }) => ({
      ...required(values, { successor_id: 'Choose the new broker.' }),
      ...(all === 'chosen' && deal_ids.length === 0 && { deal_ids: 'Choose at least one deal.' }),
    }),
    submit: ({ successor_id, all, deal_ids, leaves }) =>
      handOver.mutateAsync({
        user_id: member.user_id,
        successor_id,
        deal_ids: all === 'chosen' ? deal_ids : null,
        leaves: leaves === 'yes',
      }),
    onDone: ({ count }) => {
      onClose();
      toast(count === 1 ? 'One deal is handed over' : `${formatCount(count)} deals are handed over`);
    },
  });
  const { all, deal_ids } = form.values;
  return (
    <FormDialog
      form={form}
      title={`Hand over ${member.name}’s deals`}
      action="Hand over"
      ready={(deals.data?.count ?? 0) > 0}
      onClose={onClose}
    >
      <Loaded query={deals} skeleton={<SkeletonText lines={4} />}>
        {({ items, count }) =>
          count === 0 ? (
            <p className="text-soft">{member.name} runs no open deal.</p>
          ) : (
            <>
              <SuccessorField
                brokerageId={brokerageId}
                member={member}
                field={form.field('successor_id')}
                error={form.errors.successor_id}
                hint="They run the deals as soon as you confirm, without an invitation."
              />
              <Field label="Deals">
                <Select
                  {...form.field('all')}
                  options={[
                    {
                      value: 'all',
                      label: count === 1 ? 'The open deal they run' : `All ${formatCount(count)} open deals they run`,
                    },
                    { value: 'chosen', label: 'Chosen deals' },
                  ]}
                />
              </Field>
              {all === 'chosen' && (
                <FieldGroup
                  legend="Chosen deals"
                  hint={items.length < count ? `The newest ${formatCount(items.length)} are listed.` : undefined}
                  error={form.errors.deal_ids}
                >
                  <div className="flex flex-col gap-2.5">
                    {items.map(({ id, title, alone }) => (
                      <Checkbox
                        key={id}
                        label={<span className="break-words">{title}</span>}
                        hint={alone ? 'No other member runs it.' : undefined}
                        checked={deal_ids.includes(id)}
                        onChange={(on) =>
                          form.set('deal_ids', on ? [...deal_ids, id] : deal_ids.filter((one) => one !== id))
                        }
                      />
                    ))}
                  </div>
                </FieldGroup>
              )}
              <Field
                label={`${member.name} afterwards`}
                hint={
                  form.values.leaves === 'yes'
                    ? 'They and their advisors lose access to these deals at once.'
                    : 'Both run the deals.'
                }
              >
                <Select
                  {...form.field('leaves')}
                  options={[
                    { value: 'no', label: 'Stays a broker of these deals' },
                    { value: 'yes', label: 'Leaves these deals' },
                  ]}
                />
              </Field>
            </>
          )
        }
      </Loaded>
    </FormDialog>
  );
}
