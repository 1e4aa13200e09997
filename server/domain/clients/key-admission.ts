/** Opening a deal to the API keys of its brokerage: a broker of the deal does it, and the brokerage decides how new deals begin. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { KeyEnvironment } from './api-keys.ts';
import type { KeyScope } from './key-scopes.ts';

const admission = row<{ keys_admitted: boolean }, [dealId: string]>(
  'keys_admitted',
  `select d.keys_admitted from deals d
   where d.id = $1 and (d.id = any ((select app.deals_acting_as('broker'))::uuid[])
     or d.organization_id = any ((select app.brokerages_as('admin'))::uuid[]))`,
);

/** Whether a deal is open to the keys of its brokerage; null to everybody but its brokers and the admins of its brokerage. */
export const keysAdmitted = (dealId: string): Statement<boolean | null> =>
  mapped(admission(dealId), (found) => found?.keys_admitted ?? null);

/** A key that reaches the deals of its brokerage that are open to keys. */
export interface DealKey {
  id: string;
  name: string;
  environment: KeyEnvironment;
  /** Those that have to do with deals. */
  scopes: KeyScope[];
  created_by_name: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

/** The keys in force of a deal's brokerage that have to do with deals, the newest first, at most 100; none for all but the deal's brokers and the brokerage's admins. */
export const keysForDeal = rows<DealKey, [dealId: string]>(
  'keys_for_deal',
  `select k.id, k.name, k.environment, k.scopes, u.name as created_by_name, k.created_at, k.expires_at, k.last_used_at
   from app.keys_for_deal($1) k left join users u on u.id = k.created_by
   order by k.created_at desc, k.id desc`,
);

const admit = row<{ done: boolean }>('admit_keys', 'select app.admit_keys($1, $2, $3, $4) as done');

/** Opens a deal to the keys of its brokerage, or closes it to them; false when the caller is no broker of the deal. */
export const admitKeys = (dealId: string, admitted: boolean, { address, requestId }: Origin): Statement<boolean> =>
  mapped(admit(dealId, admitted, address, requestId), (answer) => answer?.done ?? false);

const byDefault = row<{ done: boolean }>(
  'admit_keys_by_default',
  'select app.admit_keys_by_default($1, $2, $3, $4) as done',
);

/** Opens deals that people of the brokerage make from now on to its keys, or no longer; false when the caller is no admin of it. */
export const admitKeysByDefault = (
  brokerageId: string,
  admitted: boolean,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(byDefault(brokerageId, admitted, address, requestId), (answer) => answer?.done ?? false);
