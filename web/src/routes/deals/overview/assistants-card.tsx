import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../../api/client.ts';
import { dealToolsQuery, sendOptIn, type OptIn } from '../../../api/deals.ts';
import { keys } from '../../../api/query-keys.ts';
import { useOptimistic } from '../../../api/optimistic.ts';
import type { DealTools } from '../../../api/shapes.ts';
import { Card } from '../../../components/card.tsx';
import { Switch } from '../../../components/checkbox.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { UntilField } from '../../../components/until-field.tsx';
import { useMe } from '../../../api/me.ts';
import { useDeal } from '../context.ts';

function Controls({ tools }: { tools: DealTools }) {
  const { deal, capacities } = useDeal();
  const { user } = useMe();
  const param = { id: deal.id };
  const queryKey = keys.of(deal.id, 'tools');
  const also = [keys.settings('tools')];
  const optIn = useOptimistic<DealTools, OptIn, DealTools>({
    queryKey,
    also,
    update: (data, { on, expires_at }) => ({
      ...data,
      opt_in: on ? { granted_at: new Date().toISOString(), expires_at } : null,
    }),
    send: (change) => sendOptIn(deal.id, change),
  });
  const shutOff = useOptimistic<DealTools, boolean, DealTools>({
    queryKey,
    also,
    update: (data, off) => ({ ...data, shut_off: off ? { by_name: user.name, at: new Date().toISOString() } : null }),
    send: (off) =>
      off
        ? api.put('/web/deals/:id/tools/shut-off', { param })
        : api.delete('/web/deals/:id/tools/shut-off', { param }),
  });
  return (
    <div className="flex flex-col gap-4">
      {capacities.can_opt_in_tools && (
        <Switch
          label="Let my assistants write here"
          hint={
            tools.shut_off
              ? `Turned off for everyone by ${tools.shut_off.by_name ?? 'a broker'}.`
              : 'Reading needs no separate permission.'
          }
          checked={tools.opt_in !== null}
          disabled={tools.shut_off !== null && tools.opt_in === null}
          onChange={(on) => optIn.mutate({ on, expires_at: null })}
        />
      )}
      {tools.opt_in && (
        <UntilField
          label="Until"
          value={tools.opt_in.expires_at}
          onSave={(until) => optIn.mutate({ on: true, expires_at: until })}
        />
      )}
      {capacities.can_shut_off_tools && (
        <Switch
          label="Turned off for everyone"
          hint="No assistant can write on this deal, no matter who allowed it."
          checked={tools.shut_off !== null}
          onChange={(off) => shutOff.mutate(off)}
        />
      )}
      <p className="text-sm text-faint">
        Which assistants, and which tools:{' '}
        <Link to="/settings/tools" className="text-accent-ink underline underline-offset-3 hover:text-ink">
          settings
        </Link>
      </p>
    </div>
  );
}

/**
 * Whether the person's connected assistants may write on this deal, and a broker's switch that turns them off for
 * everybody.
 */
export function AssistantsCard() {
  const { deal } = useDeal();
  const query = useQuery(dealToolsQuery(deal.id));
  return (
    <Card id="assistants" title="Assistants">
      <Loaded query={query} skeleton={<SkeletonText lines={4} />}>
        {(tools) => <Controls tools={tools} />}
      </Loaded>
    </Card>
  );
}
