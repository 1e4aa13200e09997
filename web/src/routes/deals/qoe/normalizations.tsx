import { useQuery } from '@tanstack/react-query';
import { Plus, Scale, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { bridgeQuery, mostNormalizations, normalizationsQuery, useQoeActions } from '../../../api/qoe.ts';
import type { Id, Normalization } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button, IconButton } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Money } from '../../../components/money.tsx';
import { CutNote, EmptyState, Loaded, SkeletonRows } from '../../../components/states.tsx';
import { cx } from '../../../lib/cx.ts';
import { sum } from '../../../lib/decimal.ts';
import { adjustmentCategories } from '../../../lib/states.ts';
import { NormalizationDialog } from './dialogs.tsx';

const line = 'flex items-start gap-3 px-4 sm:px-5';

interface NormalizationsCardProps {
  dealId: Id;
  /** The deal's currency; the amounts are in it as long as there are no books. */
  dealCurrency: string;
  editor: boolean;
}

interface Group {
  label: string;
  currency: string;
  its: Normalization[];
}

/** Adjustments by period, those of a period in several currencies apart: they cannot be added up. */
const inGroups = (items: readonly Normalization[], currencyOf: (one: Normalization) => string): Group[] =>
  [...Map.groupBy(items, (one) => JSON.stringify([one.period_label, currencyOf(one)])).values()].flatMap((its) =>
    its[0] ? [{ label: its[0].period_label, currency: currencyOf(its[0]), its }] : [],
  );

/** The normalizations by period, with the total of each period. */
export function NormalizationsCard({ dealId, dealCurrency, editor }: NormalizationsCardProps) {
  const query = useQuery(normalizationsQuery(dealId));
  // The bridge has the labels without figures, and the currency of the books, to whose figures adjustments are added.
  const bridge = useQuery(bridgeQuery(dealId, null)).data;
  const unmatched = bridge?.unmatched_labels ?? [];
  const currency = bridge?.currency ?? dealCurrency;
  const currencyOf = (one: Normalization): string => one.currency ?? currency;
  const counts = (one: Normalization): boolean => !unmatched.includes(one.period_label) && currencyOf(one) === currency;
  const [adding, setAdding] = useState(false);
  const { removeNormalization } = useQoeActions(dealId);
  const confirm = useConfirm();
  // When some rows have a remove button, all rows reserve its space, so that the amounts stay aligned.
  const removable = query.data?.items.some(({ can_delete }) => can_delete) ?? false;
  const takeOut = (one: Normalization) =>
    confirm(
      {
        title: 'Remove this adjustment?',
        body: !counts(one)
          ? 'It does not count in any bridge. To restore it, add it again.'
          : 'Adjusted EBITDA changes at once wherever this adjustment counts. To restore it, add it again.',
        action: 'Remove',
        danger: true,
        done: 'Adjustment removed',
      },
      () => removeNormalization.mutateAsync(one.id),
    );
  return (
    <Card
      title="Add-backs and adjustments"
      flush
      actions={
        editor && (
          <Button size="sm" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
            Add adjustment
          </Button>
        )
      }
    >
      <Loaded query={query} skeleton={<SkeletonRows rows={4} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={Scale} title="No add-backs yet">
              {editor
                ? 'Add income a new owner would not earn, and costs they would not pay: the owner’s salary, a one-time lawsuit.'
                : 'Editors add income a new owner would not earn, and costs they would not pay.'}
            </EmptyState>
          ) : (
            <>
              {inGroups(items, currencyOf).map(({ label, currency: own, its }) => (
                <section
                  key={`${own} ${label}`}
                  aria-label={`Add-backs and adjustments of ${label}${own === currency ? '' : ` in ${own}`}`}
                  className="border-t border-line pb-1.5"
                >
                  <h3 className={cx(line, 'pt-3 pb-1 font-medium')}>
                    <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2.5 gap-y-1">
                      <span className="min-w-0 break-words">{label}</span>
                      {bridge && own !== currency ? (
                        <Badge tone="warn">In {own}, not in any bridge</Badge>
                      ) : (
                        unmatched.includes(label) && <Badge tone="warn">Not in any bridge</Badge>
                      )}
                    </span>
                    {items.length < mostNormalizations && (
                      <>
                        <span className="text-sm font-normal text-faint">Total</span>
                        <Money amount={sum(its.map((one) => one.adjustment_amount))} currency={own} signed />
                      </>
                    )}
                    {removable && <span className="w-8" />}
                  </h3>
                  <ul>
                    {its.map((one) => (
                      <li key={one.id} className={cx(line, 'py-2')}>
                        <div className="min-w-0 flex-1">
                          <p>{adjustmentCategories[one.adjustment_category]}</p>
                          {one.rationale && (
                            <p className="max-w-prose text-sm break-words whitespace-pre-wrap text-soft">
                              {one.rationale}
                            </p>
                          )}
                          {one.created_by_name && <p className="text-sm text-faint">{one.created_by_name}</p>}
                        </div>
                        <Money amount={one.adjustment_amount} currency={own} signed />
                        {removable && (
                          <span className="-my-1.5 w-8">
                            {one.can_delete && (
                              <IconButton
                                size="sm"
                                label={`Remove ${adjustmentCategories[one.adjustment_category]}, ${label}`}
                                icon={<Trash2 className="size-4" />}
                                onClick={() => takeOut(one)}
                              />
                            )}
                          </span>
                        )}
                      </li>
                    ))}
                  </ul>
                </section>
              ))}
              <CutNote items={items} most={mostNormalizations} className="px-4 py-3 sm:px-5">
                adjustments, the latest ones. Periods are not totaled, as there may be more.
              </CutNote>
            </>
          )
        }
      </Loaded>
      {adding && <NormalizationDialog dealId={dealId} currency={currency} onClose={() => setAdding(false)} />}
    </Card>
  );
}
