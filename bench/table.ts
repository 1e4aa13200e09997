/** Tables for the terminal. */

/** Returns the rows below their headings, numbers aligned right. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return /^[\d,.–]|^$/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(heads), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

/** Formats a number without decimals, grouped by thousands. */
export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
/** Formats milliseconds, with two decimals below ten and one above. */
export const millis = (value: number): string => value.toFixed(value < 10 ? 2 : 1);
/** Formats a part of a whole in percent, without decimals. */
export const percent = (part: number, of: number): string => `${Math.round((part / of) * 100)} %`;
