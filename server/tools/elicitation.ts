/**
 * Asking the person for a permission that is missing, on a page of ours (elicitation by URL, MCP 2026-07-28): the host opens it, and sends the
 * call again. Whether they have allowed it, the call itself asks the database: what the host says of it counts for nothing.
 */

import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
} from '@modelcontextprotocol/server';
import type { GateReason } from '../domain/clients/tool-gate.ts';
import { isObject } from './request-context.ts';

type Json = Readonly<Record<string, unknown>>;

/** What the person is asked to do there. With a token that cannot write the client has to be connected anew: the call would never pass. */
const requests: Readonly<Record<GateReason, ((title: string) => string) | null>> = {
  missing_scope: null,
  missing_tool_grant: (title) =>
    `“${title}” is not turned on for this assistant. Turn it on in Dealkeep, then come back.`,
  missing_deal_opt_in: (title) =>
    `“${title}” may not write on this deal yet. See what is missing in Dealkeep, then come back.`,
};

/** Whether a request says that its client opens pages for the person. Clients of 2025 say so in `initialize` alone, which nobody keeps. */
function opensPages(envelope: Json = {}): boolean {
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  const elicitation = isObject(capabilities) ? capabilities['elicitation'] : undefined;
  return isObject(elicitation) && isObject(elicitation['url']);
}

/** What a call is answered: the page to open when a permission is missing that the person was not asked for yet, else the result. */
export function askingPerson(
  result: CallToolResult,
  title: string,
  { envelope, inputResponses }: { readonly envelope?: Json | undefined; readonly inputResponses?: Json | undefined },
): CallToolResult | InputRequiredResult {
  const { error, reason, resolve_url: url } = (result.structuredContent ?? {}) as Json;
  if (!result.isError || error !== 'permission_denied' || typeof url !== 'string') return result;
  const request = requests[reason as GateReason];
  // Asked once: a person who comes back without having allowed it reads what is missing.
  if (!request || !opensPages(envelope) || Object.hasOwn(inputResponses ?? {}, String(reason))) return result;
  return inputRequired({
    inputRequests: { [String(reason)]: inputRequired.elicitUrl({ message: request(title), url }) },
  });
}
