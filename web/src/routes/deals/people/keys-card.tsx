import { useQuery } from '@tanstack/react-query';
import { api } from '../../../api/client.ts';
import { dealKeysQuery } from '../../../api/deals.ts';
import { keys } from '../../../api/query-keys.ts';
import { useOptimistic } from '../../../api/optimistic.ts';
import type { DealKey, DealKeys } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Card } from '../../../components/card.tsx';
import { Switch } from '../../../components/checkbox.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { keyScopes } from '../../../lib/states.ts';
import { useDeal } from '../context.ts';

function KeyRow({ of }: { of: DealKey }) {
  return (
    <li className="flex min-w-0 flex-col gap-0.5">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="min-w-0 font-medium break-words">{of.name}</span>
        {of.environment === 'test' && <Badge>Test</Badge>}
      </p>
      <p className="text-sm text-soft">{of.scopes.map((scope) => keyScopes[scope]).join(', ')}</p>
      <p className="text-sm text-faint">
        {of.created_by_name === null ? 'Created' : `Created by ${of.created_by_name}`} on{' '}
        <Time at={of.created_at} as="date" />
        {', '}
        {of.last_used_at === null ? (
          'never used'
        ) : (
          <>
            last used <Time at={of.last_used_at} />
          </>
        )}
      </p>
    </li>
  );
}

function Admission({ of: { admitted, keys: all } }: { of: DealKeys }) {
  const { deal, capacities } = useDeal();
  const admit = useOptimistic<DealKeys, boolean, DealKeys>({
    queryKey: keys.of(deal.id, 'keys'),
    also: [keys.of(deal.id, 'activity')],
    update: (data, to) => ({ ...data, admitted: to }),
    send: (to) => api.put('/web/deals/:id/keys', { param: { id: deal.id }, json: { admitted: to } }),
  });
  return (
    <div className="flex flex-col gap-4">
      {capacities.can_admit_keys ? (
        <Switch
          label="Open to API keys"
          hint="The brokerage’s other systems can then see this deal as its broker does, within each key’s permissions."
          checked={admitted}
          onChange={(to) => admit.mutate(to)}
        />
      ) : (
        <p>
          {admitted
            ? 'This deal is open to the brokerage’s API keys.'
            : 'The brokerage’s API keys cannot reach this deal. A broker of the deal can open it to them.'}
        </p>
      )}
      {all.length === 0 ? (
        <p className="text-sm text-faint">The brokerage has no key that reaches deals.</p>
      ) : (
        <>
          <h3 className="text-sm font-medium text-soft">
            {admitted ? 'Keys that have access' : 'Keys that would have access'}
          </h3>
          <ul className="flex flex-col gap-3.5">
            {all.map((one) => (
              <KeyRow key={one.id} of={one} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/**
 * Whether the brokerage's API keys can reach the deal, and which keys: for its brokers, who decide that, and the
 * brokerage's admins.
 */
export function KeysCard() {
  const { deal } = useDeal();
  const query = useQuery(dealKeysQuery(deal.id));
  return (
    <Card id="keys" title="API keys">
      <Loaded query={query} skeleton={<SkeletonText lines={3} />}>
        {(found) => <Admission of={found} />}
      </Loaded>
    </Card>
  );
}
