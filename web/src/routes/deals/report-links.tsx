/** A deal's figures to take along, as their reader sees them. */
import { reportAddresses } from '../../api/qoe.ts';
import type { Id } from '../../api/shapes.ts';
import { DownloadLink } from '../../components/button.tsx';

/** The report on a deal, to print and as a workbook that goes on computing. */
export function ReportLinks({ dealId }: { dealId: Id }) {
  const { document, workbook } = reportAddresses(dealId);
  return (
    <>
      <DownloadLink href={document}>Download report (PDF)</DownloadLink>
      <DownloadLink href={workbook}>Download workbook (XLSX)</DownloadLink>
    </>
  );
}
