/** What operations change: each change in one transaction with its record, and done once however often it is asked for under one `Idempotency-Key`. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import type { Results } from '../database/database.ts';
import { Denied, Invalid, Refusal, Unavailable } from '../database/errors.ts';
import type { Statement } from '../database/statement.ts';
import type { Action } from '../domain/audit/actions.ts';
import { recordNotDone, type Origin } from '../domain/audit/audited.ts';
import { enterWithApiKey, type KeyCaller } from '../domain/clients/api-keys.ts';
import {
  claimIdempotencyKey,
  digestOfRequest,
  firstAnswer,
  isIdempotencyKey,
  once,
  rememberAnswer,
} from '../domain/clients/idempotency.ts';
import { requireVisible } from '../domain/visibility/require-visible.ts';
import type { DealScope } from '../domain/visibility/deal-scope.ts';
import { originOf } from '../http/origin.ts';
import { problemOf, secondsToWait } from '../http/problem.ts';
import { isUuid } from '../http/uuid.ts';
import { secretRows } from '../lib/secrets.ts';
import { answerJson, type Answered } from './answer.ts';
import type { Callers, Entry, Scopes, FailureRecorder } from './caller.ts';
import { invalid, isKnown, rateLimited } from './envelope.ts';
import { headerParameter } from './operation.ts';

/** `Idempotency-Key`, of every operation that {@link Writes} carries out. */
export const idempotencyKey = headerParameter(
  'Idempotency-Key',
  {
    description:
      'Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    message: 'Send one key of 1 to 255 visible ASCII characters, or leave the header out.',
  },
  (value) => (isIdempotencyKey(value) ? value : undefined),
);

/**
 * Refuses a condition that is not looked at, as the change would be made whether it holds or not (RFC 9110, section 13.2.1). `If-Match: *` holds of
 * all that can be changed.
 */
export function refuseConditions(c: Context, isConditional = false): void {
  const looksAtIfMatch = isConditional || c.req.header('If-Match')?.trim() === '*';
  for (const name of looksAtIfMatch ? ['If-None-Match'] : ['If-Match', 'If-None-Match'])
    if (c.req.header(name) !== undefined)
      throw invalid([
        { in: 'header', path: name, message: 'This operation does not look at it: leave it out, or read first.' },
      ]);
}

/** One change as one request asks for it. */
export interface Write<S extends readonly Statement<unknown>[]> {
  /** What makes the change, and the record of it in the audit trail: all of them or none. */
  readonly statements: S;
  /**
   * What was asked for, as it was validated: the body, and what of the query decides what is done. Any value of JSON. `If-Match` does not belong to it:
   * whoever repeats a change that was made may have read the new tag meanwhile.
   */
  readonly said: unknown;
  /**
   * The answer to what came of it. It throws a Problem only where nothing was changed, and does nothing but make the answer,
   * since it may be called twice.
   */
  readonly answer: (results: Results<S>, caller: KeyCaller) => Answered;
  /** The answer shows a secret once: what is remembered of it is encrypted. */
  readonly isSecret?: boolean;
  /** Refuses to give an answer again to a key that does not see any more what it is about, where that is not the deal that the request is about. */
  readonly requiredToRepeat?: (answered: Answered) => Statement<unknown>;
}

/** An answer as it is remembered. */
type Remembered = Answered | { readonly sealed: string };

export interface Writes {
  /**
   * Carries out the change that `read` makes of the request, by a key with these scopes, and answers. `action` names it in the
   * audit trail, which also has what was refused or failed. An operation that uses this names {@link idempotencyKey} among its
   * `parameters` and `replayed` among the headers of its answer, and has nothing else to do for it:
   *
   * ```ts
   * handle: (c) =>
   *   writes.run(c, { scopes: 'deals:write', action: 'deal.edit' }, async () => {
   *     const given = await readBody(c, dealChange);
   *     return {
   *       statements: [changeDeal(id, given, originOf(c))],
   *       said: given,
   *       answer: ([deal]) => {
   *         if (deal === null) throw notFound();
   *         return { status: 200, body: deal };
   *       },
   *     };
   *   });
   * ```
   *
   * With an `Idempotency-Key` the answer is remembered in the transaction of the change, for 24 hours, by API key, method, path
   * and `said`, and is given again with `Idempotent-Replayed: true`; asked with anything else, the key is refused with 400. Only
   * an answer is remembered, never an error. Of a deal that was closed to keys since, nothing is given again.
   */
  run<const S extends readonly Statement<unknown>[]>(
    c: Context,
    of: {
      readonly scopes: Scopes;
      readonly action: Action;
      /** The deal that it is about. */
      readonly within?: DealScope | null | undefined;
      /** What a fault means here, where it means something else than everywhere. */
      readonly meaning?: (fault: unknown) => unknown;
      /** `If-Match` is read, and the change is made only where it holds. */
      readonly isConditional?: boolean;
    },
    read: (entry: Entry) => Write<S> | Promise<Write<S>>,
  ): Promise<Response>;
}

/** The SHA-256 digest (32 bytes) of what a request asks for, however it is written. */
const digestOf = (c: Context, said: unknown): Buffer => digestOfRequest([c.req.method, c.req.path, said]);

/** An idempotency key that stands for another request is a fault of this one; a sandbox that is full lasts until it is reset, which it is once in ten seconds. */
export const faultOf = (fault: unknown): unknown => {
  if (!(fault instanceof Refusal)) return fault;
  const { reason, message } = fault;
  if (reason === 'idempotency_key_reused') return invalid([{ in: 'header', path: 'Idempotency-Key', message }]);
  if (reason !== 'sandbox_full' && reason !== 'sandbox_just_reset') return fault;
  return rateLimited(message, secondsToWait(fault), { cause: fault });
};

/** The id in the path of what `action` is about, such as the `contactId` of `contact.merge`, or else of the deal on which it is done. */
function subjectOf(c: Context, action: Action): string | null {
  const ids = [`${action.split('.')[0]}Id`, 'dealId'].map((name) => c.req.param(name) ?? '');
  return ids.find(isUuid)?.toLowerCase() ?? null;
}

/** What leaves a record of `action` where it was refused or failed; `meaning` says what the fault means to the caller. */
export const recordFailure =
  (
    { database, log }: Services,
    action: Action,
    from: Origin,
    meaning: (fault: unknown) => unknown,
    subject: string | null = null,
    within?: DealScope | null,
  ): FailureRecorder =>
  async (digest, fault) => {
    // A database that is away takes no record either, and the caller has waited for it long enough.
    if (fault instanceof Unavailable) return;
    const problem = problemOf(meaning(fault));
    const { status, code } = problem && isKnown(problem.code) ? problem : { status: 500, code: 'internal_error' };
    const record = recordNotDone(action, subject, status < 500 ? 'refused' : 'failed', { status, code }, from);
    await database.together(enterWithApiKey(digest, within), record).catch((lost: unknown) => {
      log.error({ err: lost, requestId: from.requestId }, 'What was refused left no audit record');
    });
  };

/** Carries out changes, once for each `Idempotency-Key`. */
export function openWrites(services: Services, callers: Callers): Writes {
  const { database, secrets } = services;

  /** Makes the change and remembers its answer; gives the answer of an earlier request with the same key where there was one. */
  function doneOnce<const S extends readonly Statement<unknown>[]>(
    { enter, carries, admit }: Entry,
    { statements, answer, isSecret = false, requiredToRepeat }: Write<S>,
    key: string,
    digest: Buffer,
    firstGiven: Statement<Remembered | null>,
    within: DealScope | null | undefined,
  ): Promise<{ answer: Answered; isRepeated: boolean }> {
    const next = ([found, , , ...results]: readonly unknown[]) => {
      const answered = answer(results as unknown as Results<S>, admit(found as KeyCaller | null));
      const text = JSON.stringify(answered);
      const kept = isSecret ? JSON.stringify({ sealed: secrets.seal(text, secretRows.answers) }) : text;
      return { answer: answered, keep: rememberAnswer(key, kept) };
    };
    const first = { statements: [enter, carries, claimIdempotencyKey(key, digest), ...statements], next };
    return once(database, first, async () => {
      const guards = within ? [requireVisible('deals', within.id)] : [];
      const [found, , given] = await database.together(enter, carries, firstGiven, ...guards);
      admit(found);
      if (given === null) return null;
      const answered =
        'sealed' in given ? (JSON.parse(secrets.open(given.sealed, secretRows.answers)) as Answered) : given;
      if (requiredToRepeat) await database.together(enter, requiredToRepeat(answered));
      return answered;
    });
  }

  return {
    async run(c, { scopes, action, within, meaning = (fault) => fault, isConditional = false }, read) {
      const from = originOf(c);
      const subject = subjectOf(c, action);
      const work = async (entry: Entry) => {
        const { key, write } = await entry.reading(async () => {
          refuseConditions(c, isConditional);
          return { key: idempotencyKey.read(c), write: await read(entry) };
        });
        const { isSecret = false } = write;
        try {
          if (key !== null) {
            const digest = digestOf(c, write.said);
            const given = firstAnswer<Remembered>(key, digest, action, subject, from);
            return { ...(await doneOnce(entry, write, key, digest, given, within)), isSecret };
          }
          const [found, , ...results] = await database.together(entry.enter, entry.carries, ...write.statements);
          const caller = entry.admit(found);
          return { answer: write.answer(results as never, caller), isRepeated: false, isSecret };
        } catch (fault) {
          // What the key may not, the policies refuse before it is known what it may.
          if (fault instanceof Denied || fault instanceof Refusal || fault instanceof Invalid) await entry.check();
          throw fault;
        }
      };
      const meant = (fault: unknown) => meaning(faultOf(fault));
      const onFailure = recordFailure(services, action, from, meant, subject, within);
      const { answer, isRepeated, isSecret } = await callers
        .enter(c, scopes, work, { onFailure, within })
        .catch((fault: unknown) => {
          throw meant(fault);
        });
      if (isRepeated) c.header('Idempotent-Replayed', 'true');
      return answerJson(c, answer, isSecret);
    },
  };
}
