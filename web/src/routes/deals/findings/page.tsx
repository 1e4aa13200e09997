import { useQuery } from '@tanstack/react-query';
import { Flag, Plus } from 'lucide-react';
import { useState } from 'react';
import { findingsQuery, mostFindings } from '../../../api/diligence.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { CutNote, EmptyState, Loaded, SkeletonCard } from '../../../components/states.tsx';
import { useDeal } from '../context.ts';
import { FindingCard } from './card.tsx';
import { FindingDialog } from './dialogs.tsx';
import { TabPage } from '../tab-page.tsx';

/** The “Findings” tab of a deal: the findings of diligence, open and severe ones first. */
export default function FindingsTab() {
  const { deal, capacities } = useDeal();
  const [adding, setAdding] = useState(false);
  const query = useQuery(findingsQuery(deal.id));
  const add = capacities.can_edit_findings && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
      Record a finding
    </Button>
  );
  return (
    <TabPage
      title="Findings"
      description="What diligence turned up, who owns it, and where it stands."
      actions={query.data?.items.length !== 0 && add}
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={4} height="h-28" />}>
        {({ items }) =>
          items.length === 0 ? (
            <Card>
              <EmptyState icon={Flag} title="No findings yet" action={add}>
                {capacities.can_edit_findings
                  ? 'Record what the books, the leases or the site visit turned up.'
                  : 'What diligence turns up shows here.'}
              </EmptyState>
            </Card>
          ) : (
            <>
              <ul className="flex flex-col gap-3">
                {items.map((finding) => (
                  <li key={finding.id}>
                    <FindingCard finding={finding} editable={capacities.can_edit_findings} />
                  </li>
                ))}
              </ul>
              <CutNote items={items} most={mostFindings}>
                findings: open and severe ones first.
              </CutNote>
            </>
          )
        }
      </Loaded>
      {adding && <FindingDialog onClose={() => setAdding(false)} />}
    </TabPage>
  );
}
