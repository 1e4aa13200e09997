/** The results of tools as they go over the wire: the object, and the same as JSON text (specification, section 7.2). */

import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/server';

/** Why a call came to nothing. */
export type ErrorCode =
  | 'feature_not_available'
  | 'validation_error'
  | 'permission_denied'
  | 'second_factor_required'
  | 'submission_rejected'
  | 'rls_denied'
  | 'busy'
  | 'unavailable'
  | 'internal_error';

/** What the model is answered when a call failed. */
export interface RefusalBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly [more: string]: unknown;
}

/** A call came to nothing; thrown or returned, it is answered with its body. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
  readonly body: RefusalBody;
  constructor(body: RefusalBody, options?: ErrorOptions) {
    super(body.message, options);
    this.body = body;
  }
}

/** A result; `links` to resources stand behind its text. */
export function success(structured: Record<string, unknown>, links: readonly ResourceLink[] = []): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(structured) }, ...links],
    structuredContent: structured,
  };
}

/** The members of a result without links as JSON, as the SDK writes them: what its text says already is not written anew. */
export function resultText({ content: [said], isError }: CallToolResult): string {
  if (said?.type !== 'text') throw new Error('A result begins with its text.');
  const { text } = said;
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}${isError ? ',"isError":true' : ''}`;
}

/** A success that was answered before, to a call with the same {@link idempotencyKeyName}. */
export const replayed = (structured: Record<string, unknown>): CallToolResult => ({
  ...success(structured),
  _meta: { 'com.dealkeep/idempotent-replayed': true },
});

/** Under this name in `_meta` a call of a tool that writes can carry a key that makes it safe to repeat. */
export const idempotencyKeyName = 'com.dealkeep/idempotency-key';

/** The result of a call that was refused. */
export function refusal(body: RefusalBody): CallToolResult {
  return { ...success(body), isError: true };
}
