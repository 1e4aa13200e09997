import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Ellipsis, FlaskConical, Pencil, Plus, RefreshCw, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { useBrokerage } from '../../../api/me.ts';
import { useWebhookActions, webhooksQuery } from '../../../api/settings.ts';
import type { Id, Webhook, WebhookSecret } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button, IconButton } from '../../../components/button.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { EmptyState, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { chosenWords } from '../../../lib/event-types.ts';
import { formatCount, formatWaiting } from '../../../lib/format.ts';
import { lifetimes } from '../../../lib/lifetimes.ts';
import { webhookStates } from '../../../lib/states.ts';
import { paths } from '../../../paths.ts';
import { NoBrokerage } from '../no-brokerage.tsx';
import { SettingsPage } from '../settings-page.tsx';
import { TurnOffOrDelete } from '../turn-off-or-delete.tsx';
import { DeliveriesDrawer } from './deliveries.tsx';
import { AddDialog, EditDialog, nameOf, NewSecretDialog, RenewSecretDialog } from './dialogs.tsx';

type Open =
  | { kind: 'add' }
  | { kind: 'edit' | 'renew' | 'deliveries'; webhook: Webhook }
  | { kind: 'secret'; made: WebhookSecret };

interface RowProps {
  webhook: Webhook;
  onOpen: (open: Open) => void;
}

function WebhookMenu({ webhook, onOpen }: RowProps) {
  const { change, remove, test } = useWebhookActions();
  const { id, state } = webhook;
  const name = nameOf(webhook);
  return (
    <Menu trigger={<IconButton size="sm" label={`Actions for ${name}`} icon={<Ellipsis className="size-4.5" />} />}>
      <MenuItem
        icon={<FlaskConical />}
        disabled={state === 'off'}
        onSelect={() =>
          test.mutate(id, {
            onError: toastError,
            onSuccess: () => {
              toast('A test event is on its way');
              onOpen({ kind: 'deliveries', webhook });
            },
          })
        }
      >
        Send test event
      </MenuItem>
      <MenuItem icon={<Pencil />} onSelect={() => onOpen({ kind: 'edit', webhook })}>
        Edit
      </MenuItem>
      <MenuItem icon={<RefreshCw />} onSelect={() => onOpen({ kind: 'renew', webhook })}>
        Rotate secret
      </MenuItem>
      <TurnOffOrDelete
        name={name}
        kind="webhook"
        isOff={state === 'off'}
        whenOff={`Nothing is sent until you turn it on again. Changes in the meantime are kept for ${lifetimes.change} and sent then.`}
        whenDeleted="Nothing more is sent there, and the log of its deliveries is deleted."
        turn={(on) => change.mutateAsync({ id, state: on ? 'on' : 'off' })}
        remove={() => remove.mutateAsync(id)}
      />
    </Menu>
  );
}

function WebhookRow({ webhook, onOpen }: RowProps) {
  const { url, state, off_reason, off_since, waiting, failing, oldest_at, succeeded_at } = webhook;
  const dependsOn = [...new Set([webhook.set_up_by, webhook.key_works_through])].filter((name) => name !== null);
  return (
    <li className="px-4 py-4 sm:px-5">
      <div className="flex items-start justify-between gap-3">
        <div className="min-w-0">
          <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <span className="min-w-0 font-medium break-words">{nameOf(webhook)}</span>
            <StatePill look={webhookStates[state === 'on' ? 'on' : (off_reason ?? 'asked')]} />
            {webhook.environment === 'test' && <Badge>Test</Badge>}
          </p>
          <code className="mt-0.5 block text-sm break-all text-soft">{url}</code>
        </div>
        <WebhookMenu webhook={webhook} onOpen={onOpen} />
      </div>
      <Facts className="mt-3 sm:grid-cols-4">
        <Fact label="Sends" wide>
          {chosenWords(webhook.types)}
        </Fact>
        <Fact label="Uses the permissions of">
          {webhook.key_name}
          {!webhook.is_key_in_force && (
            <Badge tone="bad" className="ml-2">
              Key no longer active
            </Badge>
          )}
        </Fact>
        <Fact label="Depends on">{dependsOn.length > 0 ? dependsOn.join(', ') : 'Someone who has left'}</Fact>
        <Fact label="Last delivered">{succeeded_at === null ? 'Never' : <Time at={succeeded_at} />}</Fact>
        <Fact label="Waiting">
          {formatWaiting(waiting)}
          {failing > 0 && `, ${formatCount(failing)} failed so far`}
          {oldest_at !== null && (
            <span className="block text-sm text-faint">
              the oldest <Time at={oldest_at} />
            </span>
          )}
        </Fact>
      </Facts>
      {!webhook.is_key_in_force && (
        <p className="mt-3 text-sm text-bad">
          Nothing is sent: its key is no longer active. Add the webhook again with an active key.
        </p>
      )}
      {off_reason === 'failing' && off_since !== null && (
        <p className="mt-3 text-sm text-bad">
          Nothing was accepted for {lifetimes.failingWebhook}, so it was turned off <Time at={off_since} />. Once turned
          on again, it continues where it stopped.
        </p>
      )}
      {(off_reason === 'admin_gone' || off_reason === 'key_rotated') && off_since !== null && (
        <p className="mt-3 text-sm text-bad">
          {off_reason === 'admin_gone'
            ? 'The admin who last set it up, or was shown a token of its key, left, is no longer an admin, was suspended, or had their account reset,'
            : 'The key that last set it up was rotated,'}{' '}
          so it was turned off <Time at={off_since} />. Check its address before you turn it on again: it continues
          where it stopped.
        </p>
      )}
      <div className="mt-3">
        <Button
          size="sm"
          aria-label={`Deliveries to ${nameOf(webhook)}`}
          onClick={() => onOpen({ kind: 'deliveries', webhook })}
        >
          Deliveries
        </Button>
      </div>
    </li>
  );
}

function Webhooks({ brokerageId }: { brokerageId: Id }) {
  const query = useQuery({ ...webhooksQuery(brokerageId), refetchInterval: 60_000 });
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const show = (made: WebhookSecret) => setOpen({ kind: 'secret', made });
  const add = (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setOpen({ kind: 'add' })}>
      Add webhook
    </Button>
  );
  return (
    <SettingsPage
      title="Webhooks"
      description={
        <>
          Other systems are notified of changes at once, with the permissions of an{' '}
          <Link to={paths.keys} className="text-accent-ink underline underline-offset-3 hover:text-ink">
            API key
          </Link>
          . How a receiver checks deliveries is in the{' '}
          <a href="/api/v1/docs" className="text-accent-ink underline underline-offset-3 hover:text-ink">
            reference
          </a>
          .
        </>
      }
      actions={query.data?.items.length !== 0 && add}
    >
      <Card flush>
        <Loaded query={query} skeleton={<SkeletonRows rows={2} height="h-40" />}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState icon={WebhookIcon} title="No webhooks yet" action={add}>
                Add one for each system that should receive changes. Webhooks that programs add through the REST API are
                listed here too.
              </EmptyState>
            ) : (
              <ul className="divide-y divide-line">
                {items.map((webhook) => (
                  <WebhookRow key={webhook.id} webhook={webhook} onOpen={setOpen} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {open?.kind === 'add' && <AddDialog brokerageId={brokerageId} onClose={close} onMade={show} />}
      {open?.kind === 'edit' && <EditDialog webhook={open.webhook} onClose={close} />}
      {open?.kind === 'renew' && <RenewSecretDialog webhook={open.webhook} onClose={close} onMade={show} />}
      {open?.kind === 'deliveries' && <DeliveriesDrawer webhook={open.webhook} onClose={close} />}
      {open?.kind === 'secret' && <NewSecretDialog made={open.made} onClose={close} />}
    </SettingsPage>
  );
}

/** The settings page “Webhooks”: for the admins of a brokerage. */
export default function WebhooksSettings() {
  const brokerage = useBrokerage();
  if (brokerage?.role === 'admin')
    return <Webhooks key={brokerage.brokerage_id} brokerageId={brokerage.brokerage_id} />;
  return (
    <SettingsPage title="Webhooks">
      <NoBrokerage admins={brokerage !== null} />
    </SettingsPage>
  );
}
