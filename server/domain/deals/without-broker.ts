/** Open deals without a broker. */

import { mapped, row, type Statement } from '../../database/statement.ts';

const counted = row<{ count: number }, []>(
  'deals_without_broker',
  'select count(*)::int as count from app.deals_without_broker()',
);

/**
 * Number of open deals of which no member of their brokerage is broker, in the brokerages that the caller administers;
 * 0 for everybody else.
 */
export const dealsWithoutBroker = (): Statement<number> => mapped(counted(), (answer) => answer?.count ?? 0);
