/**
 * Opening a deal to the API keys of its brokerage: a broker of the deal decides, and the brokerage sets the default for
 * new deals.
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import { nameInBrokerage } from '../people/former-names.ts';
import type { KeyEnvironment } from './api-keys.ts';
import type { KeyScope } from './key-scopes.ts';

const admission = row<{ keys_admitted: boolean }, [dealId: string]>(
  'keys_admitted',
  `select d.keys_admitted from deals d
   where d.id = $1 and (d.id = any ((select app.deals_acting_as('broker'))::uuid[])
     or d.organization_id = any ((select app.brokerages_as('admin'))::uuid[]))`,
);

/**
 * Whether a deal is open to the keys of its brokerage; null unless the caller is a broker of the deal or an admin of
 * its brokerage.
 */
export const keysAdmitted = (dealId: string): Statement<boolean | null> =>
  mapped(admission(dealId), (found) => found?.keys_admitted ?? null);

/** A key that can access the deals of its brokerage that are open to keys. */
export interface DealKey {
  id: string;
  name: string;
  environment: KeyEnvironment;
  /** Only the scopes that concern deals. */
  scopes: KeyScope[];
  created_by_name: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

/**
 * The live keys in force of a deal's brokerage that have scopes for deals, newest first, at most 100; none unless the
 * caller is a broker of the deal or an admin of the brokerage.
 */
export const keysForDeal = rows<DealKey, [dealId: string]>(
  'keys_for_deal',
  `select k.id, k.name, k.environment, k.scopes, ${nameInBrokerage('u', 'k.created_by', '(select d.organization_id from deals d where d.id = $1)')} as created_by_name, k.created_at, k.expires_at, k.last_used_at
   from app.keys_for_deal($1) k left join users u on u.id = k.created_by
   order by k.created_at desc, k.id desc`,
);

const admit = row<{ done: boolean }>('admit_keys', 'select app.admit_keys($1, $2, $3, $4) as done');

/** Opens or closes a deal to the keys of its brokerage; false when the caller is not a broker of the deal. */
export const admitKeys = (dealId: string, admitted: boolean, { address, requestId }: Origin): Statement<boolean> =>
  mapped(admit(dealId, admitted, address, requestId), (answer) => answer?.done ?? false);

const byDefault = row<{ done: boolean }>(
  'admit_keys_by_default',
  'select app.admit_keys_by_default($1, $2, $3, $4) as done',
);

/**
 * Sets whether future deals of the brokerage are open to its keys; false when the caller is not an admin of the
 * brokerage.
 */
export const admitKeysByDefault = (
  brokerageId: string,
  admitted: boolean,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(byDefault(brokerageId, admitted, address, requestId), (answer) => answer?.done ?? false);
