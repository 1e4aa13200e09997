/** Text in files: its encoding, and whether a browser would treat it as a page. */

const marks: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

// Tab, line feed, form feed and carriage return are ordinary in text, and some mails contain escape.
// oxlint-disable-next-line no-control-regex
const notText = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f]/;

function decode(bytes: Uint8Array, encoding: string, whole: boolean): string | null {
  try {
    // The beginning of a file may end within a character.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: !whole });
  } catch {
    return null;
  }
}

/**
 * Decodes bytes as UTF-16 when a byte order mark says so, as UTF-8, or otherwise as Windows-1252, which older programs
 * write. Null when they are not text. `whole` says whether this is all of the file.
 */
export function readText(bytes: Uint8Array, whole = true): string | null {
  const marked = marks.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1];
  const text = decode(bytes, marked ?? 'utf-8', whole) ?? (marked ? null : decode(bytes, 'windows-1252', whole));
  return text === null || notText.test(text) ? null : text;
}

const comments = /^(\s|<!--[\s\S]*?-->|<\?xml[\s\S]*?\?>)+/;
const pageStart =
  /^(<(!doctype\s+html|html|head|body|script|iframe|style|title|meta|h1|div|font|table|a|b|br|p|svg)[\s>/]|<\?php|<%|#!)/i;

/** Whether text begins like a page that browsers recognize (WHATWG MIME Sniffing, 7.1), or like a script. */
export function looksLikePage(text: string): boolean {
  return pageStart.test(text.replace(comments, ''));
}
