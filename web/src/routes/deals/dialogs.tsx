import { useQueries } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDealActions, useOpenDeal } from '../../api/deals.ts';
import { useMe } from '../../api/me.ts';
import { brokersAmong, membersQuery, mostMembers } from '../../api/settings.ts';
import type { Deal, DealInput, Id, Member } from '../../api/shapes.ts';
import { Checkbox } from '../../components/checkbox.tsx';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Input, Select, Textarea } from '../../components/input.tsx';
import { cutHint } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { MoneyField } from '../../components/value-fields.tsx';
import { lengths } from '../../lib/lengths.ts';
import { currencies } from './currencies.ts';
import { readDealsSearch, type DealsSearch } from './search.ts';
import { orNull, required, sendChanges, useForm } from '../../lib/use-form.ts';

interface Values {
  organization_id: string;
  /** The id of the member who runs a new deal; empty for the person who opens it. */
  broker_id: string;
  title: string;
  industry: string;
  location: string;
  summary: string;
  asking_price: string;
  currency: string;
  needs_nda: boolean;
}

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

interface Choice {
  /** The other members who can run a deal. */
  brokers: readonly Member[];
  isCut: string | null;
}

/** Whom the person can choose to run a new deal, by brokerage; undefined until that is known. */
function useBrokers(): ReadonlyMap<Id, Choice> | undefined {
  const { user, memberships } = useMe();
  const own = memberships.filter((one) => one.can_open_deals && one.role === 'admin');
  const found = useQueries({ queries: own.map((one) => membersQuery(one.brokerage_id)) });
  if (found.some(({ data }) => data === undefined)) return undefined;
  return new Map(
    own.map(({ brokerage_id }, at) => {
      const items = found[at]?.data?.items ?? [];
      return [
        brokerage_id,
        { brokers: brokersAmong(items, user.id), isCut: cutHint(items, mostMembers, 'members by name') },
      ];
    }),
  );
}

const brokerIds = (brokers: ReadonlyMap<Id, Choice> | undefined, brokerageId: Id): Id[] =>
  brokers?.get(brokerageId)?.brokers.map(({ user_id }) => user_id) ?? [];

interface BrokerFieldProps {
  choice: Choice;
  field: { name: string; value: string; onChange: (value: string) => void };
  error: string | undefined;
}

/** The choice of who runs a new deal. */
function BrokerField({ choice: { brokers, isCut }, field, error }: BrokerFieldProps) {
  if (brokers.length === 0) return null;
  return (
    <Field
      label="Broker"
      error={error}
      hint={[field.value !== '' && 'They run the deal from the start. As an admin you can join it.', isCut]
        .filter(Boolean)
        .join(' ')}
    >
      <Select
        {...field}
        options={[
          { value: '', label: 'You' },
          ...brokers.map(({ user_id, name }) => ({ value: user_id, label: name })),
        ]}
      />
    </Field>
  );
}

interface DealDialogProps<R> {
  title: string;
  description?: string;
  action: string;
  initial: Values;
  draft: string;
  /** Whether brokerage and broker can be chosen: only for a new deal. */
  choosesBrokerage?: boolean;
  brokers?: ReadonlyMap<Id, Choice> | undefined;
  submit: (values: Values, before: Values) => Promise<R>;
  onDone: (result: R) => unknown;
  onClose: () => void;
}

function DealDialog<R>({
  initial,
  draft,
  choosesBrokerage = false,
  brokers,
  submit,
  onDone,
  ...dialog
}: DealDialogProps<R>) {
  const { memberships } = useMe();
  const brokerages = memberships.filter((membership) => membership.can_open_deals);
  const form = useForm({
    initial,
    draft,
    ...(choosesBrokerage && {
      offered: {
        organization_id: brokerages.map((one) => one.brokerage_id),
        broker_id: brokers && ['', ...[...brokers.keys()].flatMap((id) => brokerIds(brokers, id))],
      },
    }),
    check: (values) => required(values, { title: 'Enter a title.' }),
    about: { not_a_broker: 'broker_id' },
    submit,
    onDone,
  });
  const choice = brokers?.get(form.values.organization_id);
  return (
    <FormDialog form={form} {...dialog}>
      {choosesBrokerage && memberships.length > 1 && (
        <Field label="Brokerage" error={form.errors.organization_id}>
          <Select
            {...form.field('organization_id')}
            onChange={(chosen) => {
              form.set('organization_id', chosen);
              form.set('broker_id', '');
            }}
            options={brokerages.map((one) => ({ value: one.brokerage_id, label: one.brokerage_name }))}
          />
        </Field>
      )}
      {choice && <BrokerField choice={choice} field={form.field('broker_id')} error={form.errors.broker_id} />}
      <Field
        label="Title"
        error={form.errors.title}
        hint="Buyers see it: leave out the company’s name until the NDA is signed."
      >
        <Input {...form.text('title')} maxLength={lengths.deals.title} placeholder="Regional HVAC service company" />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Industry" optional error={form.errors.industry}>
          <Input {...form.text('industry')} maxLength={lengths.deals.industry} />
        </Field>
        <Field label="Location" optional error={form.errors.location}>
          <Input {...form.text('location')} maxLength={lengths.deals.location} />
        </Field>
        <Field label="Asking price" optional error={form.errors.asking_price}>
          <MoneyField {...form.field('asking_price')} currency={form.values.currency} />
        </Field>
        <Field label="Currency" error={form.errors.currency}>
          <Select {...form.field('currency')} options={currencies} />
        </Field>
      </div>
      <Field
        label="Teaser"
        optional
        hint="A short profile that buyers read before they sign an NDA."
        error={form.errors.summary}
      >
        <Textarea {...form.text('summary')} rows={6} maxLength={lengths.deals.summary} />
      </Field>
      <Checkbox
        checked={form.values.needs_nda}
        onChange={(needs) => form.set('needs_nda', needs)}
        label="Buyers need an NDA to see who the seller is"
        hint="Until their NDA is active, they see no one on the seller’s side. If this is off, they see the seller at once; documents under NDA still need one."
      />
    </FormDialog>
  );
}

/** Opens a new deal and navigates to it. */
export function NewDealDialog({ brokerageId, onClose }: { brokerageId: Id; onClose: () => void }) {
  const navigate = useNavigate({ from: '/deals' });
  const openDeal = useOpenDeal();
  const brokers = useBrokers();
  return (
    <DealDialog
      title="New deal"
      description="It starts as a draft, which nobody outside your brokerage sees until you invite them."
      action="Open deal"
      draft="deal/new"
      choosesBrokerage
      brokers={brokers}
      initial={{
        organization_id: brokerageId,
        broker_id: '',
        title: '',
        industry: '',
        location: '',
        summary: '',
        asking_price: '',
        currency: 'USD',
        needs_nda: true,
      }}
      submit={(values) =>
        openDeal.mutateAsync({
          organization_id: values.organization_id,
          broker_id: brokerIds(brokers, values.organization_id).find((id) => id === values.broker_id) ?? null,
          ...toInput(values),
        })
      }
      onDone={async (deal) => {
        // Removes the dialog from the list's address, for a person who goes back to it.
        const search = (before: DealsSearch) => readDealsSearch({ ...before, new: undefined });
        await navigate({ to: '/deals', search, replace: true });
        await navigate({ to: '/deals/$dealId', params: { dealId: deal.id } });
      }}
      onClose={onClose}
    />
  );
}

/** Changes a deal's own fields. */
export function EditDealDialog({ deal, onClose }: { deal: Deal; onClose: () => void }) {
  const { edit } = useDealActions(deal.id);
  return (
    <DealDialog
      title="Edit deal"
      action="Save"
      draft={`deal/${deal.id}`}
      initial={{
        organization_id: deal.organization_id,
        broker_id: '',
        title: deal.title,
        industry: deal.industry ?? '',
        location: deal.location ?? '',
        summary: deal.summary ?? '',
        asking_price: deal.asking_price ?? '',
        currency: deal.currency,
        needs_nda: deal.needs_nda,
      }}
      submit={(values, before) =>
        sendChanges(toInput(before), toInput(values), edit.mutateAsync, ['asking_price', 'currency'])
      }
      onDone={() => {
        toast('Deal saved');
        onClose();
      }}
      onClose={onClose}
    />
  );
}
