/** Reads the body of a token or revocation request: a form, or a JSON object of strings (specification, section 4.2). */

import type { Context } from 'hono';
import { bodyType, boundedText } from '../http/bounded-body.ts';
import { invalidRequest } from './oauth-error.ts';
import { jsonParameters, urlencodedParameters, type Parameters } from './parameters.ts';

/** In bytes; more than any of our parameters needs. */
const largestBody = 16_384;

const form = 'application/x-www-form-urlencoded';

/**
 * The parameters of the body; query parameters are ignored. Throws invalid_request when the body cannot be read, or
 * when one of `known` is malformed or, except for resource, repeated.
 */
export async function bodyParameters(c: Context, known: readonly string[]): Promise<Parameters> {
  const { type, charset } = bodyType(c);
  if (type !== form && type !== 'application/json') {
    throw invalidRequest(`Send the parameters as ${form} or application/json.`, 415);
  }
  if (charset !== undefined && charset !== 'utf-8') throw invalidRequest('Send the body in UTF-8.', 415);
  const body = await boundedText(c, largestBody);
  if (body === 'too_large') throw invalidRequest(`The body is too large: send at most ${largestBody} bytes.`);
  if (body === 'not_text') throw invalidRequest('The body is not UTF-8: send it in UTF-8.');
  const parameters = type === form ? urlencodedParameters(body.text) : jsonParameters(body.text);
  if (parameters === null)
    throw invalidRequest('The body must be a JSON object whose values are strings: send it so, or as a form.');
  for (const name of known) {
    if (name !== 'resource' && parameters.isRepeated(name))
      throw invalidRequest(`${name} was sent more than once: send it once.`);
    if (parameters.isMalformed(name))
      throw invalidRequest(`${name} is not well-formed UTF-8: send it percent-encoded in UTF-8.`);
  }
  return parameters;
}

/** The value of a required parameter; throws invalid_request when it is missing. */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.one(name);
  if (value === undefined) throw invalidRequest(`${name} is missing: send it.`);
  return value;
}
