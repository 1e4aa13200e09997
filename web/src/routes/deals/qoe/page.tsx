import { useQuery } from '@tanstack/react-query';
import { qoeQuery } from '../../../api/qoe.ts';
import { Columns } from '../../../components/columns.tsx';
import { Loaded, SkeletonCard } from '../../../components/states.tsx';
import { useDeal } from '../context.ts';
import { ChecklistCard } from './checklist.tsx';
import { CustomerChangesCard, EarningsCard, RestatementsCard } from './computed.tsx';
import { ContradictionsCards } from './contradictions.tsx';
import { BridgeCard, CustomersCard, PeriodsCard } from './figures.tsx';
import { MembersCard } from './members.tsx';
import { NormalizationsCard } from './normalizations.tsx';
import { SnapshotsCard } from './snapshots.tsx';
import { ReportLinks } from '../report-links.tsx';
import { TabPage } from '../tab-page.tsx';

/** The “Quality of earnings” tab of a deal: uploaded and computed figures, and the work on them. */
export default function QoeTab() {
  const { deal, capacities } = useDeal();
  const overview = useQuery(qoeQuery(deal.id));
  const editor = capacities.can_edit_qoe;
  return (
    <TabPage
      title="Quality of earnings"
      description="What the business earns, checked and adjusted."
      actions={<ReportLinks dealId={deal.id} />}
    >
      <Columns
        main={
          <>
            <EarningsCard dealId={deal.id} />
            <PeriodsCard dealId={deal.id} />
            <BridgeCard dealId={deal.id} />
            <ContradictionsCards dealId={deal.id} />
            <CustomersCard dealId={deal.id} />
            <CustomerChangesCard dealId={deal.id} />
            <RestatementsCard dealId={deal.id} />
            <NormalizationsCard dealId={deal.id} dealCurrency={deal.currency} editor={editor} />
          </>
        }
        side={
          <>
            <Loaded query={overview} skeleton={<SkeletonCard rows={6} />}>
              {({ progress }) => <ChecklistCard dealId={deal.id} rows={progress} editor={editor} />}
            </Loaded>
            <SnapshotsCard dealId={deal.id} editor={editor} />
            <MembersCard dealId={deal.id} broker={capacities.can_admit_to_qoe} />
          </>
        }
      />
    </TabPage>
  );
}
