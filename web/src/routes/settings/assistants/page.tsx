import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { clientsQuery, useClientActions } from '../../../api/settings.ts';
import type { Clients } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { CopyBlock } from '../../../components/copy-block.tsx';
import { Loaded, SkeletonCard } from '../../../components/states.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { SettingsPage } from '../settings-page.tsx';
import { ways, type Preset } from './instructions.ts';

/** The steps on the host's side, with the lines to paste there. */
function Steps({ preset, address, clientId }: { preset: Preset; address: string; clientId: string | null }) {
  const way = ways[preset.id]({ address, clientId, name: 'dealkeep' });
  return (
    <>
      <ol className="flex list-decimal flex-col gap-4 pl-5 marker:text-faint">
        {way.steps.map(({ text, lines = [] }) => (
          <li key={text}>
            <p className="text-ink">{text}</p>
            {lines.length > 0 && (
              <div className="mt-2 flex flex-col gap-2">
                {lines.map((line) => (
                  <CopyBlock key={line} value={line} label={text} />
                ))}
              </div>
            )}
          </li>
        ))}
      </ol>
      {way.note && <p className="mt-4 text-sm text-faint">{way.note}</p>}
    </>
  );
}

/** One host: registers its client, unless the host identifies itself, and shows the steps that follow. */
function Host({ preset, address }: { preset: Preset; address: string }) {
  const { register } = useClientActions();
  const [made, setMade] = useState<string | null>(null);
  const [byHand, setByHand] = useState(!preset.by_document);
  const make = () =>
    register.mutate(
      { name: preset.name, redirect_uris: [...preset.redirect_uris] },
      {
        onSuccess: (client) => {
          setMade(client.client_id);
          toast(`${preset.name} registered`);
        },
        onError: toastError,
      },
    );
  if (!byHand) {
    return (
      <Card
        title={`Connect ${preset.name}`}
        description="It identifies itself by its own document, so nothing needs to be registered."
        actions={
          <Button size="sm" onClick={() => setByHand(true)}>
            It asks for a client ID
          </Button>
        }
      >
        <Steps preset={preset} address={address} clientId={null} />
      </Card>
    );
  }
  if (made === null) {
    return (
      <Card
        title={`Connect ${preset.name}`}
        description="First, register a client for it here, with these redirect URIs. Then you get the lines to paste there."
      >
        <ul className="text-sm text-soft">
          {preset.redirect_uris.map((uri) => (
            <li key={uri} className="font-mono break-all">
              {uri}
            </li>
          ))}
        </ul>
        <div className="mt-4">
          <Button kind="primary" onClick={make} pending={register.isPending}>
            Register client
          </Button>
        </div>
      </Card>
    );
  }
  return (
    <Card
      title={`Connect ${preset.name}`}
      description="The client is registered. You can find it under Connected clients."
    >
      <Steps preset={preset} address={address} clientId={made} />
    </Card>
  );
}

function Choice({ data }: { data: Clients }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const preset = data.presets.find(({ id }) => id === chosen);
  return (
    <>
      <Card title="What do you want to connect?">
        <div role="group" aria-label="What do you want to connect?" className="flex flex-wrap gap-2">
          {data.presets.map(({ id, name }) => (
            <Button
              key={id}
              aria-pressed={id === chosen}
              onClick={() => setChosen(id)}
              className="aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:text-accent-ink"
            >
              {name}
            </Button>
          ))}
        </div>
      </Card>
      {preset && <Host key={preset.id} preset={preset} address={data.tool_server} />}
    </>
  );
}

/** The settings page “Connect an assistant”: the person chooses a host and gets the lines to paste there. */
export default function AssistantsSettings() {
  const query = useQuery(clientsQuery);
  return (
    <SettingsPage
      title="Connect an assistant"
      description={
        <>
          Assistants and editors look at your deals for you, and see what you see. Those you have connected are under{' '}
          <Link to="/settings/clients" className="text-accent-ink underline underline-offset-3 hover:text-ink">
            Connected clients
          </Link>
          .
        </>
      }
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={2} height="h-24" />}>
        {(data) => <Choice data={data} />}
      </Loaded>
    </SettingsPage>
  );
}
