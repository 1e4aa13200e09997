/** Runs statements about one record, which the person must be able to see: otherwise the answer is that of a record that does not exist. */

import type { Context } from 'hono';
import type { Services } from '../../services.ts';
import type { Results } from '../../database/database.ts';
import type { Statement } from '../../database/statement.ts';
import { asDealPage, dealPage, type DealPage } from '../../domain/deals/page.ts';
import type { SessionCaller } from '../../domain/accounts/sessions.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { withinDealOf } from '../../domain/visibility/deal-scope.ts';
import { withPersonWithin } from '../../http/person.ts';
import { notAllowed, nothingThere, type Problem } from '../../http/problem.ts';

type Table = Parameters<typeof requireVisible>[0];

/**
 * The person and the answers of the statements, in one transaction and one round trip, which looks at the record's deal
 * and no other. Throws 404 when the person does not see the record.
 */
async function withPersonAndRecord<const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  table: Table,
  id: string,
  ...statements: S
): Promise<[SessionCaller, ...Results<S>]> {
  const inDeal = withPersonWithin(withinDealOf(table, id));
  const [person, , ...answers] = await inDeal(services, c, requireVisible(table, id), ...statements);
  return [person, ...(answers as unknown as Results<S>)];
}

/** The answers alone. */
export async function withRecord<const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  table: Table,
  id: string,
  ...statements: S
): Promise<Results<S>> {
  const [, ...answers] = await withPersonAndRecord(services, c, table, id, ...statements);
  return answers as unknown as Results<S>;
}

/** The person and the answers of statements about a deal. Throws 404 when the person does not see it. */
export const withPersonAndDeal = <const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  dealId: string,
  ...statements: S
): Promise<[SessionCaller, ...Results<S>]> => withPersonAndRecord(services, c, 'deals', dealId, ...statements);

/** The answers alone. */
export const withDeal = <const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  dealId: string,
  ...statements: S
): Promise<Results<S>> => withRecord(services, c, 'deals', dealId, ...statements);

/**
 * Makes a change to a deal and answers its page as it is then; nothing when the person does not see it any more. Throws
 * 404 when they did not see it before, and what `otherwise` makes of the page, by default 403, when the change says that
 * it did not take place.
 */
export async function changeDeal(
  services: Services,
  c: Context,
  dealId: string,
  change: Statement<boolean>,
  otherwise: (page: DealPage) => Problem = () => notAllowed(),
) {
  const [changed, ...answers] = await withDeal(services, c, dealId, change, ...dealPage(dealId));
  const page = asDealPage(answers);
  if (changed) return page ? c.json(page) : c.body(null, 204);
  throw page ? otherwise(page) : nothingThere();
}
