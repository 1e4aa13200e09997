/** One request to the tool server: its token, and what the database has answered about that so far. */

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

/** The person and the client that a token was issued to, and its scopes: a token never changes hands, nor what it is good for. */
export interface Holder {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: readonly Scope[];
}

/** An object of JSON. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface RequestContext {
  readonly services: Services;
  readonly from: RequestOrigin;
  /** Goes in front of the statements of a transaction; the answer is kept in {@link RequestContext.caller}. `within`: what they are about. */
  enter(within?: DealScope | null): Statement<TokenCaller | null>;
  /**
   * The same in front of a tool's work, which is refused who owes a second factor. `within`: what the work is about; `read`: the
   * record that it leaves of a call that reads.
   */
  enterToCall(within: DealScope | null, read: ToolRead | null): Statement<TokenCaller | null>;
  /** The same in one statement with the work of a tool that reads. */
  enterAndRead<T>(within: DealScope | null, read: ToolRead, work: EnteringRead<T>): Statement<T>;
  holder: Holder | null;
  /** Whether the client knows links to resources in results, which are of 2025-06-18; one of 2025-03-26 names no revision. */
  readonly takesLinks: boolean;
  /** By the ids of their messages: what calls have sent for arguments that is no object. */
  readonly misfits: Map<unknown, unknown>;
  /** Null: the token is not valid. Undefined: the database has not been asked yet. */
  caller: TokenCaller | null | undefined;
}

/** The context of a request that carries the token with this digest, and names this revision of the protocol in its headers. */
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
