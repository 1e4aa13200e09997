/** The asking prices of the deals that a person runs, and the earnings of the highest priced of them: for their first page. */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import { mostRows, readBooks } from '../diligence/books.ts';
import { decimalOrNull, writtenOrNull } from '../diligence/decimals.ts';
import { earnings } from '../diligence/earnings.ts';
import { multiple } from '../offers/valuation.ts';
import { comparedWith } from '../offers/assessment.ts';

/** The deals of one currency that are neither closed nor withdrawn. */
export interface PipelineTotal {
  currency: string;
  deals: number;
  /** How many of them name a price. */
  priced: number;
  /** What these ask for together, a decimal string; null where none names a price. */
  asking: string | null;
}

interface PipelineDeal {
  id: string;
  title: string;
  asking_price: string | null;
  currency: string;
  /** Of the period that offers are compared with too; null where the books do not have it. */
  adjusted_ebitda: string | null;
  /** The currency of the books. */
  earned_in: string | null;
  period: string | null;
  /** The asking price divided by it, to two digits; null in another currency. */
  multiple: string | null;
}

export interface Pipeline {
  /** The currency that most deals are in first. */
  totals: PipelineTotal[];
  /** The highest priced first, at most {@link mostDeals}. */
  deals: PipelineDeal[];
}

/** The most deals that are listed one by one. */
const mostDeals = 10;
/** The most rows of profit and loss that are computed with, of the latest uploads: twenty years by month. */
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
  const period = comparedWith(earnings(readBooks(books)), null);
  const isSame = period?.currency === currency;
  return {
    id,
    title,
    asking_price,
    currency,
    adjusted_ebitda: writtenOrNull(period?.adjusted_ebitda ?? null),
    earned_in: period?.currency ?? null,
    period: period?.label ?? null,
    multiple: isSame ? writtenOrNull(multiple(decimalOrNull(asking_price), period.adjusted_ebitda)) : null,
  };
}

/** The pipeline of the deals that the caller runs; empty when they run none. */
export const pipeline = (): Statement<Pipeline> =>
  mapped(found(mostDeals), (all) => {
    const page: Pipeline = { totals: [], deals: [] };
    for (const one of all) {
      if (one.part === 'deal') page.deals.push(dealOnPage(one));
      else page.totals.push({ currency: one.currency, deals: one.deals, priced: one.priced, asking: one.asking_price });
    }
    return page;
  });
