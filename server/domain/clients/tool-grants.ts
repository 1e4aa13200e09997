/**
 * Per-tool grants: which writing tools a person has turned on, and for which of their clients (specification, section
 * 5.4).
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** The properties of a tool that are needed outside the tool server, as declared in its file in the catalog. */
export interface ToolFacts {
  readonly name: string;
  readonly title: string;
  readonly writes: boolean;
  /** False unless the operator has turned its feature on. */
  readonly available: boolean;
}

/** A grant that has not expired. */
export interface LiveToolGrant {
  client_id: string;
  tool: string;
  granted_at: string;
  expires_at: string | null;
}

/** The caller's unexpired grants for all of their clients, at most 10,000: more than a person turns on one by one. */
export const liveToolGrants = rows<LiveToolGrant, []>(
  'live_tool_grants',
  `select client_id, tool, granted_at, expires_at from tool_grants
   where expires_at is null or expires_at > app.now() order by client_id, tool limit 10000`,
);

const grant = row<{ done: boolean }>('grant_tool', 'select app.grant_tool($1, $2, $3, $4, $5) as done');

/**
 * Turns a tool on for a client until `expiresAt` (RFC 3339; null: until turned off); false when the client does not
 * work for the caller. Rejected with `ends_in_the_past`.
 */
export function grantTool(clientId: string, tool: string, expiresAt: string | null, from: Origin): Statement<boolean> {
  return mapped(grant(clientId, tool, expiresAt, from.address, from.requestId), (answer) => answer?.done ?? false);
}

const withdraw = row<{ done: boolean }>('withdraw_tool', 'select app.withdraw_tool($1, $2, $3, $4) as done');

/** Turns a tool off for a client, effective immediately; false when it was not on. */
export function withdrawTool(clientId: string, tool: string, from: Origin): Statement<boolean> {
  return mapped(withdraw(clientId, tool, from.address, from.requestId), (answer) => answer?.done ?? false);
}
