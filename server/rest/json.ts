/** Reads untrusted JSON strictly: input that other parsers silently accept is rejected with a message. */

import { deepestJson, isTooDeep, repeatedProperties } from '../http/json-text.ts';
import type { Problem } from '../http/problem.ts';
import { invalid } from './envelope.ts';

/** A key of the body for a message, shortened to what is needed to find it. */
export const shown = (key: string): string => (key.length > 100 ? `${key.slice(0, 100)}…` : key);

/** The problem of a text that is rejected; `path` says where, '' for the whole text. */
const unfit = (path: string, message: string): Problem => invalid([{ in: 'body', path: shown(path), message }]);

/** The value of a JSON text in UTF-8. Throws a problem of 400 for anything that is not plain, unambiguous JSON. */
export function readJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unfit('', 'The body is not valid UTF-8.');
  }
  if (text.trim() === '') throw unfit('', 'The body is empty: send a JSON object.');
  if (isTooDeep(text)) throw unfit('', `The JSON is nested too deeply: at most ${deepestJson} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unfit('', 'The body is not valid JSON.');
  }
  const [repeated] = repeatedProperties(text);
  if (repeated) throw unfit(repeated.join('.'), 'This property appears twice: send it once.');
  return value;
}
