import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ndaTemplateQuery, useNdaActions } from '../../../api/ndas.ts';
import type { Instant, Participant } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Select, Textarea } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { Skeleton } from '../../../components/states.tsx';
import { toast } from '../../../components/toast.tsx';
import { DateTimeField } from '../../../components/value-fields.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { orNull, required, useForm } from '../../../lib/use-form.ts';
import { useDeal } from '../context.ts';
import { endOfBusinessIn } from '../../../lib/local-time.ts';

interface SendNdaDialogProps {
  /** Buyers to whom an NDA can be sent now. */
  buyers: readonly Participant[];
  /** The buyer selected at first. */
  buyer: Participant;
  onClose: () => void;
}

interface Values {
  participant_id: string;
  terms: string;
  expires_at: Instant | '';
}

/** Sends an NDA to a buyer; the terms are initially those sent last. */
export function SendNdaDialog({ buyers, buyer, onClose }: SendNdaDialogProps) {
  const { deal } = useDeal();
  // The usual term of two years; the terms say that the agreement ends on this day.
  const [inTwoYears] = useState(() => endOfBusinessIn({ years: 2 }));
  const template = useQuery(ndaTemplateQuery(deal.id));
  const { send } = useNdaActions(deal.id);
  const form = useForm<Values>({
    initial: { participant_id: buyer.id, terms: '', expires_at: inTwoYears },
    draft: `nda/${buyer.id}`,
    offered: { participant_id: buyers.map((one) => one.id) },
    check: (values) => required(values, { participant_id: 'Choose a buyer.', terms: 'Enter the terms.' }),
    submit: ({ expires_at, ...nda }) => send.mutateAsync({ ...nda, expires_at: orNull(expires_at) }),
    onDone: () => {
      toast('The NDA is sent');
      onClose();
    },
  });
  const { begin } = form;
  const filled = useRef(false);
  useEffect(() => {
    if (!template.data || template.isFetching || filled.current) return;
    filled.current = true;
    begin('terms', template.data.terms);
  }, [template.data, template.isFetching, begin]);
  return (
    <FormDialog
      form={form}
      size="lg"
      onClose={onClose}
      title="Send an NDA"
      description={
        buyer.nda_status === 'active'
          ? 'The buyer reads and signs it here. Until they do, the NDA in force stands; then this one replaces it.'
          : 'The buyer reads and signs it here. Once it is signed, documents under NDA open for their side.'
      }
      action="Send NDA"
    >
      {template.error && (
        <Notice tone="warn">The usual terms could not be loaded. Close this and try again, or write your own.</Notice>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Buyer" error={form.errors.participant_id}>
          <Select
            {...form.field('participant_id')}
            options={buyers.map((one) => ({ value: one.id, label: one.name }))}
          />
        </Field>
        <Field
          label="Ends"
          optional
          error={form.errors.expires_at}
          hint="Leave empty to keep it in force until you revoke it."
        >
          <DateTimeField {...form.field('expires_at')} />
        </Field>
      </div>
      {template.isPending ? (
        <Skeleton className="h-80" />
      ) : (
        <Field label="Terms" error={form.errors.terms}>
          <Textarea {...form.text('terms')} rows={14} maxLength={lengths.ndas.terms} className="font-serif" />
        </Field>
      )}
    </FormDialog>
  );
}
