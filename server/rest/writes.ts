/**
 * Operations that change something: each change is made in one transaction with its audit record, and only once however
 * often it is requested with the same `Idempotency-Key`.
 */

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
import { tagsIn } from '../http/entity-tags.ts';
import { originOf } from '../http/origin.ts';
import { problemOf, secondsToWait } from '../http/problem.ts';
import { isUuid } from '../lib/uuid.ts';
import { secretRows } from '../lib/secrets.ts';
import { answerJson, type Answered } from './answer.ts';
import type { Callers, Entry, Scopes, FailureRecorder } from './caller.ts';
import { invalid, isKnown, rateLimited } from './envelope.ts';
import { headerParameter } from './operation.ts';

/** `Idempotency-Key`, a parameter of every operation that {@link Writes} carries out. */
export const idempotencyKey = headerParameter(
  'Idempotency-Key',
  {
    description:
      'Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    message: 'Send one key of 1 to 255 visible ASCII characters, or leave the header out.',
  },
  (value) => (isIdempotencyKey(value) ? value : undefined),
);

/** The entity tags of an `If-Match`, without quotes; '*' for any. Weak tags never match (RFC 9110, section 13.1.1). */
export function tagsOf(header: string): readonly string[] {
  const tags = tagsIn(header);
  return tags === '*' ? ['*'] : tags.filter((tag) => !tag.startsWith('W/')).map((tag) => tag.slice(1, -1));
}

/** `If-Match`: the entity tags that the record, such as a "contact", may have. */
export const ifMatchOf = (record: string) =>
  headerParameter(
    'If-Match',
    {
      description: `Changes the ${record} only if this is its current entity tag, so that no newer change is overwritten.`,
      schema: { type: 'string' },
      message: 'Send entity tags in quotes, or *.',
    },
    (value): readonly string[] => tagsOf(value),
  );

/**
 * Rejects conditional headers that the operation ignores, since the change would be made whether they hold or not (RFC
 * 9110, section 13.2.1). `If-Match: *` always holds for what can be changed.
 */
export function refuseConditions(c: Context, isConditional = false): void {
  const looksAtIfMatch = isConditional || c.req.header('If-Match')?.trim() === '*';
  for (const name of looksAtIfMatch ? ['If-None-Match'] : ['If-Match', 'If-None-Match'])
    if (c.req.header(name) !== undefined)
      throw invalid([
        {
          in: 'header',
          path: name,
          message: 'This operation does not support it: leave it out, or read the record first.',
        },
      ]);
}

/** One change as requested. */
export interface Write<S extends readonly Statement<unknown>[]> {
  /** The statements that make the change and its audit record: all of them or none. */
  readonly statements: S;
  /**
   * The validated input: the body, and the query parameters that affect the change. Any JSON value. `If-Match` is not
   * part of it: a client that repeats a change may have read the new tag meanwhile.
   */
  readonly said: unknown;
  /**
   * Makes the response from the results. Throws a Problem only if nothing was changed, and has no side effects, since
   * it may be called twice.
   */
  readonly answer: (results: Results<S>, caller: KeyCaller) => Answered;
  /** Whether the response shows a secret once: the response is then remembered encrypted. */
  readonly isSecret?: boolean;
  /**
   * A statement that refuses to repeat a response to a key that can no longer see its subject; for subjects other than
   * the deal that the request is about.
   */
  readonly requiredToRepeat?: (answered: Answered) => Statement<unknown>;
}

type Remembered = Answered | { readonly sealed: string };

export interface Writes {
  /**
   * Carries out the change that `read` derives from the request, by a key with these scopes, and responds. `action` is
   * its name in the audit trail, which also records rejected and failed changes. An operation that uses this lists
   * {@link idempotencyKey} among its `parameters` and `replayed` among the headers of its response; nothing else is
   * needed:
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
   * With an `Idempotency-Key` the response is remembered in the transaction of the change, for 24 hours, by API key,
   * method, path and `said`, and is repeated with `Idempotent-Replayed: true`; the same idempotency key with a
   * different request is rejected with 400. Only successful responses are remembered, never errors. If the deal has
   * been closed to keys since, no response is repeated.
   */
  run<const S extends readonly Statement<unknown>[]>(
    c: Context,
    of: {
      readonly scopes: Scopes;
      readonly action: Action;
      /** The deal that the change is about. */
      readonly within?: DealScope | null | undefined;
      /** Translates errors that mean something else here than elsewhere. */
      readonly meaning?: (fault: unknown) => unknown;
      /** Whether `If-Match` is read, and the change made only if it holds. */
      readonly isConditional?: boolean;
    },
    read: (entry: Entry) => Write<S> | Promise<Write<S>>,
  ): Promise<Response>;
}

/** The SHA-256 digest (32 bytes) of the meaning of a request, independent of its formatting. */
const digestOf = (c: Context, said: unknown): Buffer => digestOfRequest([c.req.method, c.req.path, said]);

/**
 * Translates errors: an idempotency key that was used for another request is a fault of this request (400); a sandbox
 * that is full stays so until it is reset, which is possible once in ten seconds (429).
 */
export const faultOf = (fault: unknown): unknown => {
  if (!(fault instanceof Refusal)) return fault;
  const { reason, message } = fault;
  if (reason === 'idempotency_key_reused') return invalid([{ in: 'header', path: 'Idempotency-Key', message }]);
  if (reason !== 'sandbox_full' && reason !== 'sandbox_just_reset') return fault;
  return rateLimited(message, secondsToWait(fault), { cause: fault });
};

/**
 * The id in the path of the subject of `action`, such as the `contactId` of `contact.merge`, otherwise of the deal that
 * `action` is done on.
 */
function subjectOf(c: Context, action: Action): string | null {
  const ids = [`${action.split('.')[0]}Id`, 'dealId'].map((name) => c.req.param(name) ?? '');
  return ids.find(isUuid)?.toLowerCase() ?? null;
}

/**
 * Returns a recorder that writes an audit record of a rejected or failed `action`; `meaning` translates the error for
 * the caller.
 */
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
    // An unavailable database cannot store a record either, and the caller has waited long enough.
    if (fault instanceof Unavailable) return;
    const problem = problemOf(meaning(fault));
    const { status, code } = problem && isKnown(problem.code) ? problem : { status: 500, code: 'internal_error' };
    const record = recordNotDone(action, subject, status < 500 ? 'refused' : 'failed', { status, code }, from);
    await database.together(enterWithApiKey(digest, within), record).catch((lost: unknown) => {
      log.error({ err: lost, requestId: from.requestId }, 'a refused or failed change left no audit record');
    });
  };

/** Carries out changes, once for each `Idempotency-Key`. */
export function openWrites(services: Services, callers: Callers): Writes {
  const { database, secrets } = services;

  /**
   * Makes the change and remembers its response; returns the response of an earlier request with the same idempotency
   * key if there was one.
   */
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
          // The policies may reject the change before the scopes are checked: a missing scope is reported first.
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
