import { useQuery } from '@tanstack/react-query';
import { Landmark, Plus } from 'lucide-react';
import { useId, useState } from 'react';
import { financingQuery, useFinancingActions } from '../../api/diligence.ts';
import type { CommitmentStatus, FinancingSource, FinancingSourceType, FinancingStack } from '../../api/types.ts';
import { StatePill } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Input, Select } from '../../components/input.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Money } from '../../components/money.tsx';
import { Notice } from '../../components/notice.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../components/states.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { MoneyField } from '../../components/value-fields.tsx';
import { commitmentStates, financingTypes, optionsOf } from '../../lib/states.ts';
import { required, useForm } from '../../lib/use-form.ts';
import { useDeal } from './context.ts';
import { TabPage } from './tab-page.tsx';

/** The tab “Financing” of a deal: how the purchase is paid for, and how far each source is. */
export default function FinancingTab() {
  const { deal, capacities } = useDeal();
  const [adding, setAdding] = useState(false);
  const query = useQuery(financingQuery(deal.id));
  const add = capacities.can_edit_financing && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
      Add a source
    </Button>
  );
  return (
    <TabPage title="Financing" description="How the purchase is paid for, and how far each source is." actions={add}>
      <Loaded query={query} skeleton={<SkeletonRows rows={4} />}>
        {(stack) =>
          stack.items.length === 0 ? (
            <Card>
              <EmptyState icon={Landmark} title="No sources yet">
                {capacities.can_edit_financing
                  ? 'Add the loan, the seller note, the buyer’s cash: whatever the price is paid from.'
                  : 'The sources that the price is paid from show here.'}
              </EmptyState>
            </Card>
          ) : (
            <Stack stack={stack} />
          )
        }
      </Loaded>
      {adding && <SourceDialog onClose={() => setAdding(false)} />}
    </TabPage>
  );
}

function Stack({ stack: { items, totals } }: { stack: FinancingStack }) {
  return (
    <>
      <dl className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
        {totals.map(({ commitment_status, currency, total }) => (
          <div
            key={`${commitment_status} ${currency}`}
            className="rounded-xl border border-line bg-surface p-4 shadow-1"
          >
            <dt>
              <StatePill look={commitmentStates[commitment_status]} />
            </dt>
            <dd className="mt-2 text-lg font-semibold text-ink">
              <Money amount={total} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
      <Card flush>
        <ul className="divide-y divide-line">
          {items.map((source) => (
            <SourceRow key={source.id} source={source} />
          ))}
        </ul>
      </Card>
    </>
  );
}

function SourceRow({ source }: { source: FinancingSource }) {
  const { move } = useFinancingActions(source.deal_id);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3 sm:px-5">
      <div className="min-w-0 grow">
        <p className="font-medium break-words text-ink">{source.source_name}</p>
        <p className="text-sm text-faint">{financingTypes[source.source_type]}</p>
      </div>
      <Money amount={source.commitment_amount} currency={source.currency} className="font-medium text-ink" />
      <StatePill look={commitmentStates[source.commitment_status]} />
      {source.moves.length > 0 && (
        <Menu
          trigger={
            <Button size="sm" pending={move.isPending}>
              Move<span className="sr-only"> {source.source_name}</span>
            </Button>
          }
        >
          {source.moves.map((status) => (
            <MenuItem
              key={status}
              onSelect={() =>
                move.mutate(
                  { id: source.id, commitment_status: status },
                  {
                    onSuccess: () => toast(`${source.source_name}: ${commitmentStates[status].label.toLowerCase()}`),
                    onError: toastError,
                  },
                )
              }
            >
              {commitmentStates[status].label}
            </MenuItem>
          ))}
        </Menu>
      )}
    </li>
  );
}

interface Values {
  source_type: FinancingSourceType | '';
  source_name: string;
  commitment_amount: string;
  commitment_status: CommitmentStatus;
}

function SourceDialog({ onClose }: { onClose: () => void }) {
  const id = useId();
  const { deal } = useDeal();
  const { add } = useFinancingActions(deal.id);
  const form = useForm<Values, FinancingSource>({
    initial: { source_type: '', source_name: '', commitment_amount: '', commitment_status: 'identified' },
    check: (values) =>
      required(values, {
        source_type: 'Choose what kind of source it is.',
        source_name: 'Say who it comes from.',
        commitment_amount: 'Type the amount.',
      }),
    submit: (values) => add.mutateAsync({ ...values, source_type: values.source_type as FinancingSourceType }),
    onDone: () => {
      onClose();
      toast('Source added');
    },
  });
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Add a source"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} kind="primary" pending={form.pending}>
            Add
          </Button>
        </>
      }
    >
      <form {...form.props} id={id} className="flex flex-col gap-4">
        {form.fault && <Notice tone="bad">{form.fault}</Notice>}
        <Field label="Kind" error={form.errors.source_type}>
          <Select
            {...form.field('source_type')}
            name="source_type"
            placeholder="Choose"
            options={optionsOf(financingTypes)}
          />
        </Field>
        <Field label="From" error={form.errors.source_name}>
          <Input {...form.text('source_name')} maxLength={256} />
        </Field>
        <Field label="Amount" error={form.errors.commitment_amount} hint="In whole units, without cents.">
          <MoneyField {...form.field('commitment_amount')} name="commitment_amount" currency={deal.currency} />
        </Field>
        <Field label="Status" error={form.errors.commitment_status}>
          <Select {...form.field('commitment_status')} name="commitment_status" options={optionsOf(commitmentStates)} />
        </Field>
      </form>
    </Dialog>
  );
}
