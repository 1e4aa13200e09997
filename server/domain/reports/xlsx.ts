/** Writes sheets as an XLSX workbook. */

import writeExcelFile, { type CellObject } from 'write-excel-file/node';
import { sanitizeTextContent } from 'write-excel-file/utility';
import { amountFormat, at, formats, letters, type ReportSheet, type SheetCell } from './cells.ts';

export type Paper = 'A4' | 'Letter';

/** Paper sizes as the XLSX format numbers them. */
const papers: Readonly<Record<Paper, number>> = { Letter: 1, A4: 9 };
const colors = { faint: '#6b6f76', head: '#f1f2f4', line: '#c9ccd1' };

/**
 * At most this many characters of a cell, and of the name in a printed page's footer, which shares its line with the
 * sheet's name.
 */
const longest = { cell: 32_000, footer: { landscape: 44, portrait: 30 } };

/** Height in points of a line in a cell, and the highest row. */
const line = { normal: 15, title: 19, most: 405 };
/** Sum of the column widths that fit on a printed page at seven tenths of its size, which is still legible. */
const pageHolds = { landscape: 185, portrait: 130 };

type WriterOptions = NonNullable<Parameters<typeof writeExcelFile>[1]>;
type Feature = NonNullable<WriterOptions['features']>[number];

/**
 * Text as the library accepts it: without lone surrogates, with text that looks like the format's own escapes
 * (`_x0041_`) escaped, and with a space after a name that every object has ("constructor"), as the library looks up
 * texts in a plain object.
 */
function plain(text: string): string {
  const whole = text.toWellFormed().replaceAll(/_(?=x[\dA-Fa-f]{4}_)/g, '_x005F_');
  const cut = whole.slice(0, longest.cell).toWellFormed();
  return cut in {} ? `${cut} ` : cut;
}

/** Characters that are twice as wide as others. */
const wide =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]|\p{Extended_Pictographic}/gu;
const widthOf = (text: string): number => text.length + (text.match(wide)?.length ?? 0);

/** The approximate number of lines that a text takes in a column. */
function linesOf(text: string, width: number): number {
  return text.split('\n').reduce((all, paragraph) => {
    let [lines, used] = [1, 0];
    for (const word of paragraph.split(' ')) {
      const needed = widthOf(word);
      if (used > 0 && used + 1 + needed > width) [lines, used] = [lines + 1, 0];
      lines += Math.max(0, Math.ceil(needed / width) - 1);
      used += Math.min(needed, width) + (used > 0 ? 1 : 0);
    }
    return all + lines;
  }, 0);
}

/** The height in points of a row that shows all of its wrapped text; undefined when each cell takes a single line. */
function heightOf(row: ReportSheet['rows'][number], widths: readonly number[]): number | undefined {
  const heights = row.map((cell, column) => {
    if (!cell || !('text' in cell) || !(cell.wrap || cell.head || cell.title)) return line.normal;
    const width = widths.slice(column, column + (cell.span ?? 1)).reduce((sum, one) => sum + one, 0);
    const size = cell.title ? line.title : line.normal;
    // Column widths count digits: letters are narrower, bold letters less so, larger ones wider.
    const letter = cell.title ? 1.3 : cell.bold ? 1 : 0.92;
    return cell.title && !cell.span && !cell.wrap
      ? size
      : size * linesOf(cell.text.slice(0, longest.cell), (width - 1) / letter);
  });
  const height = Math.max(...heights);
  return height > line.normal ? Math.min(height, line.most) : undefined;
}

function cellOf(cell: SheetCell | null, height: number | undefined, amounts: string): CellObject | null {
  if (cell === null) return null;
  const { bold, faint, wrap, title, head, indent, span } = cell;
  const look: CellObject = {
    ...(bold || title ? { fontWeight: 'bold' } : {}),
    ...(title ? { fontSize: 14 } : {}),
    ...(faint ? { textColor: colors.faint } : {}),
    ...(wrap || head || span ? { wrap: true } : {}),
    ...(span ? { columnSpan: span } : {}),
    ...(indent ? { align: 'left', indent: 1 } : {}),
    ...(height === undefined ? {} : { height }),
    ...(head
      ? {
          backgroundColor: colors.head,
          bottomBorderStyle: 'thin',
          bottomBorderColor: colors.line,
          alignVertical: 'bottom',
        }
      : { alignVertical: 'top' }),
  };
  if ('text' in cell)
    return { ...look, ...(cell.right ? { align: 'right' } : {}), type: String, value: plain(cell.text) };
  if ('day' in cell) {
    const value = new Date(`${cell.day}T00:00:00Z`);
    return { ...look, type: Date, value, format: formats.day, align: cell.right ? 'right' : 'left' };
  }
  const format = cell.format === 'amount' ? amounts : formats[cell.format];
  if ('number' in cell) return { ...look, type: Number, value: cell.number, format };
  return { ...look, type: 'Formula', value: cell.formula, format };
}

/** The results of a sheet's formulas by cell, for readers that show a workbook without computing it. */
function cachedValues(sheet: ReportSheet): Map<string, number | string> {
  const values = new Map<string, number | string>();
  sheet.rows.forEach((row, rowAt) =>
    row.forEach((cell, column) => {
      if (cell && 'formula' in cell && cell.comes !== null) values.set(at(column, rowAt + 1), cell.comes);
    }),
  );
  return values;
}

/** A text cut to at most `most` characters, for a footer. "&" is doubled, as it begins Excel's own codes. */
function footerText(text: string, most: number): string {
  const whole = plain(text);
  const cut = whole.length > most ? `${whole.slice(0, most - 1).trimEnd()}…` : whole;
  return cut.toWellFormed().replaceAll('&', '&&');
}

/** The number of pages side by side that a sheet is printed on; the frozen columns are repeated on each. */
function pagesWide({ widths, frozen, landscape }: ReportSheet): number {
  const [kept, others] = [widths.slice(0, frozen?.columns ?? 0), widths.slice(frozen?.columns ?? 0)].map((part) =>
    part.reduce((sum, width) => sum + width, 0),
  ) as [number, number];
  return Math.max(1, Math.ceil(others / (pageHolds[landscape ? 'landscape' : 'portrait'] - kept)));
}

/** Minimum width of the column that holds the sheet's title and sentence. */
const leastForTitle = 30;

/**
 * A sheet as it is written. When it is printed on several pages side by side, the title and sentence are wrapped within
 * the frozen columns: beyond them, they would be cut off on all pages but the first.
 */
function fitted(sheet: ReportSheet): ReportSheet {
  const { frozen, widths, rows } = sheet;
  if (!frozen || pagesWide(sheet) === 1) return sheet;
  return {
    ...sheet,
    widths: widths.map((width, column) => (column === 0 ? Math.max(width, leastForTitle) : width)),
    rows: rows.map((row, place) =>
      place < frozen.rows ? row.map((cell) => cell && ('text' in cell ? { ...cell, wrap: true } : cell)) : row,
    ),
  };
}

/** Adds the parts of the files that the library omits: results of formulas, and how each sheet is printed. */
function printed(sheets: readonly ReportSheet[], paper: Paper, [name, day]: Footer): Feature {
  const sheetXml = (xml: string, sheet: ReportSheet): string => {
    const values = cachedValues(sheet);
    const orientation = sheet.landscape ? 'landscape' : 'portrait';
    const foot = sanitizeTextContent(`&L${footerText(name, longest.footer[orientation])} · ${day}&C&A&R&P of &N`);
    return xml
      .replace(/<worksheet [^>]*>/, (tag) => `${tag}<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>`)
      .replace(/<c r="([A-Z]+\d+)"([^>]*)>(<f>[^<]*<\/f>)<\/c>/g, (whole, cell: string, rest: string, body: string) => {
        const value = values.get(cell);
        if (value === undefined) return whole;
        const written = sanitizeTextContent(String(value));
        return `<c r="${cell}"${rest}${typeof value === 'string' ? ' t="str"' : ''}>${body}<v>${written}</v></c>`;
      })
      .replace(
        '</worksheet>',
        () =>
          '<pageMargins left="0.5" right="0.5" top="0.6" bottom="0.7" header="0.3" footer="0.3"/>' +
          `<pageSetup paperSize="${papers[paper]}" orientation="${orientation}" fitToWidth="${pagesWide(sheet)}" fitToHeight="0"/>` +
          `<headerFooter><oddFooter>${foot}</oddFooter></headerFooter></worksheet>`,
      );
  };
  const titles = sheets
    .flatMap(({ name: sheet, frozen }, place) =>
      frozen
        ? `<definedName name="_xlnm.Print_Titles" localSheetId="${place}">'${sheet}'!$A:$${letters(frozen.columns - 1)},'${sheet}'!$1:$${frozen.rows}</definedName>`
        : [],
    )
    .join('');
  return {
    files: {
      transform: {
        'xl/workbook.xml': {
          transform: (xml) =>
            titles === '' ? xml : xml.replace(/<definedNames *\/>/, () => `<definedNames>${titles}</definedNames>`),
        },
        'xl/worksheets/sheet{id}.xml': {
          transform: (xml, _options, { sheetIndex }) => {
            const sheet = sheets[sheetIndex];
            return sheet ? sheetXml(xml, sheet) : xml;
          },
        },
      },
    },
  };
}

/** The footer of every printed page: a name and the day of the report. */
type Footer = readonly [name: string, day: string];

/** Writes the sheets, with amounts in this currency, as a workbook; returns its bytes. */
export function writeXlsx(
  contents: readonly ReportSheet[],
  currency: string,
  paper: Paper,
  footer: Footer,
): Promise<Buffer> {
  const amounts = amountFormat(currency);
  const sheets = contents.map(fitted);
  const written = sheets.map((sheet) => ({
    sheet: sheet.name,
    data: sheet.rows.map((row) => {
      const height = heightOf(row, sheet.widths);
      return row.map((cell) => cellOf(cell, height, amounts));
    }),
    columns: sheet.widths.map((width) => ({ width })),
    ...(sheet.frozen ? { stickyRowsCount: sheet.frozen.rows, stickyColumnsCount: sheet.frozen.columns } : {}),
  }));
  return writeExcelFile(written, {
    fontFamily: 'Calibri',
    fontSize: 11,
    features: [printed(sheets, paper, footer)],
  }).toBuffer();
}
