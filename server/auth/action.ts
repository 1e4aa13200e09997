/** Shared by the sign-in routes that change something: reading the body, and reporting errors in it. */

import type { Context, Env, TypedResponse } from 'hono';
import { z } from 'zod';
import { isEmailAddress, longestEmailAddress } from '../lib/email-address.ts';
import { passwordLength } from '../domain/accounts/password-rules.ts';
import { bodyAtMost, bodyType, largestChange, sendJson } from '../http/bounded-body.ts';
import { asToken } from '../domain/accounts/secret-tokens.ts';
import { isWithin } from '../domain/characters.ts';
import { errorsOf, invalid, Problem, tooLarge, writeProblemJson } from '../http/problem.ts';
import { checkName } from '../http/values.ts';

/** The body of a change is small; a body of more than 64 KiB is rejected with 413. */
export const smallBody = bodyAtMost(largestChange, (c) =>
  writeProblemJson(c, tooLarge(`The request body is too large: the limit is ${largestChange} bytes.`)),
);

async function readBody(c: Context): Promise<unknown> {
  const { type } = bodyType(c);
  const text = await c.req.text();
  if (type !== 'application/json' && text !== '') {
    throw new Problem(415, 'validation_error', sendJson);
  }
  try {
    const value: unknown = JSON.parse(text || '{}');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Rejected below, like JSON that is not an object.
  }
  throw new Problem(400, 'validation_error', 'The body must be a JSON object.');
}

/** A request whose body has the schema's input type when sent, and its output type when handled. */
type Sent<S extends z.ZodType> = Context<Env, string, { in: { json: z.input<S> }; out: { json: z.output<S> } }>;

async function inputOf<S extends z.ZodType>(c: Context, schema: S): Promise<z.output<S>> {
  const parsed = schema.safeParse(await readBody(c));
  if (!parsed.success) throw invalid(errorsOf(parsed.error));
  return parsed.data;
}

/**
 * Handles a change: `handle` gets the body parsed by the schema, and its result is the response. The type of the route
 * includes the type of the body.
 */
export function action<S extends z.ZodType, R extends object>(
  schema: S,
  handle: (c: Context, input: z.output<S>) => Promise<R>,
) {
  return async (c: Sent<S>) => c.json(await handle(c, await inputOf(c, schema)));
}

/**
 * The same for a result that is a JSON text of an object. It is sent unchanged: parsing and writing many megabytes
 * would block all other requests of the node, and round its numbers.
 */
export function textAction<S extends z.ZodType>(
  schema: S,
  handle: (c: Context, input: z.output<S>) => Promise<string>,
) {
  return async (c: Sent<S>) => {
    const answer: Response = c.body(await handle(c, await inputOf(c, schema)), 200, {
      'Content-Type': 'application/json',
    });
    return answer as Response & TypedResponse<Record<string, unknown>, 200, 'json'>;
  };
}

const text = (missing: string) => z.string({ error: missing });

const incompleteLink = 'The link is incomplete: open it again from where you got it.';

/** The fields of bodies, with the messages for invalid values. */
export const fields = {
  email: text('Enter an e-mail address.')
    .trim()
    .toLowerCase()
    .max(longestEmailAddress, `Enter an e-mail address of at most ${longestEmailAddress} characters.`)
    .refine(isEmailAddress, 'Enter an e-mail address, such as ann@example.com.'),
  // Bounded also where no password is chosen: normalizing text takes time quadratic in the number of its combining
  // marks.
  password: text('Enter a password.')
    .min(1, 'Enter a password.')
    .refine(isWithin(passwordLength.most), `Enter a password of at most ${passwordLength.most} characters.`),
  name: text('Enter a name.').trim().superRefine(checkName),
  token: text(incompleteLink).refine((value) => asToken(value) !== null, incompleteLink),
  id: z.uuid({ error: 'Send the id.' }),
};
