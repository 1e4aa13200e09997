/**
 * The asking prices of the deals that a person runs, and the earnings of the highest-priced ones, for the home page.
 */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import { mostRows, readBooks } from '../diligence/books.ts';
import { decimalOrNull, writtenOrNull } from '../diligence/decimals.ts';
import { comparedWith, earnings, type Earnings } from '../diligence/earnings.ts';
import { multiple } from '../offers/valuation.ts';

/** The deals of one currency that are neither closed nor withdrawn. */
export interface PipelineTotal {
  currency: string;
  deals: number;
  /** Number of these deals with an asking price. */
  priced: number;
  /** Sum of their asking prices, a decimal string; null if none has a price. */
  asking: string | null;
}

interface PipelineDeal {
  id: string;
  title: string;
  asking_price: string | null;
  currency: string;
  /** Adjusted EBITDA of the period that offers are compared with too; null if the books do not have it. */
  adjusted_ebitda: string | null;
  /** The currency of the books. */
  earned_in: string | null;
  period: string | null;
  dates: Pick<Earnings, 'first' | 'last'> | null;
  /** The asking price divided by the adjusted EBITDA, to two digits; null if the currencies differ. */
  multiple: string | null;
}

export interface Pipeline {
  /** The currency with most deals first. */
  totals: PipelineTotal[];
  /** The highest-priced first, at most {@link mostDeals}. */
  deals: PipelineDeal[];
}

/** Maximum number of deals listed individually. */
const mostDeals = 10;
/** Maximum number of profit-and-loss rows used, from the latest uploads: twenty years by month. */
const mostPeriods = 240;

type Found =
  | { part: 'total'; currency: string; deals: number; priced: number; asking_price: string | null }
  | { part: 'deal'; id: string; title: string; asking_price: string | null; currency: string; books: string };

const found = rows<Found, [most: number]>(
  'pipeline',
  `with listed as materialized (select d.* from app.pipeline($1) with ordinality d)
   select d.part, d.id, d.title, trim_scale(d.asking_price) as asking_price, d.currency, d.deals, d.priced, b.books
   from listed d
   left join app.books_of_deals_run(array(select l.id from listed l where l.part = 'deal'),
     ${mostRows.uploads}, ${mostPeriods}, ${mostRows.adjustments}) b on b.deal_id = d.id
   order by d.ordinality`,
);

function dealOnPage({ id, title, asking_price, currency, books }: Extract<Found, { part: 'deal' }>): PipelineDeal {
  const period = comparedWith(earnings(readBooks(books)));
  const isSame = period?.currency === currency;
  return {
    id,
    title,
    asking_price,
    currency,
    adjusted_ebitda: writtenOrNull(period?.adjusted_ebitda ?? null),
    earned_in: period?.currency ?? null,
    period: period?.label ?? null,
    dates: period && { first: period.first, last: period.last },
    multiple: isSame ? writtenOrNull(multiple(decimalOrNull(asking_price), period.adjusted_ebitda)) : null,
  };
}

/** The pipeline of the deals that the caller runs; empty if they run none. */
export const pipeline = (): Statement<Pipeline> =>
  mapped(found(mostDeals), (all) => {
    const page: Pipeline = { totals: [], deals: [] };
    for (const one of all) {
      if (one.part === 'deal') page.deals.push(dealOnPage(one));
      else page.totals.push({ currency: one.currency, deals: one.deals, priced: one.priced, asking: one.asking_price });
    }
    return page;
  });
