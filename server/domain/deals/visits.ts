/**
 * When a person last looked at a tab of a deal, so that the page marks what is new to them
 * (059_activity_and_visits.sql).
 */

import { mapped, row, type Statement } from '../../database/statement.ts';

/** The tabs that mark what is new. */
export const visitedTabs = ['documents', 'questions', 'offers'] as const;
export type VisitedTab = (typeof visitedTabs)[number];

const begin = row<{ since: string | null }, [dealId: string, tab: VisitedTab]>(
  'visit',
  'select app.visit($1, $2) as since',
);

/**
 * Records that the caller looks at a tab; returns when their previous visit began, null on the first. A visit lasts
 * half an hour.
 */
export const visit = (dealId: string, tab: VisitedTab): Statement<string | null> =>
  mapped(begin(dealId, tab), (found) => found?.since ?? null);
