import { ApiError } from '../../../api/client.ts';
import { useOfferActions } from '../../../api/offers.ts';
import type { Offer, OfferInput, OfferPayload } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select, Textarea } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { toast } from '../../../components/toast.tsx';
import { DateField, DateTimeField, MoneyField } from '../../../components/value-fields.tsx';
import { compare, isDecimal } from '../../../lib/decimal.ts';
import { formatMoney } from '../../../lib/format.ts';
import { longestTerms } from '../../../lib/lengths.ts';
import { orNull, required, useForm } from '../../../lib/use-form.ts';
import { useRested } from '../../../lib/use-rested.ts';
import { useDeal } from '../context.ts';
import { currencies } from '../currencies.ts';
import { parts, sumOfParts, type Part } from '../../../components/offers/payload.ts';

interface Values extends Record<Part, string> {
  currency: string;
  purchase_price: string;
  financing_contingency: 'yes' | 'no' | '';
  target_close_date: string;
  expires_at: string;
  terms: string;
}

/**
 * The initial values of the form. Past dates are not copied: a revision sets anew until when it is valid and when to
 * close.
 */
function valuesOf(payload: OfferPayload | undefined, currency: string): Values {
  const contingency = payload?.financing_contingency;
  const ahead = (time: string | null | undefined, lasts = 0) =>
    time && new Date(time).getTime() + lasts > Date.now() ? time : '';
  // As on the server, a day ends when it is over everywhere on earth: at noon UTC of the next day.
  const day = 36 * 3_600_000;
  return {
    currency,
    purchase_price: payload?.purchase_price ?? '',
    cash_at_close: payload?.cash_at_close ?? '',
    seller_note: payload?.seller_note ?? '',
    earnout: payload?.earnout ?? '',
    rollover_equity: payload?.rollover_equity ?? '',
    financing_contingency: contingency === true ? 'yes' : contingency === false ? 'no' : '',
    target_close_date: ahead(payload?.target_close_date, day),
    expires_at: ahead(payload?.expires_at),
    terms: payload?.terms ?? '',
  };
}

/** The request; properties of an earlier revision beyond the form's fields are kept. */
function payloadOf(values: Values, currency: string, before: OfferPayload | undefined): OfferInput {
  const { financing_contingency: contingency } = values;
  return {
    ...before,
    currency,
    purchase_price: values.purchase_price.trim(),
    cash_at_close: orNull(values.cash_at_close),
    seller_note: orNull(values.seller_note),
    earnout: orNull(values.earnout),
    rollover_equity: orNull(values.rollover_equity),
    financing_contingency: contingency === '' ? null : contingency === 'yes',
    target_close_date: orNull(values.target_close_date),
    expires_at: orNull(values.expires_at),
    terms: orNull(values.terms),
  };
}

/**
 * Whether the input equals the revision before it; false after a declined one, which may be submitted again unchanged.
 */
const isSame = (payload: OfferInput, before: Offer | undefined): boolean =>
  before?.declined_at === null &&
  Object.entries(payload).every(([name, value]) => value === (before.payload[name as keyof OfferPayload] ?? null));

/** Moves the server's errors, whose paths begin with `payload.`, to the form's fields. */
function atFields(error: unknown): never {
  if (!(error instanceof ApiError)) throw error;
  const details = error.details.map(({ path, message }) => ({ path: path.replace(/^payload\./, ''), message }));
  throw new ApiError(error.status, { code: error.code, message: error.message, details });
}

/** The difference between the parts' sum and the price, in words; null when they are equal or one is missing. */
function differenceIn(values: Values, currency: string): string | null {
  const total = sumOfParts(values);
  if (total === null || !isDecimal(values.purchase_price) || compare(total, values.purchase_price) === 0) return null;
  return `The parts add up to ${formatMoney(total, currency)}, but the price is ${formatMoney(values.purchase_price, currency)}.`;
}

/** Warns when the parts do not add up to the price; the offer can be submitted all the same. */
function PartsNotice({ values, currency }: { values: Values; currency: string }) {
  const difference = useRested(differenceIn(values, currency));
  return (
    <div role="status" className="empty:-mt-4">
      {difference !== null && <Notice tone="warn">{difference}</Notice>}
    </div>
  );
}

interface OfferDialogProps {
  /** The caller's offer that is revised, if any; `agreed` says whether their terms are accepted. */
  before: Offer | undefined;
  agreed: boolean;
  onClose: () => void;
}

/** Submits an offer, or a revision of an earlier one. */
export function OfferDialog({ before, agreed, onClose }: OfferDialogProps) {
  const { deal } = useDeal();
  const { submit } = useOfferActions(deal.id);
  const earlier = before?.payload.currency ?? deal.currency;
  const choices = [...new Set([deal.currency, earlier])];
  // A draft may hold a currency that can no longer be chosen.
  const currencyOf = (values: Values) => (choices.includes(values.currency) ? values.currency : earlier);
  const form = useForm<Values, Offer>({
    initial: valuesOf(before?.payload, earlier),
    draft: `offer/${deal.id}`,
    check: (values) =>
      isSame(payloadOf(values, currencyOf(values), before?.payload), before)
        ? { purchase_price: 'You have not changed anything yet: change the price or another term.' }
        : required(values, { purchase_price: 'Enter what you offer.' }),
    submit: (values) => submit.mutateAsync(payloadOf(values, currencyOf(values), before?.payload)).catch(atFields),
    onDone: () => {
      toast(
        agreed ? 'Your change is waiting for the broker' : before ? 'Your offer is revised' : 'Your offer is submitted',
      );
      onClose();
    },
  });
  const currency = currencyOf(form.values);
  const money = (name: Part | 'purchase_price') => (
    <MoneyField {...form.field(name)} currency={currency} placeholder="0" />
  );
  return (
    <FormDialog
      form={form}
      size="lg"
      onClose={onClose}
      title={agreed ? 'Propose a change' : before ? 'Revise your offer' : 'Submit an offer'}
      description={
        agreed
          ? 'Your accepted terms stay as accepted. What you submit is a proposal to change them, which the broker accepts or declines.'
          : 'An indication of interest (IOI) or a letter of intent (LOI). The brokers and the seller see it; other buyers do not. Earlier revisions are kept.'
      }
      action={agreed ? 'Propose change' : before ? 'Submit revision' : 'Submit offer'}
    >
      {choices.length > 1 && (
        <Field
          label="Currency"
          error={form.errors['currency']}
          hint={`The deal is in ${deal.currency}, your last revision in ${earlier}. Amounts are not converted.`}
        >
          <Select
            {...form.field('currency')}
            value={currency}
            options={choices.map(
              (code) => currencies.find(({ value }) => value === code) ?? { value: code, label: code },
            )}
          />
        </Field>
      )}
      <Field
        label="Price"
        error={form.errors.purchase_price}
        {...(deal.asking_price && { hint: `Asking price: ${formatMoney(deal.asking_price, deal.currency)}` })}
      >
        {money('purchase_price')}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        {parts.map(({ key, label, hint }) => (
          <Field key={key} label={label} optional error={form.errors[key]} hint={hint}>
            {money(key)}
          </Field>
        ))}
      </div>
      <PartsNotice values={form.values} currency={currency} />
      <div className="grid gap-4 sm:grid-cols-3">
        <Field label="Financing contingency" optional error={form.errors.financing_contingency}>
          <Select
            {...form.field('financing_contingency')}
            options={[
              { value: '', label: 'Not stated' },
              { value: 'no', label: 'No' },
              { value: 'yes', label: 'Yes' },
            ]}
          />
        </Field>
        <Field label="Target closing" optional error={form.errors.target_close_date}>
          <DateField {...form.field('target_close_date')} />
        </Field>
        <Field label="Valid until" optional error={form.errors.expires_at}>
          <DateTimeField {...form.field('expires_at')} />
        </Field>
      </div>
      <Field label="Terms" optional error={form.errors.terms}>
        <Textarea
          {...form.text('terms')}
          maxLength={longestTerms}
          placeholder="Contingencies, transition, what is included"
        />
      </Field>
    </FormDialog>
  );
}
