import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plug } from 'lucide-react';
import { useState } from 'react';
import { api } from '../../../api/client.ts';
import { sendOptIn, type OptIn } from '../../../api/deals.ts';
import { keys } from '../../../api/query-keys.ts';
import { useOptimistic } from '../../../api/optimistic.ts';
import { mostOptIns, toolsQuery } from '../../../api/settings.ts';
import type { Id, Instant, ToolSettings } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button, ButtonLink } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Switch } from '../../../components/checkbox.tsx';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { Notice } from '../../../components/notice.tsx';
import { CutNote, EmptyState, Loaded, SkeletonCard } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { UntilField } from '../../../components/until-field.tsx';
import { SettingsPage } from '../settings-page.tsx';

const route = getRouteApi('/app/settings/tools');

type Tool = ToolSettings['write_tools'][number];

type Grant = { client_id: Id; tool: Tool['name']; on: boolean; expires_at: Instant | null };

function useGrant() {
  return useOptimistic<ToolSettings, Grant, ToolSettings>({
    queryKey: toolsQuery.queryKey,
    update: (data, { on, ...grant }) => ({
      ...data,
      grants: [
        ...data.grants.filter(({ client_id, tool }) => client_id !== grant.client_id || tool !== grant.tool),
        ...(on ? [{ ...grant, granted_at: new Date().toISOString() }] : []),
      ],
    }),
    send: ({ on, ...grant }) =>
      on
        ? api.put('/web/tools/grants', { json: grant })
        : api.delete('/web/tools/grants/:client_id/:tool', { param: { client_id: grant.client_id, tool: grant.tool } }),
  });
}

/** The name of a client; with the host that says so, as anybody can publish a client with the name of another. */
const called = ({ name, host }: ToolSettings['clients'][number]) =>
  host === null || host === name ? name : `${name} (${host})`;

function ToolRow({ tool, clientId, grants }: { tool: Tool; clientId: Id; grants: ToolSettings['grants'] }) {
  const { mutate } = useGrant();
  const [choosing, setChoosing] = useState(false);
  const grant = grants.find((one) => one.client_id === clientId && one.tool === tool.name);
  const change = (on: boolean, expires_at: Instant | null) =>
    mutate({ client_id: clientId, tool: tool.name, on, expires_at });
  return (
    <li className="flex flex-col gap-3 px-4 py-3.5 sm:px-5">
      <Switch
        label={tool.title}
        hint={<code className="break-all">{tool.name}</code>}
        checked={grant !== undefined}
        onChange={(on) => {
          setChoosing(false);
          change(on, null);
        }}
      />
      {grant?.expires_at === null && !choosing && (
        <p className="-mt-1.5 text-sm text-faint">
          On until you turn it off.{' '}
          <button
            type="button"
            onClick={() => setChoosing(true)}
            className="rounded-sm text-accent-ink underline underline-offset-3 hover:text-ink coarse:py-2.5"
          >
            Set an end date<span className="sr-only"> for {tool.title}</span>
          </button>
        </p>
      )}
      {grant && (grant.expires_at !== null || choosing) && (
        <UntilField
          label="On until"
          about={tool.title}
          value={grant.expires_at}
          asked={choosing}
          onSave={(until) => change(true, until)}
        />
      )}
    </li>
  );
}

function Grants({ settings }: { settings: ToolSettings }) {
  const { client: wanted } = route.useSearch();
  const navigate = route.useNavigate();
  const { clients, grants } = settings;
  const chosen = clients.find(({ id }) => id === wanted) ?? clients[0];
  if (!chosen)
    return (
      <Card>
        <EmptyState
          icon={Plug}
          title="No clients yet"
          action={
            <ButtonLink to="/settings/clients" kind="primary">
              Register a client
            </ButtonLink>
          }
        >
          Tools are allowed separately for each client. First register the one you want to connect.
        </EmptyState>
      </Card>
    );
  return (
    <Card flush title="What a client may write" description="Reading needs no separate permission.">
      <div className="flex flex-col gap-3 px-4 pb-4 sm:px-5">
        <Field label="Client" className="max-w-80">
          <Select
            value={chosen.id}
            onChange={(id) => void navigate({ to: '/settings/tools', search: { client: id }, replace: true })}
            options={clients.map((client) => ({ value: client.id, label: called(client) }))}
          />
        </Field>
        {!chosen.connected && (
          <Notice>
            {called(chosen)} is not connected yet. What you allow here takes effect once you authorize it.
          </Notice>
        )}
        {chosen.connected && !chosen.may_write && (
          <Notice tone="warn">
            You authorized {called(chosen)} for reading only. Disconnect it under{' '}
            <Link to="/settings/clients" className="underline underline-offset-3">
              Connected clients
            </Link>
            , then connect it again and leave writing ticked.
          </Notice>
        )}
      </div>
      <ul className="divide-y divide-line border-t border-line">
        {settings.write_tools
          .filter(({ available }) => available)
          .map((tool) => (
            <ToolRow key={tool.name} tool={tool} clientId={chosen.id} grants={grants} />
          ))}
      </ul>
    </Card>
  );
}

function OptInRow({ optIn }: { optIn: ToolSettings['opt_ins'][number] }) {
  const { mutate } = useOptimistic<ToolSettings, OptIn, unknown>({
    queryKey: toolsQuery.queryKey,
    also: [keys.of(optIn.deal_id, 'tools')],
    update: (data, { on, expires_at }) => ({
      ...data,
      opt_ins: data.opt_ins.flatMap((one) =>
        one.deal_id !== optIn.deal_id ? [one] : on ? [{ ...one, expires_at }] : [],
      ),
    }),
    send: (change) => sendOptIn(optIn.deal_id, change),
  });
  return (
    <li className="flex flex-wrap items-end justify-between gap-x-5 gap-y-3 px-4 py-3.5 sm:px-5">
      <div className="min-w-0 flex-[1_1_14rem]">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            to="/deals/$dealId"
            params={{ dealId: optIn.deal_id }}
            hash="assistants"
            className="font-medium underline-offset-3 hover:underline coarse:relative coarse:after:absolute coarse:after:-inset-2.5"
          >
            {optIn.deal_title}
          </Link>
          {optIn.shut_off && <Badge tone="bad">Turned off by {optIn.shut_off_by_name ?? 'a broker'}</Badge>}
        </p>
        <p className="text-sm text-faint">
          Allowed by you <Time at={optIn.granted_at} />
          {optIn.expires_at === null && ', until you turn it off'}
        </p>
      </div>
      <UntilField
        label="Until"
        about={`on ${optIn.deal_title}`}
        hideLabel
        value={optIn.expires_at}
        onSave={(until) => mutate({ on: true, expires_at: until })}
      />
      <Button onClick={() => mutate({ on: false, expires_at: null })}>
        Turn off<span className="sr-only"> on {optIn.deal_title}</span>
      </Button>
    </li>
  );
}

/** The settings page “Tools”: which tools each client may use to write, and on which deals. */
export default function ToolsSettings() {
  const query = useQuery(toolsQuery);
  return (
    <SettingsPage
      title="Tools"
      description="An assistant can write in your name only if you authorized it for writing, allowed the tool here, and let assistants write on that deal."
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={7} height="h-16" />}>
        {(settings) => (
          <>
            <Grants settings={settings} />
            <Card flush title="Deals on which assistants may write for you">
              {settings.opt_ins.length === 0 ? (
                <p className="px-4 pb-5 text-soft sm:px-5">
                  None. You can allow it on a deal’s overview, under “Assistants”, for as long as you like.
                </p>
              ) : (
                <>
                  <ul className="divide-y divide-line border-t border-line">
                    {settings.opt_ins.map((optIn) => (
                      <OptInRow key={optIn.deal_id} optIn={optIn} />
                    ))}
                  </ul>
                  <CutNote
                    items={settings.opt_ins}
                    most={mostOptIns}
                    className="border-t border-line px-4 py-3 sm:px-5"
                  >
                    deals, the first by title. Each deal’s overview says whether assistants may write there.
                  </CutNote>
                </>
              )}
            </Card>
          </>
        )}
      </Loaded>
    </SettingsPage>
  );
}
