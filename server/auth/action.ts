/** What the changes of this routes have in common: reading what was sent, answering a program and a form alike. */

import type { Context, Handler } from 'hono';
import { z } from 'zod';
import { Unavailable } from '../database/errors.ts';
import { isEmailAddress, longestEmailAddress } from '../domain/people/email-address.ts';
import { keepsDirection, oneLine } from '../domain/people/names.ts';
import { passwordLength } from '../domain/accounts/password-rules.ts';
import { bodyAtMost } from '../http/bounded-body.ts';
import { problem } from '../http/pages.ts';
import { Problem as Fault, problemOf, setHeaders } from '../http/problem.ts';
import { signInFirst } from '../http/sign-in-first.ts';

export { Problem as Fault } from '../http/problem.ts';

/** The session is missing or has ended. */
export class SignedOut extends Error {
  override readonly name = 'SignedOut';
}

/** It was done: what a program is told, and where a form goes (303), or the page that it shows. */
export interface Done {
  readonly json: object;
  readonly go: string | ((c: Context) => Response | Promise<Response>);
}

/** Shows the form again, with what was entered and why it was not done. */
export type Again = (
  c: Context,
  fault: Fault,
  entered: Readonly<Record<string, string>>,
) => Response | Promise<Response>;

const largestBody = 65_536;

/** The body of a change is small; more than 64 KiB is refused with 413. */
export const smallBody = bodyAtMost(largestBody, (c) =>
  problem(c, 413, 'too_large', `This is too large: at most ${largestBody} bytes.`),
);

function mediaType(c: Context): string {
  return (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

async function readBody(c: Context): Promise<Record<string, unknown>> {
  const text = await c.req.text();
  if (isForm(c)) return Object.fromEntries(new URLSearchParams(text));
  if (mediaType(c) !== 'application/json' && text !== '') {
    throw new Fault(415, 'validation_error', 'Send a form, or JSON with the header Content-Type: application/json.');
  }
  try {
    const value: unknown = JSON.parse(text || '{}');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new Fault(400, 'validation_error', 'The body must be a JSON object.');
}

function isForm(c: Context): boolean {
  return mediaType(c) === 'application/x-www-form-urlencoded';
}

/** The answer to a fault: as JSON, or as the page that `show` makes of it. Anything unexpected is thrown on. */
async function answerFault(
  c: Context,
  error: unknown,
  asPage: boolean,
  show: (fault: Fault) => Response | Promise<Response>,
): Promise<Response> {
  if (error instanceof SignedOut) return signInFirst(c);
  const fault = problemOf(error);
  if (fault === null || error instanceof Unavailable) throw error;
  setHeaders(c, fault);
  if (asPage) return show(fault);
  return c.json({ error: { code: fault.code, message: fault.message } }, fault.status);
}

/** Sends the person to prove that it is them, and then back to `path`. */
export function reauthenticate(c: Context, path: string): Response {
  return c.redirect(`/re-authenticate?${new URLSearchParams({ return_to: path })}`, 303);
}

/**
 * Handles a change. A program sends JSON and gets JSON; a form is sent on (303), or shown again with what is wrong.
 * `back` is where a person returns who first has to prove that it is them.
 */
export function action<T>(
  schema: z.ZodType<T>,
  handle: (c: Context, input: T) => Promise<Done>,
  again: Again,
  back = '/settings/security',
): Handler {
  return async (c) => {
    let entered: Record<string, unknown> = {};
    const form = isForm(c);
    try {
      entered = await readBody(c);
      const parsed = schema.safeParse(entered);
      if (!parsed.success) throw invalid(parsed.error);
      const { json, go } = await handle(c, parsed.data);
      if (!form) return c.json(json);
      return typeof go === 'string' ? c.redirect(go, 303) : await go(c);
    } catch (error) {
      return answerFault(c, error, form, (fault) => {
        if (fault.code === 'recent_sign_in_required') return reauthenticate(c, back);
        return again(c, fault, entered as Record<string, string>);
      });
    }
  };
}

/** Handles a page, or a look at something: what is wrong is shown as a page of its own. */
export function view(handle: (c: Context) => Promise<Response>): Handler {
  return async (c) => {
    try {
      return await handle(c);
    } catch (error) {
      return answerFault(c, error, true, (fault) => {
        if (fault.code === 'recent_sign_in_required') return reauthenticate(c, c.req.path);
        return problem(c, fault.status, fault.code, fault.message);
      });
    }
  };
}

function invalid(error: z.ZodError): Fault {
  const [issue] = error.issues;
  return new Fault(400, 'validation_error', issue?.message ?? 'Something is missing.');
}

const text = (missing: string) => z.string({ error: missing });
const isWithin = (codePoints: number) => (value: string) => [...value].length <= codePoints;

/** What forms and programs send, with what to say when it does not fit. */
export const fields = {
  email: text('Enter an e-mail address.')
    .trim()
    .toLowerCase()
    .max(longestEmailAddress, `Enter an e-mail address of at most ${longestEmailAddress} characters.`)
    .refine(isEmailAddress, 'Enter an e-mail address, such as ann@example.com.'),
  // Bounded where no password is chosen too: bringing text to its normal form takes the square of its combining marks.
  password: text('Enter a password.')
    .min(1, 'Enter a password.')
    .refine(isWithin(passwordLength.most), `Enter a password of at most ${passwordLength.most} characters.`),
  name: text('Enter a name.')
    .trim()
    .min(1, 'Enter a name.')
    .max(200, 'Enter a name of at most 200 characters.')
    .regex(oneLine, 'Enter a name without line breaks.')
    .regex(keepsDirection, 'Enter a name without signs that turn the direction of writing.'),
  token: text('The link is not complete: open it again from where you got it.').regex(
    /^[A-Za-z0-9_-]{43}$/,
    'The link is not complete: open it again from where you got it.',
  ),
  id: z.uuid({ error: 'Send the id.' }),
  returnTo: z.string().optional(),
};
