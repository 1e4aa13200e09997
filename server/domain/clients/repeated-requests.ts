/** What keys of repeated requests (`Idempotency-Key`) stand for: the first answer, for 24 hours, to one API key. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Action } from '../audit/actions.ts';
import type { Origin } from '../audit/audited.ts';

const claim = row('claim_idempotency_key', 'select app.claim_idempotency_key($1, $2)');
const remember = row('remember_answer', 'select app.remember_answer($1, $2)');
const first = row<{ answer: string | null }>('first_answer', 'select app.first_answer($1, $2, $3, $4, $5) as answer');

/**
 * Takes a key for a request with this digest (32 bytes). Refused with `idempotency_key_used` when the calling API key has
 * used it within 24 hours; waits for a request that is using it at this moment.
 */
export const claimIdempotencyKey = (key: string, digest: Buffer): Statement<unknown> => claim(key, digest);

/** Keeps the answer, a JSON text, with the key that was taken in the same transaction. */
export const rememberAnswer = (key: string, answer: string): Statement<unknown> => remember(key, answer);

/**
 * The answer that was kept with a key, with a record that it was given again; null when there is none. Refused with
 * `idempotency_key_reused` when the key stands for a request with another digest.
 */
export const firstAnswer = <T>(key: string, digest: Buffer, action: Action, from: Origin): Statement<T | null> =>
  mapped(first(key, digest, action, from.address, from.requestId), (found) =>
    found?.answer ? (JSON.parse(found.answer) as T) : null,
  );
