/** JSON from strangers, read strictly: what other parsers let pass in silence is refused in a sentence. */

import { deepestJson, isTooDeep, jsonTokens } from '../http/json-text.ts';

/** The text cannot be taken; `path` says where, '' for the whole. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

type Level = { keys: Set<string> | null; key: string };

function pathOf(levels: readonly Level[]): string {
  return levels
    .filter(({ keys }) => keys !== null)
    .map(({ key }) => key)
    .join('.');
}

/** Refuses a property that an object has twice: JSON.parse would keep the last and drop the others. */
function checkDuplicates(text: string): void {
  const levels: Level[] = [];
  let last = '';
  for (const token of jsonTokens(text)) {
    const level = levels.at(-1);
    if (token === '{' || token === '[') levels.push({ keys: token === '{' ? new Set() : null, key: '' });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ':' && level?.keys) {
      level.key = JSON.parse(last) as string;
      if (level.keys.has(level.key)) throw new JsonFault(pathOf(levels), 'This property appears twice: send it once.');
      level.keys.add(level.key);
    } else last = token;
  }
}

/** The value of a JSON text in UTF-8. Throws {@link JsonFault} for anything that is not plain, unambiguous JSON. */
export function readJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new JsonFault('', 'The body is not valid UTF-8.');
  }
  if (text.trim() === '') throw new JsonFault('', 'The body is empty: send a JSON object.');
  if (isTooDeep(text)) throw new JsonFault('', `The JSON is nested too deeply: at most ${deepestJson} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonFault('', 'The body is not valid JSON.');
  }
  checkDuplicates(text);
  return value;
}
