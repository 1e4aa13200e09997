/** How deeply JSON may be nested: walking through it, as reading and writing do, takes room for each level. */

/** The most levels. */
export const deepestJson = 32;

// Strings, or the marks that open and close; on text that may still turn out not to be JSON.
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs;

/** Whether the text opens more levels than anybody needs. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (depth > deepestJson) return true;
  }
  return false;
}
