/**
 * Idempotency keys and the first answer to each, kept for 24 hours. An `Idempotency-Key` of the REST API belongs to one
 * API key, that of a tool call to one person, one client and one tool.
 */

import { hash } from 'node:crypto';
import type { Database, Results } from '../../database/database.ts';
import { Busy, Refusal } from '../../database/errors.ts';
import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Action } from '../audit/actions.ts';
import type { Origin } from '../audit/audited.ts';

/** Whether a text is a valid idempotency key: 1 to 255 visible ASCII characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x21-\x7e]{1,255}$/.test(text);

const claim = row('claim_idempotency_key', 'select app.claim_idempotency_key($1, $2)');
const remember = row('remember_answer', 'select app.remember_answer($1, $2)');
const first = row<{ answer: string | null }>(
  'first_answer',
  'select app.first_answer($1, $2, $3, $4, $5, $6) as answer',
);

/**
 * Claims a key for a request with this digest (32 bytes). Rejected with `idempotency_key_used` when the calling API key
 * has used it within 24 hours; waits for a concurrent request that is using it.
 */
export const claimIdempotencyKey = (key: string, digest: Buffer): Statement<unknown> => claim(key, digest);

/** Stores the answer, a JSON text, with the key that was claimed in the same transaction. */
export const rememberAnswer = (key: string, answer: string): Statement<unknown> => remember(key, answer);

/**
 * Returns the answer that was stored with a key, or null, and writes an audit record of the repetition, about the
 * record in the answer or else about `subject`. Rejected with `idempotency_key_reused` when the key was used for a
 * request with another digest.
 */
export const firstAnswer = <T>(
  key: string,
  digest: Buffer,
  action: Action,
  subject: string | null,
  from: Origin,
): Statement<T | null> =>
  mapped(first(key, digest, action, subject, from.address, from.requestId), (found) =>
    found?.answer ? (JSON.parse(found.answer) as T) : null,
  );

const claimForTool = row('claim_tool_call_key', 'select app.claim_tool_call_key($1, $2, $3)');
const rememberOfTool = row('remember_tool_answer', 'select app.remember_tool_answer($1, $2, $3)');
const firstOfTool = row<{ answer: string | null }>(
  'first_tool_answer',
  'select app.first_tool_answer($1, $2, $3) as answer',
);

/** Like {@link claimIdempotencyKey}, for a call of `tool` by the caller through their client. */
export const claimToolCallKey = (tool: string, key: string, digest: Buffer): Statement<unknown> =>
  claimForTool(tool, key, digest);

/** Like {@link rememberAnswer}, for a call of `tool`. */
export const rememberToolAnswer = (tool: string, key: string, answer: string): Statement<unknown> =>
  rememberOfTool(tool, key, answer);

/** Like {@link firstAnswer}, for a call of `tool`, without an audit record. */
export const firstToolAnswer = <T>(tool: string, key: string, digest: Buffer): Statement<T | null> =>
  mapped(firstOfTool(tool, key, digest), (found) => (found?.answer ? (JSON.parse(found.answer) as T) : null));

/** The value with the properties of its objects in alphabetical order, recursively. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, inOrder(one)]),
  );
}

/** The SHA-256 digest (32 bytes) of a request, a JSON value, independent of the order of properties. */
export const digestOfRequest = (said: unknown): Buffer => hash('sha256', JSON.stringify(inOrder(said)), 'buffer');

/**
 * Runs the statements of `doing`, one of which claims a key, and stores the answer in the same transaction; when the
 * key was already used, returns the answer that `again` finds. Rejects with Busy when `again` finds none because the
 * key expired meanwhile or the answer was deleted.
 */
export async function once<const First extends readonly Statement<unknown>[], Answer>(
  database: Database,
  doing: {
    readonly statements: First;
    /** Computes the answer from the results, and the statement that stores it. It must have no side effects. */
    readonly next: (answers: Results<First>) => { readonly answer: Answer; readonly keep: Statement<unknown> };
  },
  again: () => Promise<Answer | null>,
): Promise<{ readonly answer: Answer; readonly isRepeated: boolean }> {
  try {
    let made: { readonly answer: Answer } | undefined;
    await database.followed(doing.statements, (answers) => {
      const { answer, keep } = doing.next(answers);
      made = { answer };
      return keep;
    });
    return { answer: (made as { readonly answer: Answer }).answer, isRepeated: false };
  } catch (fault) {
    if (!(fault instanceof Refusal && fault.reason === 'idempotency_key_used')) throw fault;
    const answer = await again();
    if (answer === null) throw new Busy('Somebody else is changing this: try again shortly.', { cause: fault });
    return { answer, isRepeated: true };
  }
}
