import { HeartHandshake } from 'lucide-react';
import { useState } from 'react';
import { useDealActions } from '../../api/deals.ts';
import { useMe } from '../../api/me.ts';
import type { DealPage, DealState, Instant, Participant } from '../../api/shapes.ts';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm-dialog.tsx';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Countdown } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { DateTimeField } from '../../components/value-fields.tsx';
import { formatTime } from '../../lib/format.ts';
import { endOfBusinessIn } from '../../lib/local-time.ts';
import { dealStates } from '../../lib/states.ts';
import { required, useForm } from '../../lib/use-form.ts';
import { useIsOver } from '../../lib/use-is-over.ts';

interface UntilDialogProps {
  /** The key under which the date is kept as a draft until it is submitted. */
  draft: string;
  title: string;
  description: string;
  action: string;
  initial: Instant;
  submit: (until: Instant) => Promise<unknown>;
  onClose: () => void;
  done: string;
}

/** Asks for the end of a buyer's exclusivity. */
export function UntilDialog({ draft, title, description, action, initial, submit, onClose, done }: UntilDialogProps) {
  const form = useForm({
    initial: { expires_at: initial },
    draft,
    check: (values) => required(values, { expires_at: 'Choose a day and time.' }),
    submit: ({ expires_at }) => submit(expires_at),
    onDone: () => {
      toast(done);
      onClose();
    },
  });
  return (
    <FormDialog form={form} size="sm" onClose={onClose} title={title} description={description} action={action}>
      <Field label="Exclusive until" error={form.errors.expires_at} hint="In your time zone.">
        <DateTimeField {...form.field('expires_at')} />
      </Field>
    </FormDialog>
  );
}

// From diligence on a deal cannot move back: granting or releasing exclusivity does not change its stage.
const isUnderWay = (state: DealState): boolean => state === 'diligence' || state === 'closing';
const staysIn = (state: DealState): string => `stays in ${dealStates[state].label.toLowerCase()}`;

interface GrantDialogProps {
  page: DealPage;
  buyer: Participant;
  onClose: () => void;
}

/** Grants a buyer exclusivity until a date; before diligence this moves the deal to the exclusivity stage. */
export function GrantExclusivityDialog({ page: { deal }, buyer, onClose }: GrantDialogProps) {
  const { grantExclusivity } = useDealActions(deal.id);
  return (
    <UntilDialog
      draft={`exclusivity/${buyer.id}`}
      title={`Exclusivity for ${buyer.name}`}
      description={`The deal ${isUnderWay(deal.state) ? staysIn(deal.state) : 'moves to exclusivity'}. Other buyers see that it is under offer, and nothing more.`}
      action="Grant exclusivity"
      initial={endOfBusinessIn({ days: 45 })}
      submit={(expires_at) => grantExclusivity.mutateAsync({ participant_id: buyer.id, expires_at })}
      done={`${buyer.name} has exclusivity`}
      onClose={onClose}
    />
  );
}

/**
 * Whether the deal's exclusive buyer holds exclusivity now: from diligence on, they remain the selected buyer after it
 * has ended.
 */
export const useIsHeld = (deal: DealPage['deal']): boolean => {
  const isOver = useIsOver(deal.exclusivity_expires_at);
  return deal.exclusive_buyer_user_id !== null && !isOver;
};

/** Shows who holds exclusivity and until when, with a broker's actions on it. */
export function ExclusivityBanner({ page }: { page: DealPage }) {
  const { deal, capacities, participants } = page;
  const { user } = useMe();
  const [extending, setExtending] = useState(false);
  const confirm = useConfirm();
  const { extendExclusivity, releaseExclusivity } = useDealActions(deal.id);
  const until = deal.exclusivity_expires_at;
  const over = useIsOver(until);
  if (!until || deal.state === 'closed' || deal.state === 'withdrawn') return null;
  const buyer = participants.find((one) => one.user_id === deal.exclusive_buyer_user_id);
  const mine = deal.exclusive_buyer_user_id === user.id;
  const holder = mine ? 'You hold' : `${buyer?.name ?? 'The exclusive buyer'} holds`;
  const whose = mine ? 'Your exclusivity' : `The exclusivity of ${buyer?.name ?? 'the exclusive buyer'}`;
  const release = () =>
    confirm(
      {
        title: 'Release exclusivity?',
        body: `The buyer loses access to what only the exclusive buyer sees. The deal ${isUnderWay(deal.state) ? `${staysIn(deal.state)} and cannot be listed again` : 'is listed again'}.`,
        action: 'Release',
        danger: true,
        done: 'Exclusivity released',
      },
      () => releaseExclusivity.mutateAsync(),
    );
  return (
    <Banner
      label="Exclusivity"
      icon={HeartHandshake}
      tone="rare"
      says={
        over ? (
          <>
            <span className="font-medium text-ink">{whose} ended</span> {formatTime(until)}.
            {isUnderWay(deal.state) &&
              ` Documents for the exclusive buyer are closed to ${mine ? 'you' : 'them'} until the date is changed.`}
          </>
        ) : (
          <>
            <span className="font-medium text-ink">{holder} exclusivity</span> until {formatTime(until)}
          </>
        )
      }
    >
      {!over && <Countdown until={until} className="text-md" />}
      {capacities.can_grant_exclusivity && (
        <div className="flex flex-wrap gap-2">
          <Button size="sm" onClick={() => setExtending(true)}>
            Change date
          </Button>
          <Button size="sm" kind="quiet" onClick={release}>
            Release
          </Button>
        </div>
      )}
      {extending && (
        <UntilDialog
          draft={`exclusivity-end/${deal.id}`}
          title="Change the end of exclusivity"
          description="The buyer and the seller see the new date at once."
          action="Save"
          initial={until}
          submit={(expires_at) => extendExclusivity.mutateAsync(expires_at)}
          done="The new date is saved"
          onClose={() => setExtending(false)}
        />
      )}
    </Banner>
  );
}
