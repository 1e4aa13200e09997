/** Scans text that may or may not be JSON, in linear time whatever the text is. */

/** Maximum nesting of JSON: parsing, writing and walking through it use memory for each level. */
export const deepestJson = 32;

const quote = 0x22;
const backslash = 0x5c;

/**
 * The index after the string that begins at `begin`: after its closing quotation mark, or the end of the text if there
 * is none.
 */
function stringEnd(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    // A quotation mark is escaped only by an odd number of backslashes.
    if ((at - before) % 2 === 1) return at + 1;
  }
  return text.length;
}

/**
 * The strings of a JSON text, including quotation marks, and the punctuation between them; in valid JSON the remaining
 * text is scalars and white space.
 */
function* jsonTokens(text: string): Generator<string, void> {
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = stringEnd(text, at);
        yield text.slice(at, end);
        at = end - 1;
        break;
      }
      case 0x7b:
      case 0x7d:
      case 0x5b:
      case 0x5d:
      case 0x2c:
      case 0x3a:
        yield text.charAt(at);
    }
  }
}

interface Level {
  /** Null in an array. */
  readonly names: Set<string> | null;
  name: string;
}

/**
 * The properties that occur more than once in an object of valid JSON, each as its path of names: JSON.parse keeps the
 * last and drops the others.
 */
export function* repeatedProperties(text: string): Generator<string[], void> {
  const levels: Level[] = [];
  let last = '';
  for (const token of jsonTokens(text)) {
    const level = levels.at(-1);
    if (token === '{' || token === '[') levels.push({ names: token === '{' ? new Set() : null, name: '' });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ':' && level?.names) {
      level.name = JSON.parse(last) as string;
      if (level.names.has(level.name)) yield levels.filter(({ names }) => names !== null).map(({ name }) => name);
      level.names.add(level.name);
    } else last = token;
  }
}

/** Whether the text opens more than {@link deepestJson} nesting levels. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = stringEnd(text, at) - 1;
        break;
      case 0x7b:
      case 0x5b:
        depth += 1;
        if (depth > deepestJson) return true;
        break;
      case 0x7d:
      case 0x5d:
        depth -= 1;
    }
  }
  return false;
}
