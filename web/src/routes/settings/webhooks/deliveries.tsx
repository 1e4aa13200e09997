/** The log of a webhook's deliveries: requests and responses. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronRight, History, Inbox, Send } from 'lucide-react';
import { useId, useState } from 'react';
import { useWebhookActions, webhookDeliveriesQuery } from '../../../api/settings.ts';
import type { Webhook, WebhookDelivery } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Fact, Facts } from '../../../components/card.tsx';
import { Drawer } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { EmptyState, SkeletonRows } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { eventWords } from '../../../lib/event-types.ts';
import { formatBytes, formatCount, formatExactly, plural } from '../../../lib/format.ts';
import { lifetimes } from '../../../lib/lifetimes.ts';
import { optionsOf, webhookDeliveryStates } from '../../../lib/states.ts';
import { AgainDialog, nameOf } from './dialogs.tsx';

/** The last request and response of a delivery, and a button to send it again. */
function Details({ webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery }) {
  const { redeliver } = useWebhookActions();
  const again = () =>
    redeliver.mutate(
      { id: webhook.id, delivery_id: delivery.id },
      { onError: toastError, onSuccess: () => toast('The delivery will be sent again') },
    );
  const { sent_to, sent_bytes, status, answer, answer_type, millis, error, attempts, last_attempt_at } = delivery;
  return (
    <div className="flex flex-col gap-4 rounded-lg bg-sunken px-4 py-3.5">
      <Facts>
        <Fact label="Attempts">{formatCount(attempts)}</Fact>
        {last_attempt_at !== null && (
          <Fact label="Last attempt">
            <Time at={last_attempt_at} as="time" />
          </Fact>
        )}
        {delivery.next_attempt_at !== null && (
          <Fact label="Next attempt">
            <Time at={delivery.next_attempt_at} />
          </Fact>
        )}
        {delivery.state === 'waiting' && delivery.next_attempt_at === null && (
          <Fact label="Next attempt">After an earlier delivery for the same record</Fact>
        )}
        {delivery.state === 'dropped' && (
          <Fact label="Why" wide>
            The key could no longer read the record.
          </Fact>
        )}
        {sent_to !== null && (
          <Fact label="Request" wide>
            <code className="text-sm break-all">POST {sent_to}</code>
            {sent_bytes !== null && <span className="text-soft">, {formatBytes(sent_bytes)}</span>}
          </Fact>
        )}
        {status !== null && (
          <Fact label="Response" wide>
            <code className="text-sm">{status}</code>
            <span className="text-soft">
              {answer_type !== null && `, ${answer_type}`}
              {millis !== null && `, in ${formatCount(millis)} ms`}
            </span>
          </Fact>
        )}
        {answer !== null && answer !== '' && (
          <Fact label="Response body" wide>
            <pre className="rounded-md border border-line bg-surface p-3 text-sm break-all whitespace-pre-wrap">
              {answer}
            </pre>
          </Fact>
        )}
        {error !== null && delivery.state !== 'dropped' && (
          <Fact label="Error" wide>
            {error}
          </Fact>
        )}
        <Fact label="Record" wide>
          <code className="text-sm break-all">{delivery.object_id}</code>
        </Fact>
      </Facts>
      {delivery.state !== 'waiting' && (
        <div>
          <Button
            size="sm"
            icon={<Send className="size-4" />}
            pending={redeliver.isPending}
            onClick={again}
            aria-label={`Send again: ${eventWords(delivery.type)}`}
          >
            Send again
          </Button>
        </div>
      )}
    </div>
  );
}

function DeliveryRow({ webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const Arrow = open ? ChevronDown : ChevronRight;
  return (
    <li className="py-1">
      <button
        type="button"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
        className="flex w-full items-center gap-2.5 rounded-md px-1.5 py-2 text-left hover:bg-hover"
      >
        <Arrow className="size-4 shrink-0 text-faint" aria-hidden />
        <span className="min-w-0 flex-1">
          <span className="block truncate text-ink">{eventWords(delivery.type)}</span>
          <span className="block text-sm text-faint">
            <Time at={delivery.created_at} />
            {delivery.is_again && ', sent again'}
          </span>
        </span>
        {delivery.status !== null && delivery.state !== 'delivered' && (
          <Badge tone="bad">{String(delivery.status)}</Badge>
        )}
        <StatePill look={webhookDeliveryStates[delivery.state]} />
      </button>
      {open && (
        <div id={id} className="pt-1 pb-2">
          <Details webhook={webhook} delivery={delivery} />
        </div>
      )}
    </li>
  );
}

type Shown = WebhookDelivery['state'] | 'any';
const choices = optionsOf<Shown>({ any: 'All', ...webhookDeliveryStates });

/** The deliveries of a webhook, newest first. */
export function DeliveriesDrawer({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [shown, setShown] = useState<Shown>('any');
  const [again, setAgain] = useState(false);
  const state = shown === 'any' ? null : shown;
  const query = useInfiniteQuery({ ...webhookDeliveriesQuery(webhook.id, state), placeholderData: keepPreviousData });
  return (
    <Drawer
      onClose={onClose}
      title={`Deliveries to ${nameOf(webhook)}`}
      description={`What was sent in the last ${lifetimes.delivery}. The contents of records are not kept.`}
    >
      <div className="mb-3 flex flex-wrap items-end justify-between gap-3">
        <Field label="Status" className="w-44">
          <Select value={shown} onChange={setShown} options={choices} />
        </Field>
        <Button icon={<History className="size-4" />} onClick={() => setAgain(true)}>
          Resend several
        </Button>
      </div>
      <PagedList
        query={query}
        filter={{ state }}
        skeleton={<SkeletonRows rows={6} />}
        empty={
          <EmptyState icon={Inbox} title="No deliveries">
            {shown === 'any'
              ? 'Changes that its key may read are listed here. A test event shows at once whether it arrives.'
              : 'No delivery has this status.'}
          </EmptyState>
        }
      >
        {(deliveries) => (
          <ul className="divide-y divide-line">
            {deliveries.map((delivery) => (
              <DeliveryRow key={delivery.id} webhook={webhook} delivery={delivery} />
            ))}
          </ul>
        )}
      </PagedList>
      {again && (
        <AgainDialog
          webhook={webhook}
          onClose={() => setAgain(false)}
          onSent={({ deliveries, next_since }) => {
            // When more deliveries are left, the dialog stays open and its period begins where this one ended.
            if (next_since === null) setAgain(false);
            toast(
              deliveries === 0
                ? 'There was nothing to send again'
                : `${plural(deliveries, 'delivery', 'deliveries')} sent again${next_since ? `. There are more, from ${formatExactly(next_since)}: send again` : ''}`,
            );
          }}
        />
      )}
    </Drawer>
  );
}
