/** Downloads of a deal's figures, as the reader sees them. */
import { reportAddresses } from '../../api/qoe.ts';
import type { Id } from '../../api/shapes.ts';
import { DownloadLink } from '../../components/button.tsx';

/** Links to the report on a deal, as a PDF for printing and as a workbook with formulas. */
export function ReportLinks({ dealId }: { dealId: Id }) {
  const { document, workbook } = reportAddresses(dealId);
  return (
    <>
      <DownloadLink href={document}>Download report (PDF)</DownloadLink>
      <DownloadLink href={workbook}>Download workbook (XLSX)</DownloadLink>
    </>
  );
}
