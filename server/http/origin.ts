/** From where a request came, as the audit trail keeps it. */

import type { Context } from 'hono';
import type { Origin } from '../domain/audit/audited.ts';
import { clientAddress } from './client-address.ts';
import { requestIdOf } from './request-id.ts';

/** The address and the id of this request. */
export function originOf(c: Context): Origin {
  return { address: clientAddress(c), requestId: requestIdOf(c) };
}
