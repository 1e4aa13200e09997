/**
 * Runs statements about one record, which the person must be able to see: otherwise the response is the same as for a
 * record that does not exist.
 */

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
 * Returns the person and the results of the statements, from one transaction and one round trip that is restricted to
 * the record's deal. Throws 404 when the person does not see the record.
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

/** Returns the results of statements about a record. Throws 404 when the person does not see it. */
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

/** Returns the person and the results of statements about a deal. Throws 404 when the person does not see it. */
export const withPersonAndDeal = <const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  dealId: string,
  ...statements: S
): Promise<[SessionCaller, ...Results<S>]> => withPersonAndRecord(services, c, 'deals', dealId, ...statements);

/** Returns the results of statements about a deal. Throws 404 when the person does not see it. */
export const withDeal = <const S extends readonly Statement<unknown>[]>(
  services: Services,
  c: Context,
  dealId: string,
  ...statements: S
): Promise<Results<S>> => withRecord(services, c, 'deals', dealId, ...statements);

/**
 * Makes a change to a deal and responds with the data of its page after the change, or 204 when the person no longer
 * sees the deal. Throws 404 when they did not see it before. When the change returns false, throws the problem that
 * `otherwise` makes from the page, by default 403.
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
