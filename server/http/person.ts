/** Runs statements in the name of the person whose session the request carries. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import type { Results } from '../database/database.ts';
import { Denied, Refusal } from '../database/errors.ts';
import type { Statement } from '../database/statement.ts';
import { enterWithSession, requirePerson, type SessionCaller } from '../domain/accounts/sessions.ts';
import type { DealScope } from '../domain/visibility/deal-scope.ts';
import { readOnly } from './csrf.ts';
import { Problem } from './problem.ts';
import { sessionDigest } from './session.ts';

/** 401: nobody is signed in, or not any longer. */
export const signedOut = (): Problem => new Problem(401, 'signed_out', 'You are signed out. Sign in and try again.');

/**
 * Whether a person is at the page that sends the request. The application marks requests that it sends when nobody has
 * touched it for a minute, such as reloads caused by a change.
 */
const isAttended = (c: Context): boolean => c.req.header('x-unattended') === undefined;

/**
 * Returns a function that runs statements in the name of the signed-in person, and returns the person and the results,
 * in one transaction and one round trip. It throws the problem from `nobody` when the session is missing or has ended.
 * `within` is the deal that the statements are about, so that none of the person's other deals is looked at.
 */
export const personOr =
  (nobody: () => Problem, within: DealScope | null = null) =>
  async <const S extends readonly Statement<unknown>[]>(
    { database }: Services,
    c: Context,
    ...statements: S
  ): Promise<[SessionCaller, ...Results<S>]> => {
    const digest = sessionDigest(c);
    if (digest === null) throw nobody();
    const enter = enterWithSession(digest, isAttended(c), within);
    const first = readOnly.has(c.req.method) ? [] : [requirePerson()];
    const [person, ...answers] = await database
      .together(enter, ...first, ...statements)
      .catch(async (error: unknown) => {
        // A person who is no longer signed in is denied everything: tell them that instead.
        const refused = error instanceof Denied || error instanceof Refusal;
        if (refused && (await database.run(enter)) === null) throw nobody();
        throw error;
      });
    if (person === null) throw nobody();
    c.set('personId', person.user_id);
    return [person, ...(answers.slice(first.length) as Results<S>)];
  };

/** The id of the person in whose name this request was answered, or null. */
export const personIdOf = (c: Context): string | null => (c.get('personId') as string | undefined) ?? null;

/** The person and the results. Throws 401 when nobody is signed in. */
export const withPerson = personOr(signedOut);

/** The same for statements about one deal, or about a record of one. */
export const withPersonWithin = (within: DealScope | null) => personOr(signedOut, within);

/** The results alone. Throws 401 when nobody is signed in. */
export async function asPerson<const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  ...statements: S
): Promise<Results<S>> {
  return asPersonWithin(services, c, null, ...statements);
}

/** The same for statements about one deal, or about a record of one. */
export async function asPersonWithin<const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  within: DealScope | null,
  ...statements: S
): Promise<Results<S>> {
  const [, ...answers] = await withPersonWithin(within)(services, c, ...statements);
  return answers as Results<S>;
}
