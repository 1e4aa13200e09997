/** One request to the tool server: its token, and what the database has answered about the token so far. */

import type { Services } from '../services.ts';
import { mapped, type Statement } from '../database/statement.ts';
import type { RequestOrigin } from '../http/origin.ts';
import type { Scope } from '../domain/clients/connected-clients.ts';
import {
  enterToCallTool,
  enterToRead,
  enterWithAccessToken,
  type EnteringRead,
  type TokenCaller,
  type ToolRead,
} from '../domain/clients/tokens.ts';
import type { DealScope } from '../domain/visibility/deal-scope.ts';
import { canonicalResource } from '../http/resource-metadata.ts';

/** The person and the client that a token was issued to, and its scopes: none of these ever changes. */
export interface Holder {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: readonly Scope[];
}

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface RequestContext {
  readonly services: Services;
  readonly from: RequestOrigin;
  /**
   * The first statement of a transaction: enters with the token; the caller is kept in {@link RequestContext.caller}.
   * `within`: the deal that the transaction is about.
   */
  enter(within?: DealScope | null): Statement<TokenCaller | null>;
  /**
   * Enters before a tool's work; rejects callers who have yet to set up a second factor. `within`: the deal that the
   * work is about; `read`: the audit record that a reading call leaves.
   */
  enterToCall(within: DealScope | null, read: ToolRead | null): Statement<TokenCaller | null>;
  /** Enters and does the work of a reading tool, in one statement. */
  enterAndRead<T>(within: DealScope | null, read: ToolRead, work: EnteringRead<T>): Statement<T>;
  holder: Holder | null;
  /**
   * Whether the client supports resource links in results, which exist since 2025-06-18; a client of 2025-03-26 sends
   * no revision.
   */
  readonly takesLinks: boolean;
  /** Arguments of calls that are not objects, by the id of their message. */
  readonly misfits: Map<unknown, unknown>;
  /** Null when the token is not valid; undefined until the database has been asked. */
  caller: TokenCaller | null | undefined;
}

/** The context of a request with the token of this digest and this protocol revision in its headers. */
export function openRequestContext(
  services: Services,
  digest: Buffer,
  from: RequestContext['from'],
  revision: string | undefined,
): RequestContext {
  const resource = canonicalResource(services.config.baseUrl);
  const keep = (caller: TokenCaller | null) => (context.caller = caller);
  const context: RequestContext = {
    services,
    from,
    enter: (within) => mapped(enterWithAccessToken(digest, resource, within), keep),
    enterToCall: (within, read) =>
      mapped(read ? enterToRead(digest, resource, within, read) : enterToCallTool(digest, resource, within), keep),
    enterAndRead: (within, read, asked) =>
      mapped(asked.enter(digest, resource, within, read), ({ caller, answer }) => {
        keep(caller);
        return answer;
      }),
    holder: null,
    takesLinks: (revision ?? '') >= '2025-06-18',
    misfits: new Map(),
    caller: undefined,
  };
  return context;
}
