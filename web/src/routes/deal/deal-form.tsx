import { useNavigate } from '@tanstack/react-router';
import { useId } from 'react';
import { useDealActions, useOpenDeal } from '../../api/deals.ts';
import { useBrokerage, useMe } from '../../api/me.ts';
import type { Deal, DealInput } from '../../api/types.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { CancelButton, Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Input, Select, Textarea } from '../../components/input.tsx';
import { Notice } from '../../components/notice.tsx';
import { toast } from '../../components/toast.tsx';
import { MoneyField } from '../../components/value-fields.tsx';
import { currencies } from '../../lib/currencies.ts';
import { required, useForm } from '../../lib/use-form.ts';

interface Values {
  organization_id: string;
  title: string;
  industry: string;
  location: string;
  summary: string;
  asking_price: string;
  currency: string;
  needs_nda: boolean;
}

const orNull = (text: string) => (text.trim() === '' ? null : text.trim());

function toInput(values: Values): DealInput {
  return {
    title: values.title.trim(),
    industry: orNull(values.industry),
    location: orNull(values.location),
    summary: orNull(values.summary),
    asking_price: orNull(values.asking_price),
    currency: values.currency,
    needs_nda: values.needs_nda,
  };
}

interface FormProps {
  initial: Values;
  draft: string;
  /** Shows which brokerage the deal belongs to; only a new one can still choose. */
  choosesBrokerage: boolean;
  action: string;
  submit: (values: Values) => Promise<Deal>;
  onDone: (deal: Deal) => unknown;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: string;
}

function DealDialog({
  initial,
  draft,
  choosesBrokerage,
  action,
  submit,
  onDone,
  onOpenChange,
  title,
  description,
}: FormProps) {
  const id = useId();
  const { memberships } = useMe();
  const brokerages = memberships.filter(({ role }) => role !== 'staff');
  const form = useForm({
    initial,
    draft,
    check: (values) => required(values, { title: 'Enter a title.' }),
    submit,
    onDone,
  });
  return (
    <Dialog
      open
      onOpenChange={onOpenChange}
      title={title}
      {...(description && { description })}
      footer={
        <>
          <CancelButton />
          <Button type="submit" form={id} kind="primary" pending={form.pending}>
            {action}
          </Button>
        </>
      }
    >
      <form {...form.props} id={id} className="flex flex-col gap-4">
        {form.fault && <Notice tone="bad">{form.fault}</Notice>}
        {choosesBrokerage && brokerages.length > 1 && (
          <Field label="Brokerage" error={form.errors.organization_id}>
            <Select
              {...form.field('organization_id')}
              name="organization_id"
              options={brokerages.map((one) => ({ value: one.brokerage_id, label: one.brokerage_name }))}
            />
          </Field>
        )}
        <Field
          label="Title"
          error={form.errors.title}
          hint="Buyers see it: leave the company's name out until the NDA is signed."
        >
          <Input {...form.text('title')} maxLength={200} placeholder="Regional HVAC service company" />
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Industry" optional error={form.errors.industry}>
            <Input {...form.text('industry')} maxLength={120} />
          </Field>
          <Field label="Location" optional error={form.errors.location}>
            <Input {...form.text('location')} maxLength={120} />
          </Field>
          <Field label="Asking price" optional error={form.errors.asking_price}>
            <MoneyField {...form.field('asking_price')} name="asking_price" currency={form.values.currency} />
          </Field>
          <Field label="Currency" error={form.errors.currency}>
            <Select {...form.field('currency')} name="currency" options={currencies} />
          </Field>
        </div>
        <Field
          label="Teaser"
          optional
          hint="A short profile that buyers read before they sign an NDA."
          error={form.errors.summary}
        >
          <Textarea {...form.text('summary')} rows={6} maxLength={8000} />
        </Field>
        <Checkbox
          checked={form.values.needs_nda}
          onChange={(needs) => form.set('needs_nda', needs)}
          label="Buyers need an NDA to learn who sells"
          hint="Until theirs is active they see no one of the seller’s side. Without this they see the seller at once; documents under an NDA still wait for it."
        />
      </form>
    </Dialog>
  );
}

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Opens a new deal, and goes there. */
export function NewDealDialog({ open, onOpenChange }: DialogProps) {
  const navigate = useNavigate();
  const brokerage = useBrokerage();
  const openDeal = useOpenDeal();
  if (!open || !brokerage) return null;
  const initial = {
    title: '',
    industry: '',
    location: '',
    summary: '',
    asking_price: '',
    currency: 'USD',
    needs_nda: true,
  };
  return (
    <DealDialog
      title="New deal"
      description="It starts as a draft that only you and those you invite see."
      action="Open deal"
      draft="deal/new"
      choosesBrokerage
      initial={{ organization_id: brokerage.brokerage_id, ...initial }}
      submit={(values) => openDeal.mutateAsync({ organization_id: values.organization_id, ...toInput(values) })}
      onDone={(deal) => navigate({ to: '/deals/$dealId', params: { dealId: deal.id } })}
      onOpenChange={onOpenChange}
    />
  );
}

/** Changes what a deal says of itself. */
export function EditDealDialog({ deal, open, onOpenChange }: DialogProps & { deal: Deal }) {
  const { edit } = useDealActions(deal.id);
  if (!open) return null;
  return (
    <DealDialog
      title="Edit deal"
      action="Save"
      draft={`deal/${deal.id}`}
      choosesBrokerage={false}
      initial={{
        organization_id: deal.organization_id,
        title: deal.title,
        industry: deal.industry ?? '',
        location: deal.location ?? '',
        summary: deal.summary ?? '',
        asking_price: deal.asking_price ?? '',
        currency: deal.currency,
        needs_nda: deal.needs_nda,
      }}
      submit={(values) => edit.mutateAsync(toInput(values))}
      onDone={() => {
        toast('Saved.');
        onOpenChange(false);
      }}
      onOpenChange={onOpenChange}
    />
  );
}
