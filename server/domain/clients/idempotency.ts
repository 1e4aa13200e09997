/**
 * What keys of repeated requests stand for: the first answer, for 24 hours. An `Idempotency-Key` of REST is one API key's, that of a
 * call of a tool is one person's through one client and one tool.
 */

import { hash } from 'node:crypto';
import type { Database, Results } from '../../database/database.ts';
import { Busy, Refusal } from '../../database/errors.ts';
import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Action } from '../audit/actions.ts';
import type { Origin } from '../audit/audited.ts';

/** Whether a text may be the key of a repeated request: 1 to 255 visible ASCII characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x21-\x7e]{1,255}$/.test(text);

const claim = row('claim_idempotency_key', 'select app.claim_idempotency_key($1, $2)');
const remember = row('remember_answer', 'select app.remember_answer($1, $2)');
const first = row<{ answer: string | null }>(
  'first_answer',
  'select app.first_answer($1, $2, $3, $4, $5, $6) as answer',
);

/**
 * Takes a key for a request with this digest (32 bytes). Refused with `idempotency_key_used` when the calling API key has
 * used it within 24 hours; waits for a request that is using it at this moment.
 */
export const claimIdempotencyKey = (key: string, digest: Buffer): Statement<unknown> => claim(key, digest);

/** Keeps the answer, a JSON text, with the key that was taken in the same transaction. */
export const rememberAnswer = (key: string, answer: string): Statement<unknown> => remember(key, answer);

/**
 * The answer that was kept with a key, with a record that it was given again, of what it shows or else of `subject`; null when there
 * is none. Refused with `idempotency_key_reused` when the key stands for a request with another digest.
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

/** As {@link claimIdempotencyKey}, for a call of `tool` by the caller through their client. */
export const claimToolCallKey = (tool: string, key: string, digest: Buffer): Statement<unknown> =>
  claimForTool(tool, key, digest);

/** As {@link rememberAnswer}, of a call of `tool`. */
export const rememberToolAnswer = (tool: string, key: string, answer: string): Statement<unknown> =>
  rememberOfTool(tool, key, answer);

/** As {@link firstAnswer}, of a call of `tool`, without a record. */
export const firstToolAnswer = <T>(tool: string, key: string, digest: Buffer): Statement<T | null> =>
  mapped(firstOfTool(tool, key, digest), (found) => (found?.answer ? (JSON.parse(found.answer) as T) : null));

/** A value with the properties of its objects in alphabetical order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, inOrder(one)]),
  );
}

/** The SHA-256 digest (32 bytes) of what is asked for, a value of JSON, however it was written. */
export const digestOfRequest = (said: unknown): Buffer => hash('sha256', JSON.stringify(inOrder(said)), 'buffer');

/**
 * Does what `doing` sends, its claim of a key among it, and keeps the answer in the same transaction; where the key was used
 * already, gives the answer that `again` finds. Rejects with Busy when there is none: the key lapsed in between, or the answer
 * was forgotten.
 */
export async function once<const First extends readonly Statement<unknown>[], Answer>(
  database: Database,
  doing: {
    readonly statements: First;
    /** The answer to what came of it, and what keeps it. Does nothing but make the two. */
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
    if (answer === null) throw new Busy('Somebody else is changing it: try again in a moment.', { cause: fault });
    return { answer, isRepeated: true };
  }
}
