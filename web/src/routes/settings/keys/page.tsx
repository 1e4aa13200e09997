import { usePrefetchQuery, useQuery } from '@tanstack/react-query';
import { Ban, Ellipsis, KeyRound, Plus, RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { useBrokerage } from '../../../api/me.ts';
import { apiKeysQuery, brokerageQuery, sandboxQuery, useKeyActions } from '../../../api/settings.ts';
import type { ApiKey, ApiKeyCreated, Id, KeyScope } from '../../../api/shapes.ts';
import { Badge, StatePill } from '../../../components/badge.tsx';
import { Button, IconButton } from '../../../components/button.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { Switch } from '../../../components/checkbox.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { EmptyState, Loaded, SkeletonRows, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toastError } from '../../../components/toast.tsx';
import { formatCount } from '../../../lib/format.ts';
import { contactsOnly, keyScopes, keyStates } from '../../../lib/states.ts';
import { KeyDialog, RotateDialog, TokenDialog } from './dialogs.tsx';
import { NoBrokerage } from '../no-brokerage.tsx';
import { SettingsPage } from '../settings-page.tsx';

interface KeyActions {
  brokerageId: Id;
  onRotate: (key: ApiKey) => void;
}

function KeyMenu({ apiKey, brokerageId, onRotate }: KeyActions & { apiKey: ApiKey }) {
  const { revoke } = useKeyActions(brokerageId);
  const confirm = useConfirm();
  return (
    <Menu
      trigger={<IconButton size="sm" label={`Actions for ${apiKey.name}`} icon={<Ellipsis className="size-4.5" />} />}
    >
      <MenuItem icon={<RefreshCw />} onSelect={() => onRotate(apiKey)}>
        Rotate
      </MenuItem>
      <MenuItem
        danger
        icon={<Ban />}
        onSelect={() =>
          confirm(
            {
              title: `Revoke ${apiKey.name}?`,
              body: 'Every program that uses it is refused from the next request on. This cannot be undone.',
              action: 'Revoke key',
              danger: true,
              done: `${apiKey.name} is revoked`,
            },
            () => revoke.mutateAsync(apiKey.id),
          )
        }
      >
        Revoke
      </MenuItem>
    </Menu>
  );
}

/** How a key is shown that has only these of its permissions. */
const limitedKey = (inForce: readonly KeyScope[]) => (inForce.length > 0 ? contactsOnly : keyStates.stopped);

function KeyRow({ apiKey, ...actions }: KeyActions & { apiKey: ApiKey }) {
  const { previous_hint, previous_valid_until, expires_at, last_used_at, ceiling, state, scopes_in_force } = apiKey;
  const holder = apiKey.works_through ?? 'Someone who has left';
  const isLimited = state === 'active' && scopes_in_force !== null && scopes_in_force.length < apiKey.scopes.length;
  return (
    <li className="px-4 py-4 sm:px-5">
      <div className="flex items-start justify-between gap-3">
        <div className="min-w-0">
          <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <span className="min-w-0 font-medium break-words">{apiKey.name}</span>
            <StatePill look={isLimited ? limitedKey(scopes_in_force) : keyStates[state]} />
            {apiKey.environment === 'test' && <Badge>Test</Badge>}
          </p>
          <code className="mt-0.5 block text-sm text-soft">{apiKey.hint}</code>
        </div>
        {(state === 'active' || state === 'stopped') && <KeyMenu apiKey={apiKey} {...actions} />}
      </div>
      <Facts className="mt-3 sm:grid-cols-4">
        <Fact label="Permissions" wide>
          {apiKey.scopes.map((scope) => keyScopes[scope]).join(', ')}
        </Fact>
        <Fact label="Requests per minute">{ceiling === null ? 'The default' : formatCount(ceiling)}</Fact>
        {(state === 'active' || state === 'stopped') && <Fact label="Depends on">{holder}</Fact>}
        <Fact label="Last used">{last_used_at === null ? 'Never' : <Time at={last_used_at} />}</Fact>
        <Fact label={state === 'revoked' ? 'Revoked' : state === 'expired' ? 'Expired' : 'Expires'}>
          {state === 'revoked' && apiKey.revoked_at !== null ? (
            <Time at={apiKey.revoked_at} />
          ) : expires_at === null ? (
            'Never'
          ) : (
            <Time at={expires_at} as="time" className="whitespace-normal!" />
          )}
        </Fact>
      </Facts>
      {state === 'stopped' && (
        <p className="mt-3 text-sm text-bad">
          {holder}, who was last shown its token, has since left the brokerage, is suspended, or lacks the required
          second factor. Rotate it to use it again.
        </p>
      )}
      {isLimited && (
        <p className="mt-3 text-sm text-bad">
          {holder}, who was last shown its token, is no longer an admin, so it{' '}
          {scopes_in_force.length > 0 ? 'reaches contacts only' : 'reaches nothing'}. Rotate it to give it all its
          permissions again.
        </p>
      )}
      <p className="mt-3 text-sm text-faint">
        Created by {apiKey.created_by_name ?? 'someone who has left'} on <Time at={apiKey.created_at} as="date" />
        {state === 'active' && previous_hint !== null && previous_valid_until !== null && (
          <>
            . The previous token, <code>{previous_hint}</code>, works until <Time at={previous_valid_until} as="time" />
          </>
        )}
      </p>
    </li>
  );
}

/** Whether deals opened from now on are open to API keys. */
function NewDeals({ brokerageId }: { brokerageId: Id }) {
  const query = useQuery(brokerageQuery(brokerageId));
  const { admitByDefault } = useKeyActions(brokerageId);
  return (
    <Card title="New deals">
      <Loaded query={query} skeleton={<SkeletonText lines={2} />}>
        {({ admit_keys_by_default: admitted }) => (
          <Switch
            label="Open new deals to API keys"
            hint="Existing deals stay as they are. The broker of each deal can open it to keys, or close it, on its page under People."
            checked={admitByDefault.isPending ? admitByDefault.variables : admitted}
            onChange={(to) => admitByDefault.mutate(to, { onError: toastError })}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** The sandbox of the test keys; it can be reset to its initial data. */
function Sandbox({ brokerageId }: { brokerageId: Id }) {
  const query = useQuery(sandboxQuery(brokerageId));
  const { resetSandbox } = useKeyActions(brokerageId);
  const confirm = useConfirm();
  const reset = () =>
    confirm(
      {
        title: 'Reset the sandbox?',
        body: 'Everything that test keys added or changed is deleted, and the demo data is restored. Your contacts and deals are not affected.',
        action: 'Reset sandbox',
        danger: true,
        done: 'The sandbox is reset',
      },
      () => resetSandbox.mutateAsync(),
    );
  return (
    <Card title="Sandbox">
      <Loaded query={query} skeleton={<SkeletonText lines={2} />}>
        {({ sandbox }) => (
          <div className="flex flex-wrap items-center justify-between gap-3">
            <p className="min-w-0 basis-80 grow text-soft">
              Test keys work on demo data with fictional people, never on your contacts and deals. Nobody in it gets
              e-mail.{' '}
              {sandbox === null ? (
                'It is created with the first test key.'
              ) : (
                <>
                  Last reset <Time at={sandbox.reset_at} />.
                </>
              )}
            </p>
            {sandbox !== null && <Button onClick={reset}>Reset sandbox</Button>}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

type Open = { kind: 'new' } | { kind: 'rotate'; key: ApiKey } | { kind: 'token'; made: ApiKeyCreated } | null;

function Keys({ brokerageId }: { brokerageId: Id }) {
  const query = useQuery(apiKeysQuery(brokerageId));
  usePrefetchQuery(brokerageQuery(brokerageId));
  usePrefetchQuery(sandboxQuery(brokerageId));
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const show = (made: ApiKeyCreated) => setOpen({ kind: 'token', made });
  const create = (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setOpen({ kind: 'new' })}>
      Create key
    </Button>
  );
  return (
    <SettingsPage
      title="API keys"
      description={
        <>
          With a key, a program can reach contacts, and deals that are open to keys, through the{' '}
          <a href="/api/v1/docs" className="text-accent-ink underline underline-offset-3 hover:text-ink">
            REST API
          </a>
          . A key stops working when whoever created it, or last rotated it, leaves the brokerage, until it is rotated.
          Once they are no longer an admin, it reaches contacts only. Each key says on whom it depends.
        </>
      }
      actions={query.data?.items.length !== 0 && create}
    >
      <Card flush>
        <Loaded query={query} skeleton={<SkeletonRows rows={3} height="h-36" />}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState icon={KeyRound} title="No keys yet" action={create}>
                Create one for each program, so that you can revoke it without affecting the others.
              </EmptyState>
            ) : (
              <ul className="divide-y divide-line">
                {items.map((key) => (
                  <KeyRow
                    key={key.id}
                    apiKey={key}
                    brokerageId={brokerageId}
                    onRotate={(rotated) => setOpen({ kind: 'rotate', key: rotated })}
                  />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {/* Shown below the keys once these have their height, so that nothing moves. */}
      {!query.isPending && (
        <>
          <NewDeals brokerageId={brokerageId} />
          <Sandbox brokerageId={brokerageId} />
        </>
      )}
      {open?.kind === 'new' && <KeyDialog brokerageId={brokerageId} onClose={close} onMade={show} />}
      {open?.kind === 'rotate' && (
        <RotateDialog brokerageId={brokerageId} apiKey={open.key} onClose={close} onMade={show} />
      )}
      {open?.kind === 'token' && <TokenDialog made={open.made} onClose={close} />}
    </SettingsPage>
  );
}

/** The settings page “API keys”: for the admins of a brokerage. */
export default function KeysSettings() {
  const brokerage = useBrokerage();
  if (brokerage?.role === 'admin') return <Keys key={brokerage.brokerage_id} brokerageId={brokerage.brokerage_id} />;
  return (
    <SettingsPage title="API keys">
      <NoBrokerage admins={brokerage !== null} />
    </SettingsPage>
  );
}
