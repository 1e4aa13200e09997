/**
 * Asks the person for a missing permission on one of our pages (elicitation by URL, MCP 2026-07-28): the host opens the
 * page and repeats the call. The repeated call checks the permission in the database; what the host reports is not
 * trusted.
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

/**
 * The request to the person, by reason. Null when the token cannot write: the client has to be connected again, and
 * repeating the call would never succeed.
 */
const requests: Readonly<Record<GateReason, ((title: string) => string) | null>> = {
  missing_scope: null,
  missing_tool_grant: (title) =>
    `“${title}” is not turned on for this assistant. Turn it on in Dealkeep, then come back.`,
  missing_deal_opt_in: (title) =>
    `“${title}” may not write on this deal yet. See what is missing in Dealkeep, then come back.`,
};

/**
 * Whether a request declares that its client opens pages for the person. Clients of 2025 declare it only in
 * `initialize`, which is not kept.
 */
function opensPages(envelope: Json = {}): boolean {
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  const elicitation = isObject(capabilities) ? capabilities['elicitation'] : undefined;
  return isObject(elicitation) && isObject(elicitation['url']);
}

/**
 * The result of a call, or instead a request to open a page when a permission is missing that the person has not been
 * asked for yet.
 */
export function askingPerson(
  result: CallToolResult,
  title: string,
  { envelope, inputResponses }: { readonly envelope?: Json | undefined; readonly inputResponses?: Json | undefined },
): CallToolResult | InputRequiredResult {
  const { error, reason, resolve_url: url, deal_id: dealId } = (result.structuredContent ?? {}) as Json;
  if (!result.isError || error !== 'permission_denied' || typeof url !== 'string') return result;
  // Without a deal the id may be wrong, and there is nothing to allow.
  if (reason === 'missing_deal_opt_in' && dealId === undefined) return result;
  const request = requests[reason as GateReason];
  // The person is asked only once: if they come back without having allowed it, the result says what is missing.
  if (!request || !opensPages(envelope) || Object.hasOwn(inputResponses ?? {}, String(reason))) return result;
  return inputRequired({
    inputRequests: { [String(reason)]: inputRequired.elicitUrl({ message: request(title), url }) },
  });
}
