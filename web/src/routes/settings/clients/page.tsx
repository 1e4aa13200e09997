import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plug, Plus } from 'lucide-react';
import { useState } from 'react';
import { clientsQuery, mostClients } from '../../../api/settings.ts';
import type { Client, Clients } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card, Fact, Facts } from '../../../components/card.tsx';
import { CopyField } from '../../../components/copy-field.tsx';
import { Field } from '../../../components/field.tsx';
import { CutNote, EmptyState, Loaded, SkeletonCard } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { clientScopes } from '../../../lib/states.ts';
import { ClientDialog, RegisteredDialog } from './dialogs.tsx';
import { SettingsPage } from '../settings-page.tsx';
import { ClientMenu, type ClientMenuProps } from './menu.tsx';

function ClientRow({ client, onEdit }: ClientMenuProps) {
  const hasMenu = client.can_manage || client.connected_at !== null;
  return (
    <li className="px-4 py-4 sm:px-5">
      <div className="flex items-start justify-between gap-3">
        <p className="flex min-w-0 flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="font-medium break-words">{client.name}</span>
          {client.disabled ? (
            <Badge tone="bad">Turned off</Badge>
          ) : client.refused ? (
            <Badge tone="bad">Refused</Badge>
          ) : client.connected_at === null ? (
            <Badge>Not connected</Badge>
          ) : (
            <Badge tone="good">Connected</Badge>
          )}
          {client.metadata_url !== null && <Badge tone="info">From {new URL(client.metadata_url).hostname}</Badge>}
          {client.brokerage_name !== null && <Badge tone="info">Shared with {client.brokerage_name}</Badge>}
        </p>
        {hasMenu && <ClientMenu client={client} onEdit={onEdit} />}
      </div>
      {client.refused && (
        <p className="mt-2 text-sm text-soft">
          The operator of this service has blocked this client. Your consent is kept: it works again once the operator
          unblocks it.
        </p>
      )}
      <Field
        label={
          <>
            client_id<span className="sr-only"> of {client.name}</span>
          </>
        }
        className="mt-3 max-w-lg"
      >
        <CopyField value={client.client_id} label={`client_id of ${client.name}`} />
      </Field>
      <Facts className="mt-4 sm:grid-cols-3">
        {client.connected_at !== null && (
          <>
            <Fact label="Authorized to">{client.scopes.map((scope) => clientScopes[scope]).join(', ')}</Fact>
            <Fact label="Connected">
              <Time at={client.connected_at} />
            </Fact>
            <Fact label="Last used">{client.last_used_at === null ? 'Never' : <Time at={client.last_used_at} />}</Fact>
          </>
        )}
        <Fact label="Redirect URIs" wide>
          <ul className="text-sm text-soft">
            {client.redirect_uris.map((uri) => (
              <li key={uri} className="font-mono break-all">
                {uri}
              </li>
            ))}
          </ul>
        </Fact>
      </Facts>
      <p className="mt-3 text-sm text-faint">
        {client.metadata_url === null
          ? `Registered by ${client.mine ? 'you' : (client.registered_by_name ?? 'someone who has left')} on `
          : 'Identified by its own document; you first agreed to it on '}
        <Time at={client.created_at} as="date" />.{' '}
        <Link
          to="/settings/tools"
          search={{ client: client.id }}
          className="text-accent-ink underline underline-offset-3 hover:text-ink"
        >
          What it may write
        </Link>
      </p>
    </li>
  );
}

type Open = { kind: 'new' } | { kind: 'edit'; client: Client } | { kind: 'registered'; client: Client } | null;

function List({ data, create, onEdit }: { data: Clients; create: React.ReactNode; onEdit: (client: Client) => void }) {
  return (
    <>
      <Card title="Tool server address" description="Where a client connects to. It asks you to sign in and to agree.">
        <CopyField value={data.tool_server} label="Address of the tool server" />
      </Card>
      <Card flush>
        {data.items.length === 0 ? (
          <EmptyState icon={Plug} title="No clients yet" action={create}>
            Choose the assistant or editor under{' '}
            <Link to="/settings/assistants" className="text-accent-ink underline underline-offset-3 hover:text-ink">
              Connect an assistant
            </Link>
            , or register one by hand, which gives it a client_id to connect with.
          </EmptyState>
        ) : (
          <>
            <ul className="divide-y divide-line">
              {data.items.map((client) => (
                <ClientRow key={client.id} client={client} onEdit={onEdit} />
              ))}
            </ul>
            <CutNote items={data.items} most={mostClients} className="border-t border-line px-4 py-3 sm:px-5">
              clients: yours, and the newest ones shared with you.
            </CutNote>
          </>
        )}
      </Card>
    </>
  );
}

/** The settings page “Connected clients”: the programs that the person lets use the tool server in their name. */
export default function ClientsSettings() {
  const query = useQuery(clientsQuery);
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const create = (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setOpen({ kind: 'new' })}>
      Register client
    </Button>
  );
  return (
    <SettingsPage
      title="Connected clients"
      description="Assistants and editors that look at your deals for you. Each sees what you see, and writes only where you have allowed it."
      actions={query.data?.items.length !== 0 && create}
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={3} height="h-48" />}>
        {(data) => <List data={data} create={create} onEdit={(client) => setOpen({ kind: 'edit', client })} />}
      </Loaded>
      {(open?.kind === 'new' || open?.kind === 'edit') && (
        <ClientDialog
          client={open.kind === 'edit' ? open.client : null}
          presets={query.data?.presets ?? []}
          onClose={close}
          onRegistered={(client) => setOpen({ kind: 'registered', client })}
        />
      )}
      {open?.kind === 'registered' && (
        <RegisteredDialog client={open.client} toolServer={query.data?.tool_server ?? ''} onClose={close} />
      )}
    </SettingsPage>
  );
}
