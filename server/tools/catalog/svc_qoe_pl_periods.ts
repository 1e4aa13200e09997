import { z } from 'zod';
import { answersInSight } from '../../domain/diligence/contradiction-answers.ts';
import type { Books } from '../../domain/diligence/books.ts';
import { memoized } from '../../domain/diligence/caches.ts';
import { booksAndPeriods, daysOf, mostPeriods, type ListedPeriod } from '../../domain/diligence/period-list.ts';
import { earningsInShort } from '../../domain/diligence/summaries.ts';
import { periodsInColumns } from '../compact-rows.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint } from '../filters.ts';
import { date, dealId } from '../inputs.ts';
import { hint, plPeriods as periods } from '../records.ts';

const inColumns = memoized(({ uploads }: Books) =>
  memoized((found: readonly ListedPeriod[]) => periodsInColumns(found, uploads)),
);

export const svcQoePlPeriods = defineTool({
  name: 'svc_qoe_pl_periods',
  title: 'List profit-and-loss periods',
  description:
    'Profit and loss (P&L) by month or year, the latest first, at most 500: revenue, costs, gross_profit (over revenue: gross margin), owner_compensation, net_income, ebitda; summary: TTM and years, adjusted EBITDA, SDE, contradictions. amounts are in the order of columns. A period without period_end_date is the calendar month, without period_label labelled YYYY-MM. snapshot is its place in snapshots (0 if left out): of the same dates the one completed last counts. For members of the QoE workspace.',
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    start_date: date('Earliest first day').optional(),
    end_date: date('Latest last day').optional(),
  }),
  output: periods.extend({ hint }),
  work: ({ deal_id, start_date = null, end_date = null }) => [
    booksAndPeriods(deal_id, start_date, end_date),
    answersInSight(deal_id),
  ],
  answer: ({ books, periods: found }, sight) => {
    const summary = found.length > 0 ? earningsInShort(books, sight) : null;
    return { ...inColumns(books)(found), ...(summary ? { summary } : {}) };
  },
  hint({ start_date = null, end_date = null }, { books, periods: found, more }) {
    if (more) return cutHint(more, `the latest ${mostPeriods}`, { end_date: end_date ?? undefined });
    const days = found.length > 0 ? null : daysOf(books);
    if (days === null || (start_date === null && end_date === null)) return null;
    const isTurned = start_date !== null && end_date !== null && start_date > end_date;
    return {
      message: `${isTurned ? 'start_date is after end_date.' : 'No period lies wholly within these dates.'} The known values are the first and the last day that there is.`,
      known: { start_date: [days.first], end_date: [days.last] },
    };
  },
  page: 'qoe',
  view: 'monthly',
});
