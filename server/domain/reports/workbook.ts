/** A report as the sheets of a workbook: uploaded figures as numbers, everything computed from them as formulas. */

import type { ReportSheet } from './cells.ts';
import type { ReportContents } from './contents.ts';
import { addBacksSheet } from './workbook/add-backs.ts';
import { adjustmentsSheet } from './workbook/adjustments.ts';
import { changesSheet } from './workbook/changes.ts';
import { contradictionsSheet } from './workbook/contradictions.ts';
import { customersSheet } from './workbook/customers.ts';
import { earningsSheet } from './workbook/earnings.ts';
import { offersSheet } from './workbook/offers.ts';
import { periodsSheet } from './workbook/periods.ts';
import { restatedSheet } from './workbook/restated.ts';
import { sbaSheet } from './workbook/sba.ts';
import { summarySheet } from './workbook/summary.ts';
import { uploadsSheet } from './workbook/uploads.ts';
import type { Paper } from './xlsx.ts';

/** The sheets of a report; empty ones are left out. */
export function reportSheets(contents: ReportContents): ReportSheet[] {
  const hasEarnings = contents.computed.earnings.length > 0;
  return [
    summarySheet(contents),
    hasEarnings ? earningsSheet(contents) : null,
    customersSheet(contents),
    changesSheet(contents),
    offersSheet(contents),
    addBacksSheet(contents),
    sbaSheet(contents),
    contradictionsSheet(contents),
    restatedSheet(contents),
    contents.periods.length > 0 ? periodsSheet(contents) : null,
    hasEarnings || contents.adjustments.length + contents.adjustments_left_out.length > 0
      ? adjustmentsSheet(contents)
      : null,
    contents.uploads.length > 0 ? uploadsSheet(contents) : null,
  ].filter((sheet) => sheet !== null);
}

/**
 * The paper size that the reader's printer presumably has, by the deal's currency: nothing else tells where the reader
 * is.
 */
export const paperOf = ({ deal }: ReportContents): Paper => (['USD', 'CAD'].includes(deal.currency) ? 'Letter' : 'A4');
