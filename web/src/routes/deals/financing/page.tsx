import { useQuery } from '@tanstack/react-query';
import { Landmark, Plus } from 'lucide-react';
import { Fragment, useState } from 'react';
import { financingQuery, mostSources, useFinancingActions } from '../../../api/diligence.ts';
import type { CommitmentStatus, FinancingSource, FinancingStack } from '../../../api/shapes.ts';
import { StatePill } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { Money } from '../../../components/money.tsx';
import { CutNote, EmptyState, Loaded, SkeletonCard } from '../../../components/states.tsx';
import { cx } from '../../../lib/cx.ts';
import { commitmentStates, financingTypes } from '../../../lib/states.ts';
import { useDeal } from '../context.ts';
import { SourceDialog } from './source-dialog.tsx';
import { bySide, ofSide } from './sides.ts';
import { Totals } from './totals.tsx';
import { TabPage } from '../tab-page.tsx';

/** The “Financing” tab of a deal: the sources that pay for the purchase, and the status of each. */
export default function FinancingTab() {
  const { deal, capacities } = useDeal();
  const [adding, setAdding] = useState(false);
  const query = useQuery(financingQuery(deal.id));
  const add = capacities.can_edit_financing && (
    <Button kind="primary" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
      Add a source
    </Button>
  );
  return (
    <TabPage
      title="Financing"
      description="How the purchase is funded, and the status of each source."
      actions={query.data?.items.length !== 0 && add}
    >
      <Loaded query={query} skeleton={<SkeletonCard rows={6} height="h-17" />}>
        {(stack) =>
          stack.items.length === 0 ? (
            <Card>
              <EmptyState icon={Landmark} title="No sources of financing yet" action={add}>
                {capacities.can_edit_financing
                  ? 'Add the loan, the seller note, the buyer’s cash: whatever the price is paid from.'
                  : 'Sources of financing show here once they are added.'}
              </EmptyState>
            </Card>
          ) : (
            <>
              <Stack stack={stack} />
              <CutNote items={stack.items} most={mostSources}>
                sources, the latest ones; the totals include all.
              </CutNote>
            </>
          )
        }
      </Loaded>
      {adding && <SourceDialog onClose={() => setAdding(false)} />}
    </TabPage>
  );
}

function Stack({ stack }: { stack: FinancingStack }) {
  const hasEnded = (status: CommitmentStatus) => stack.ended_statuses.includes(status);
  return bySide(stack, useDeal()).map(({ key, name, items, totals: all }) => {
    const totals = all.filter((one) => !hasEnded(one.commitment_status));
    const currencies = [...new Set(totals.map(({ currency }) => currency))];
    const groups = [
      { title: 'Sources of financing', sources: items.filter((one) => !hasEnded(one.commitment_status)) },
      { title: 'Expired or withdrawn', sources: items.filter((one) => hasEnded(one.commitment_status)) },
    ];
    return (
      <Fragment key={key}>
        {currencies.map((currency) => (
          <Totals key={currency} totals={totals} currency={currency} side={name} />
        ))}
        {groups.map(
          ({ title, sources }) =>
            sources.length > 0 && (
              <Card key={title} title={ofSide(title, name)} flush>
                <ul className="divide-y divide-line border-t border-line">
                  {sources.map((source) => (
                    <SourceRow key={source.id} source={source} hasEnded={hasEnded} />
                  ))}
                </ul>
              </Card>
            ),
        )}
      </Fragment>
    );
  });
}

interface SourceRowProps {
  source: FinancingSource;
  /** Whether a source in this status no longer counts in any total. */
  hasEnded: (status: CommitmentStatus) => boolean;
}

function SourceRow({ source, hasEnded }: SourceRowProps) {
  const { move } = useFinancingActions(source.deal_id);
  const confirm = useConfirm();
  const ask = (status: CommitmentStatus) => {
    const word = commitmentStates[status].label.toLowerCase();
    confirm(
      {
        title: `Mark this source as ${word}?`,
        body: hasEnded(status)
          ? `${source.source_name} no longer counts in the total. This cannot be undone; you can add it again.`
          : `${source.source_name} only moves forward: this cannot be undone.`,
        action: `Mark as ${word}`,
        done: `${source.source_name}: ${word}`,
      },
      () => move.mutateAsync({ id: source.id, commitment_status: status }),
    );
  };
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-2 px-4 py-3 sm:grid-cols-[minmax(0,1fr)_8rem_7.5rem_4.5rem] sm:px-5">
      <div className="min-w-0">
        <p className="font-medium break-words text-ink">{source.source_name}</p>
        <p className="text-sm text-faint">{financingTypes[source.source_type]}</p>
      </div>
      <Money
        amount={source.commitment_amount}
        currency={source.currency}
        className={cx('text-right font-medium', hasEnded(source.commitment_status) ? 'text-faint' : 'text-ink')}
      />
      <StatePill look={commitmentStates[source.commitment_status]} className="justify-self-start" />
      {source.moves.length > 0 && (
        <Menu
          trigger={
            <Button size="sm" className="justify-self-end">
              Update<span className="sr-only"> {source.source_name}</span>
            </Button>
          }
        >
          {source.moves.map((status) => (
            <MenuItem key={status} onSelect={() => ask(status)}>
              {commitmentStates[status].label}
            </MenuItem>
          ))}
        </Menu>
      )}
    </li>
  );
}
