/** The origin of a request, as the audit trail records it. */

import type { Context } from 'hono';
import type { Origin } from '../domain/audit/audited.ts';
import { clientAddress } from './client-address.ts';
import { requestIdOf } from './request-id.ts';

/** The origin of a request, for which both fields are always known. */
export interface RequestOrigin extends Origin {
  readonly address: string;
  readonly requestId: string;
}

/** The address and the id of this request. */
export function originOf(c: Context): RequestOrigin {
  return { address: clientAddress(c), requestId: requestIdOf(c) };
}
