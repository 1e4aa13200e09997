/** Writes sheets as an XLSX workbook. */

import writeExcelFile, { type CellObject } from 'write-excel-file/node';
import { sanitizeTextContent } from 'write-excel-file/utility';
import { at, formats, letters, type ReportSheet, type SheetCell } from './cells.ts';

export type Paper = 'A4' | 'Letter';

/** As the format of workbooks numbers them. */
const papers: Readonly<Record<Paper, number>> = { Letter: 1, A4: 9 };
const colors = { faint: '#6b6f76', head: '#f1f2f4', line: '#c9ccd1' };

/** The most characters of a cell, and of a note in the footer of a printed page. */
const longest = { cell: 32_000, footer: 60 };

type WriterOptions = NonNullable<Parameters<typeof writeExcelFile>[1]>;
type Feature = NonNullable<WriterOptions['features']>[number];

/**
 * Text as the library takes it: without half characters, and with a space behind a name that every object has
 * ("constructor"), as it looks texts up in one.
 */
function plain(text: string): string {
  const cut = text.toWellFormed().slice(0, longest.cell).toWellFormed();
  return cut in {} ? `${cut} ` : cut;
}

function cellOf(cell: SheetCell | null): CellObject | null {
  if (cell === null) return null;
  const { bold, faint, wrap, title, head } = cell;
  const look: CellObject = {
    ...(bold || title ? { fontWeight: 'bold' } : {}),
    ...(title ? { fontSize: 14 } : {}),
    ...(faint ? { textColor: colors.faint } : {}),
    ...(wrap || head ? { wrap: true } : {}),
    ...(wrap ? { alignVertical: 'top' } : {}),
    ...(head
      ? {
          backgroundColor: colors.head,
          bottomBorderStyle: 'thin',
          bottomBorderColor: colors.line,
          alignVertical: 'bottom',
        }
      : {}),
  };
  if ('text' in cell)
    return { ...look, ...(cell.right ? { align: 'right' } : {}), type: String, value: plain(cell.text) };
  if ('day' in cell)
    return { ...look, type: Date, value: new Date(`${cell.day}T00:00:00Z`), format: formats.day, align: 'left' };
  const format = formats[cell.format];
  if ('number' in cell) return { ...look, type: Number, value: cell.number, format };
  return { ...look, type: 'Formula', value: cell.formula, format };
}

/** What the formulas of a sheet come to, by their cells: for who shows a workbook without computing it. */
function cachedValues(sheet: ReportSheet): Map<string, number | string> {
  const values = new Map<string, number | string>();
  sheet.rows.forEach((row, rowAt) =>
    row.forEach((cell, column) => {
      if (cell && 'formula' in cell && cell.comes !== null) values.set(at(column, rowAt + 1), cell.comes);
    }),
  );
  return values;
}

/** Excel's own marks begin with "&". */
const footerText = (text: string): string => plain(text).slice(0, longest.footer).toWellFormed().replaceAll('&', '&&');

/** What the library leaves out: the values of formulas, and how each sheet is printed. */
function printed(sheets: readonly ReportSheet[], paper: Paper, footer: string): Feature {
  const page = sanitizeTextContent(`&L${footerText(footer)}&C&A&R&P of &N`);
  const sheetXml = (xml: string, sheet: ReportSheet): string => {
    const values = cachedValues(sheet);
    const orientation = sheet.landscape ? 'landscape' : 'portrait';
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
          `<pageSetup paperSize="${papers[paper]}" orientation="${orientation}" fitToWidth="1" fitToHeight="0"/>` +
          `<headerFooter><oddFooter>${page}</oddFooter></headerFooter></worksheet>`,
      );
  };
  const titles = sheets
    .flatMap(({ name, frozen }, place) =>
      frozen
        ? `<definedName name="_xlnm.Print_Titles" localSheetId="${place}">'${name}'!$A:$${letters(frozen.columns - 1)},'${name}'!$1:$${frozen.rows}</definedName>`
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

/** The workbook's bytes; `footer` stands at the foot of every printed page. */
export function writeXlsx(sheets: readonly ReportSheet[], paper: Paper, footer: string): Promise<Buffer> {
  const told = sheets.map((sheet) => ({
    sheet: sheet.name,
    data: sheet.rows.map((row) => row.map(cellOf)),
    columns: sheet.widths.map((width) => ({ width })),
    ...(sheet.frozen ? { stickyRowsCount: sheet.frozen.rows, stickyColumnsCount: sheet.frozen.columns } : {}),
  }));
  return writeExcelFile(told, {
    fontFamily: 'Calibri',
    fontSize: 11,
    features: [printed(sheets, paper, footer)],
  }).toBuffer();
}
